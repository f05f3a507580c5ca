"""Migrations that rewrite old events, which are append-only again afterwards."""

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


def test_free_text_is_removed_from_events_sessions_and_results_of_exports(schema):
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

    check_append_only()
    assert Event.objects.count() == len(written)


def check_append_only():
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE annotations_event SET verb = 'x'")
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM annotations_event")


BEFORE_GLOSSARY = [("annotations", "0025_notes_of_stored_suggestions")]
AFTER_GLOSSARY = [("annotations", "0026_words_of_the_glossary")]
# A user may have the name of a renamed value.
PROVENANCE = {"choice": "reader", "by": "reader", "annotators": [3]}
GOLD = {"from": "run:proposal", "proposal": 4, "adjudication": PROVENANCE}
LOCATION = {"start": 0, "end": 5, "choice": "reader", "reader": 3, "heard": {"3": [[0, 5, 9]]}, "by": 1, "at": "now"}
OUTCOME = {"proposals": {"4": [0, 5, 9], "5": None}, "others": [[6, 9, 9]]}
STATE = {"verdict": "accepted", "place": [0, 5, 9]}
OLD_WORDS = {
    "project.changed": {"fields": ["name", "readers_per_note"]},
    "comment.added": {"reader": 3, "place": [0, 5], "comment": 1},
    "cause.set": {"place": [0, 5], "kind": "D", "before": [[0, 5, "S"]]},
    "adjudication.decided": {
        "act": "reader", "before": [LOCATION | {"choice": "majority", "reader": None, "spans": []}],
        "after": [LOCATION | {"spans": [[0, 5, 9, PROVENANCE]]}],
    },
    "review.decided": {
        "proposal": 4, "before": None, "after": STATE, "beside": [[5, STATE, None]],
        "made": [[0, 5, 9, 0.5, "rules-1: place", None]], "gone": [[0, 5, 9, None, "", GOLD]], "act": "accept",
    },
    "review.compared": {"compared": 3, "alike": 2},
    "review.revealed": {"proposal": 4, "planted": "found", "reader": 3},
    "member.added": {"user": "reader", "role": "annotator"},
}  # fmt: skip
NEW_PROVENANCE = PROVENANCE | {"choice": "annotator"}
NEW_LOCATION = {key: value for key, value in LOCATION.items() if key != "reader"} | {"choice": "annotator", "author": 3}
NEW_GOLD = {"from": "run:proposal", "suggestion": 4, "adjudication": NEW_PROVENANCE}
NEW_STATE = {"verdict": "accepted", "bounds": [0, 5, 9]}
NEW_WORDS = OLD_WORDS | {
    "project.changed": {"fields": ["name", "annotators_per_note"]},
    "comment.added": {"annotator": 3, "bounds": [0, 5], "comment": 1},
    "cause.set": {"bounds": [0, 5], "kind": "D", "before": [[0, 5, "S"]]},
    "adjudication.decided": {
        "act": "annotator", "before": [NEW_LOCATION | {"choice": "majority", "author": None, "spans": []}],
        "after": [NEW_LOCATION | {"spans": [[0, 5, 9, NEW_PROVENANCE]]}],
    },
    "review.decided": {
        "suggestion": 4, "before": None, "after": NEW_STATE, "beside": [[5, NEW_STATE, None]],
        "made": [[0, 5, 9, 0.5, "rules-1: place", None]], "gone": [[0, 5, 9, None, "", NEW_GOLD]], "act": "accept",
    },
    "review.compared": {"compared": 3, "equal": 2},
    "review.revealed": {"suggestion": 4, "planted": "found", "reviewer": 3},
}  # fmt: skip


def stored(apps):
    """The events and the other JSON with renamed words."""
    of = {name: apps.get_model("annotations", name).objects for name in ("Event", "Span", "Handover", "Resolution")}
    versions = apps.get_model("annotations", "GoldVersionNote").objects
    return (
        dict(of["Event"].values_list("verb", "data")),
        list(of["Span"].order_by("pk").values_list("provenance", flat=True)),
        versions.get().spans, *of["Handover"].values_list("outcome", "kept").get(), of["Resolution"].get().choice,
    )  # fmt: skip


