"""Events that were written before free text left them: rewritten once, by a migration, and append-only again."""

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from annotations.models import Event
from tests import factories as make

pytestmark = pytest.mark.django_db(transaction=True)
BEFORE = [("annotations", "0017_labels_by_note"), ("models_runtime", "0013_usage_of_runs_and_judges_gone")]
WORDS = "zqwords77"


@pytest.fixture
def schema():
    def migrated(targets):
        executor = MigrationExecutor(connection)
        executor.migrate(targets)
        return executor.loader.project_state(targets).apps

    yield migrated
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def latest():
    return MigrationExecutor(connection).loader.graph.leaf_nodes()


def test_free_text_leaves_events_sessions_and_results_of_exports(schema):
    project = make.make_project("covid")
    run = make.make_author(project, kind="run", name=f"{WORDS}-run")
    make.make_author(project, make.make_member(project, user="ann"))
    note = make.make_note(project, name=f"{WORDS}-note")
    old = schema(BEFORE)
    written = {
        "gold.frozen": {"version": 1, "hash": "h", "notes": 2, "reason": WORDS},
        "gold.split": {"version": 1, "seed": WORDS, "shares": {"train": 80}},
        "label.changed": {
            "label": "DOCTOR", "before": {"name": "A", "description": WORDS}, "after": {"name": "B", "description": ""},
        },
        "file.downloaded": {"file": 1, "name": f"{WORDS}.zip", "size": 2},
        "run.started": {"run": f"{WORDS}-run", "backend": "rules", "model": WORDS, "notes": 3},
        "set.seeded": {"from_set": 7, "run": f"{WORDS}-run", "spans": 2},
        "model.renamed": {"model": 1, "from": WORDS, "to": WORDS},
        "notes.imported": {"import": 1, "as": f"run:{WORDS}-run", "notes": 1},
        "notes.exported": {"set": "annotator:ann", "split": {"seed": WORDS, "layout": "dev"}, "losses": 1},
        "note.read": {"set": 4},
    }  # fmt: skip
    events = old.get_model("annotations", "Event")
    for verb, data in written.items():
        events.objects.create(project_id=project.pk, verb=verb, data=data)
    job = old.get_model("models_runtime", "Job").objects.create(
        kind="export", project_id=project.pk, key="k", state="done",
        result={"losses": [{"note": note.name, "start": 0}, {"note": f"{WORDS}-gone", "start": 1}]},
    )  # fmt: skip
    session = SessionStore()
    session["note_searches"] = {"covid:t": WORDS}
    session["seen"] = 5
    session.save()

    new = schema(latest())
    data = dict(new.get_model("annotations", "Event").objects.values_list("verb", "data"))
    assert WORDS not in str(data)
    assert data["gold.frozen"] == {"version": 1, "hash": "h", "notes": 2}
    assert data["label.changed"] == {
        "label": "DOCTOR", "fields": ["description", "name"], "before": {"name": "A"}, "after": {"name": "B"},
    }  # fmt: skip
    assert data["run.started"] == {"backend": "rules", "notes": 3, "author": run.pk}
    assert data["set.seeded"] == {"from_set": 7, "spans": 2, "author": run.pk}
    assert data["notes.imported"] == {"import": 1, "notes": 1, "as": "run", "author": run.pk}
    assert data["notes.exported"]["set"] == "annotator" and "seed" not in str(data["notes.exported"])
    assert data["note.read"] == {"set": 4}
    result = new.get_model("annotations", "Job").objects.get(pk=job.pk).result
    assert [loss["note"] for loss in result["losses"]] == [note.pk, 0]
    kept = SessionStore().decode(Session.objects.get().session_data)
    assert WORDS not in str(kept) and kept["seen"] == 5

    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE annotations_event SET verb = 'x'")
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM annotations_event")
    assert Event.objects.count() == len(written)
