"""One's own spans through the API: saved, changed, deleted and submitted with ETags; errors, queries, and rights."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotations.models import AnnotationSet, Assignment, AssignmentState, Event, Label, Membership, Project, Role, Span
from tests.factories import make_member, make_note, make_project
from tests.worlds.programs import Program

TEXT = "😀 Anna Bianchi came to Torino."
NAME = {"start": 2, "end": 14, "label": "PATIENT", "quote": "Anna Bianchi"}


@pytest.fixture
def program(db):
    project = make_project("ward")
    Label.objects.filter(name="CITY").update(attributes=[{"name": "Family"}])
    ann, note = make_member(project, "annotator", "ann"), make_note(project, text=TEXT)
    Assignment.objects.create(project=project, document=note, user=ann)
    made = Program(ann, scope="write")
    made.own = f"/projects/ward/notes/{note.pk}/annotations"
    return made


def named(answer):
    assert answer.status_code == 422, answer.content
    return [(one["field"], bool(one["reason"])) for one in answer.json()["errors"]]


def test_a_span_from_its_first_save_to_the_submitted_note(program):
    saved = program.post(f"{program.own}/spans", NAME)
    assert saved.status_code == 201 and saved.json()["version"] == 1
    one, first = f"{program.own}/spans/{saved.json()['span']['id']}", saved.headers["ETag"]
    again = program.post(f"{program.own}/spans", NAME)
    assert (again.status_code, again.headers["ETag"]) == (201, first)

    assert program.patch(one, {"label": "CITY"}).status_code == 428
    wanted = {"start": 23, "end": 29, "quote": "Torino", "label": "CITY", "attributes": {"Family": True}}
    changed = program.patch(one, wanted, if_match=first)
    assert changed.status_code == 200, changed.content
    del wanted["quote"]
    assert changed.json()["span"] == wanted | {"id": saved.json()["span"]["id"]}
    late = program.patch(one, {"label": "PATIENT"}, if_match=first)
    assert (late.status_code, late.json()["code"], late.headers["ETag"]) == (412, "changed", changed.headers["ETag"])
    assert [span.label.name for span in Span.objects.all()] == ["CITY"]

    read = program.get(program.own)
    assert read.headers["ETag"] == changed.headers["ETag"] and read.json()["items"] == [changed.json()["span"]]
    assert program.delete(one, if_match=first).status_code == 412
    assert program.post(f"{program.own}/submit", if_match=read.headers["ETag"]).json()["state"] == "submitted"
    assert program.post(f"{program.own}/spans", NAME).status_code == 409
    reopened = program.post(f"{program.own}/reopen")
    assert program.delete(one, if_match=reopened.headers["ETag"]).json()["state"] == "draft"
    assert not Span.objects.exists() and AnnotationSet.objects.get().state == "draft"
    assert Event.objects.filter(actor__username="ann").count() >= 5


def test_the_field_of_a_refused_span_is_named(program):
    cases = [
        ({"quote": "Anna Bianca"}, "quote"), ({"end": 99, "quote": None}, "end"), ({"end": 2, "quote": None}, "end"),
        ({"start": 1, "end": 2, "quote": None}, "start"), ({"label": "NOWHERE"}, "label"), ({"start": -1}, "start"),
    ]  # fmt: skip
    for change, field in cases:
        assert named(program.post(f"{program.own}/spans", NAME | change)) == [(field, True)], change
    assert not Span.objects.exists()


@pytest.fixture
def note(db):
    project = make_project("ward")
    return make_note(project, annotators=[make_member(project, user="ann")])


@pytest.fixture
def saver(note):
    return Program(note.assignments.get().user, "write", note.project)


def save(saver, note, start, end):
    body = {"start": start, "end": end, "label": "PATIENT"}
    return saver.post(f"/projects/{note.project.slug}/notes/{note.pk}/annotations/spans", body)


def test_a_further_span_asks_each_thing_once(note, saver):
    assert save(saver, note, 0, 5).status_code == 201
    with CaptureQueriesContext(connection) as queries:
        assert save(saver, note, 6, 11).status_code == 201
    asked = [query["sql"] for query in queries if not query["sql"].startswith(("SAVEPOINT", "RELEASE"))]
    # Token with person; membership, project and note; label, own set, span, room, version, archived, event; on
    # PostgreSQL also the lock on the labels.
    assert len(asked) == (10 if connection.vendor == "postgresql" else 9), asked
    assert Span.objects.count() == 2
    assert Event.objects.filter(verb="span.created", project_id=note.project_id).count() == 2


def test_a_right_that_ends_holds_for_the_next_span(note, saver):
    assert save(saver, note, 0, 5).status_code == 201
    note.assignments.update(state=AssignmentState.RELEASED)
    assert save(saver, note, 6, 11).status_code == 404
    note.assignments.update(state=AssignmentState.OPEN)
    for change, status in (({"role": Role.VIEWER}, 403), ({"role": Role.ANNOTATOR, "active": False}, 404)):
        Membership.objects.update(**change)
        assert save(saver, note, 6, 11).status_code == status
    Membership.objects.update(active=True)
    for change in ({"archived_at": timezone.now()}, {"archived_at": None, "second_factor": True}):
        Project.objects.filter(pk=note.project_id).update(**change)
        assert save(saver, note, 6, 11).status_code == 403
    assert Span.objects.count() == 1