def test_stored_words_are_renamed_and_can_be_renamed_back(schema):
    project = make.make_project("covid")
    person = make.make_member(project, user="reader")
    note = make.make_note(project)
    label = make.label_of(project, "PATIENT").pk
    adjudicated, gold, run = (make.make_author(project, kind=kind) for kind in ("adjudicated", "gold", "run"))
    sets = [make.make_set(note, author) for author in (adjudicated, gold, run)]
    old = schema(BEFORE_GLOSSARY)

    def add(name, **values):
        return old.get_model("annotations", name).objects.create(**values)

    for verb, data in OLD_WORDS.items():
        add("Event", project_id=project.pk, verb=verb, data=data)
    for row, provenance in zip(sets, (PROVENANCE, GOLD, None), strict=True):
        add("Span", annotation_set_id=row.pk, start=0, end=5, label_id=label, provenance=provenance)
    version = add("GoldVersion", project_id=project.pk, number=1, content_hash="h", note_count=1, span_count=1)
    add("GoldVersionNote", version=version, document_id=note.pk, spans=[[0, 5, "PATIENT", GOLD]])
    review = add("Review", document_id=note.pk, author_id=run.pk)
    kept = {"decisions": [[4, STATE, 1]], "touched": [4], "gone": [[0, 5, 9, None, "", GOLD]], "come": []}
    add("Handover", review=review, blind=True, first_id=person.pk, outcome=OUTCOME, kept=kept)
    add(
        "Resolution", document_id=note.pk, start=0, end=5, choice="reader", reader=adjudicated.pk, spans=[],
        by_id=person.pk, at=version.created_at,
    )  # fmt: skip
    before = stored(old)

    found = stored(schema(AFTER_GLOSSARY))
    assert found[0] == NEW_WORDS
    assert found[1] == [NEW_PROVENANCE, NEW_GOLD, None]
    assert found[2] == [[0, 5, "PATIENT", NEW_GOLD]]
    new_kept = {"decisions": [[4, NEW_STATE, 1]], "gone": [[0, 5, 9, None, "", NEW_GOLD]], "touched": [4], "come": []}
    assert found[3] == {"suggestions": OUTCOME["proposals"], "others": OUTCOME["others"]}
    assert found[4] == new_kept
    assert found[5] == "annotator"
    check_append_only()
    assert Event.objects.count() == len(OLD_WORDS)
    assert stored(schema(BEFORE_GLOSSARY)) == before


OLD_GOLD = {"from": "run:gone", "source": "made", "changed": ["added"]}
LAST_WORDS = {
    "review.decided": {
        "suggestion": 4, "before": None, "after": None, "pass": "settling", "act": "accept",
        "made": [[0, 5, 9, 0.5, "made", OLD_GOLD]], "gone": [],
    },
    "review.undone": {"made": [], "gone": [[0, 5, 9, 0.5, "gone", None]], "act": "undo", "pass": "second"},
    "review.bulk_done": {"decided": 3, "taken_back": 0},
    "review.bulk_undone": {"decided": 3, "taken_back": 2},
    "review.closed": {"run": 3, "spans": 2},
    "review.handed_on": {"handover": 1, "blind": True},
    "review.taken_back": {"handover": 1, "blind": True},
    "adjudication.closed": {"spans": 2},
    "comment.resolved": {"comment": 1, "settled": True},
    "notes.searched": {"where": "unlabelled", "hits": 2},
    "gold.made": {"from_set": 1, "spans": 1, "removed": [[0, 5, 9]]},
    "member.added": {"user": "settled", "role": "taken_back"},
}  # fmt: skip
NEW_LAST_WORDS = {
    "review.decided": {
        "suggestion": 4, "before": None, "after": None, "pass": "resolving", "act": "accept",
        "added": [[0, 5, 9, 0.5, "made", OLD_GOLD]], "removed": [],
    },
    "review.undone": {"added": [], "removed": [[0, 5, 9, 0.5, "gone", None]], "act": "undo", "pass": "second"},
    "review.bulk_done": {"decided": 3, "undone": 0},
    "review.bulk_undone": {"decided": 3, "undone": 2},
    "review.finished": {"run": 3, "spans": 2},
    "review.handed_over": {"handover": 1, "blind": True},
    "review.handover_undone": {"handover": 1, "blind": True},
    "adjudication.finished": {"spans": 2},
    "comment.resolved": {"comment": 1, "resolved": True},
    "notes.searched": {"where": "unlabeled", "hits": 2},
    "gold.made": {"from_set": 1, "spans": 1, "removed": [[0, 5, 9]]},
    "member.added": {"user": "settled", "role": "taken_back"},
}  # fmt: skip


