"""The migration that moves the usage of runs and of judges into one table."""

from decimal import Decimal

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from annotations.gold.services.making import freeze
from models_runtime.models import Judge, Judging, Run
from tests import factories as make

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]
BEFORE, AFTER = "0010_server_rooms", "0013_usage_of_runs_and_judges_gone"


def migrated(name):
    executor = MigrationExecutor(connection)
    executor.migrate([("models_runtime", name)])
    return executor.loader.project_state([("models_runtime", name)]).apps


@pytest.fixture
def schema():
    yield migrated
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def test_what_was_paid_is_kept_there_and_back(schema):
    project = make.make_project()
    author = make.make_author(project, kind="run", name="run")
    make.make_set(make.make_note(project, "Mario Rossi"), author, [(0, 5, "PATIENT")], submitted=True)
    run = Run.objects.create(project=project, author=author, backend="llm")
    version, _ = freeze_of(project)
    judging = Judging.objects.create(
        project=project,
        author=author,
        gold_version=version,
        threshold=0.5,
        language="en",
        prompt="",
        prompt_version="1",
    )
    paid, _ = (
        Judge.objects.create(judging=judging, position=at, server="ward", model=name) for at, name in enumerate("ab")
    )
    apps = schema(BEFORE)
    old_usage, old_judge = apps.get_model("models_runtime", "RunUsage"), apps.get_model("models_runtime", "Judge")
    for cost, currency in ((Decimal("0.25"), "EUR"), (Decimal("0.50"), "EUR"), (None, "")):
        old_usage.objects.create(run_id=run.pk, requests=2, tokens_in=100, cost=cost, currency=currency)
    old_judge.objects.filter(pk=paid.pk).update(requests=3, tokens_out=7, cost=Decimal("1.5"), currency="EUR")

    usage = schema(AFTER).get_model("models_runtime", "LlmUsage")
    rows = usage.objects.order_by("pk")
    words = ("run_id", "judge_id", "requests", "tokens_in", "tokens_out", "cost", "currency")
    assert sorted(rows.values_list(*words), key=str) == sorted(
        [
            (run.pk, None, 4, 200, 0, Decimal("0.75"), "EUR"),
            (run.pk, None, 2, 100, 0, None, ""),
            (None, paid.pk, 3, 0, 7, Decimal("1.5"), "EUR"),
        ],
        key=str,
    )

    apps = schema(BEFORE)
    back = apps.get_model("models_runtime", "RunUsage").objects.order_by("tokens_in")
    assert list(back.values_list("tokens_in", "cost")) == [(100, None), (200, Decimal("0.75"))]
    judges = apps.get_model("models_runtime", "Judge").objects.order_by("position")
    assert list(judges.values_list("requests", "cost")) == [(3, Decimal("1.5")), (0, None)]


def freeze_of(project):
    note = project.documents.get()
    make.make_set(note, make.make_author(project, kind="gold", name="gold"), [(0, 5, "PATIENT")], submitted=True)
    return freeze(project=project, actor=None)
