"""The migration that adds the rules: judgings of before keep the figures of the standard rules."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from annotations.gold.services.making import freeze, make_gold
from models_runtime.judging.services.results import judged_entities, result_of
from models_runtime.models import Judge, JudgedNote, Judging, Judgment
from tests import factories as make

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]
BEFORE = [("models_runtime", "0019_judgment")]


@pytest.fixture
def schema():
    def migrated(targets):
        executor = MigrationExecutor(connection)
        executor.migrate(targets)
        return executor.loader.project_state(targets).apps

    yield migrated
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def test_a_judging_of_before_is_counted_by_the_standard_rules(schema):
    project = make.make_project()
    run = make.make_author(project, kind="run", name="run")
    note = make.make_note(project, "Mario Rossi")
    row = make.make_set(note, run, [(0, 5, "PATIENT")], submitted=True)
    make_gold(document=note, annotation_set=row, actor=None)
    version, _ = freeze(project=project, actor=None)

    old = schema(BEFORE)
    judging = old.get_model("models_runtime", "Judging").objects.create(
        project_id=project.pk, author_id=run.pk, gold_version_id=version.pk, threshold=0.5, language="en", prompt="",
        prompt_version="1", labels=[["PATIENT", "[PATIENT]"]],
    )  # fmt: skip
    schema(MigrationExecutor(connection).loader.graph.leaf_nodes())

    found = Judging.objects.get(pk=judging.pk)
    assert (found.rules, found.unit, found.temperature) == ("standard", "occurrence", 0)
    judges = [Judge.objects.create(judging=found, position=at, server="ward", model=f"m{at}") for at in range(3)]
    # Entities of before have four parts.
    entities, beside = [[0, 5, "PATIENT", True]], {"rewritten": {}, "spans": {}}
    judged = JudgedNote.objects.create(judging=found, document=note, entities=entities, hidden=[], beside=beside)
    Judgment.objects.create(judge=judges[0], note=judged, verdicts=["TP"])
    assert result_of(found)["majority"]["micro"]["tp"] == 1, "one of three judges answered"
    assert judged_entities(found, "TP")[0].entity.occurrences == [(0, 5)]