def last_words(apps):
    of = {name: apps.get_model("annotations", name).objects for name in ("Event", "Handover", "Import", "Job")}
    return (
        dict(of["Event"].values_list("verb", "data")),
        list(of["Handover"].order_by("pk").values_list("state", "kept")),
        list(of["Job"].order_by("pk").values_list("state", "result")),
        of["Import"].get().state,
    )


def test_the_last_words_are_renamed_and_can_be_renamed_back(schema):
    project = make.make_project("covid")
    person = make.make_member(project, user="rita")
    run, other = (make.make_author(project, kind="run", name=name) for name in ("rules-1", "rules-2"))
    note = make.make_note(project)
    old = schema(AFTER_GLOSSARY)

    def add(name, **values):
        return old.get_model("annotations", name).objects.create(**values)

    for verb, data in LAST_WORDS.items():
        add("Event", project_id=project.pk, verb=verb, data=data)
    at = old.get_model("annotations", "Event").objects.first().at
    review = add("Review", document_id=note.pk, author_id=run.pk, closed_by_id=person.pk, closed_at=at)
    add("Review", document_id=note.pk, author_id=other.pk)
    add("Adjudication", document_id=note.pk, heard="", closed_by_id=person.pk, closed_at=at)
    act = add("BulkAct", project_id=project.pk, user_id=person.pk, act="accept", taken_back=2)
    kept = {"decisions": [], "touched": [4], "gone": [[0, 5, 9, None, "come", OLD_GOLD]], "come": [[6, 9, 9]]}
    for state, data in (("settling", None), ("back", None), ("done", kept)):
        handed = add("Handover", review=review, state=state, blind=True, first_id=person.pk, outcome={}, kept=data)
        handed.people.set([person.pk])
    add("Job", kind="bulk_undo", project_id=project.pk, key="a", state="done", result={"taken_back": 2})
    add("Job", kind="export", project_id=project.pk, key="b", state="cancelled")
    add("Import", project_id=project.pk, state="cancelled")
    before = last_words(old)

    new = schema(latest())
    events, handovers, jobs, imported = last_words(new)
    assert events == NEW_LAST_WORDS
    new_kept = {"decisions": [], "touched": [4], "removed": kept["gone"], "added": kept["come"]}
    assert handovers == [("resolving", None), ("undone", None), ("done", new_kept)]
    assert (jobs, imported) == ([("done", {"undone": 2}), ("canceled", {})], "canceled")
    rows = new.get_model("annotations", "Review").objects.order_by("pk").values_list("finished_by", "finished_at")
    assert list(rows) == [(person.pk, at), (None, None)]
    assert new.get_model("annotations", "Adjudication").objects.values_list("finished_by", "finished_at").get() == (
        person.pk, at,
    )  # fmt: skip
    assert new.get_model("annotations", "BulkAct").objects.get(pk=act.pk).undone == 2
    assert [one.people.count() for one in new.get_model("annotations", "Handover").objects.all()] == [1, 1, 1]
    check_append_only()
    assert last_words(schema(AFTER_GLOSSARY)) == before
