"""The migration that renames the model of judgments."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from annotations.gold.services.making import freeze, make_gold
from models_runtime.models import Judge, JudgedNote, Judging, Judgment
from tests import factories as make

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]
BEFORE = [("models_runtime", "0018_one_item_per_note")]


@pytest.fixture
def schema():
    def migrated(targets):
        executor = MigrationExecutor(connection)
        executor.migrate(targets)
        return executor.loader.project_state(targets).apps

    yield migrated
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def test_the_judgments_stay_there_and_back(schema):
    project = make.make_project()
    run = make.make_author(project, kind="run", name="run")
    note = make.make_note(project, "Mario Rossi")
    row = make.make_set(note, run, [(0, 5, "PATIENT")], submitted=True)
    make_gold(document=note, annotation_set=row, actor=None)
    version, _ = freeze(project=project, actor=None)
    judging = Judging.objects.create(
        project=project, author=run, gold_version=version, threshold=0.5, language="en", prompt="", prompt_version="1"
    )
    judge = Judge.objects.create(judging=judging, position=0, server="ward", model="small")
    judged = JudgedNote.objects.create(judging=judging, document=note, entities=[], hidden=[], beside={})
    judgment = Judgment.objects.create(judge=judge, note=judged, verdicts={"0": "found"})

    old = schema(BEFORE).get_model("models_runtime", "Judgement").objects.get()
    assert (old.pk, old.judge_id, old.note_id, old.verdicts) == (judgment.pk, judge.pk, judged.pk, {"0": "found"})
    schema(MigrationExecutor(connection).loader.graph.leaf_nodes())
    assert judged.judgments.get() == judge.judgments.get() == judgment
    judged.delete()
    assert not Judgment.objects.exists()
