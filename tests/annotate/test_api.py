"""One's own spans through the API: saved, changed, deleted and submitted with ETags, and errors that name the field."""

import pytest

from annotations.models import AnnotationSet, Assignment, Event, Label, Span
from tests.factories import make_member, make_note, make_project
from tests.worlds.programs import Program

pytestmark = pytest.mark.django_db
TEXT = "😀 Anna Bianchi came to Torino."
NAME = {"start": 2, "end": 14, "label": "PATIENT", "quote": "Anna Bianchi"}


@pytest.fixture
def program():
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
    submitted = program.post(f"{program.own}/submit", if_match=read.headers["ETag"])
    assert submitted.json()["state"] == "submitted"
    assert program.post(f"{program.own}/spans", NAME).status_code == 409
    reopened = program.post(f"{program.own}/reopen")
    assert program.delete(one, if_match=reopened.headers["ETag"]).json()["state"] == "draft"
    assert not Span.objects.exists() and AnnotationSet.objects.get().state == "draft"
    assert Event.objects.filter(actor__username="ann").count() >= 5


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"quote": "Anna Bianca"}, "quote"),
        ({"end": 99, "quote": None}, "end"),
        ({"end": 2, "quote": None}, "end"),
        ({"start": 1, "end": 2, "quote": None}, "start"),
        ({"label": "NOWHERE"}, "label"),
        ({"start": -1}, "start"),
    ],
    ids=["another text", "outside", "empty", "white space", "unknown label", "negative"],
)
def test_the_field_of_a_refused_span_is_named(program, change, field):
    assert named(program.post(f"{program.own}/spans", NAME | change)) == [(field, True)]
    assert not Span.objects.exists()


def test_the_field_of_a_refused_change_is_named(program):
    saved = program.post(f"{program.own}/spans", NAME)
    one, version = f"{program.own}/spans/{saved.json()['span']['id']}", saved.headers["ETag"]
    assert named(program.patch(one, {"start": 2}, if_match=version)) == [("end", True)]
    assert named(program.patch(one, {"start": 2, "end": 6, "quote": "Anne"}, if_match=version)) == [("quote", True)]
    assert named(program.patch(one, {"attributes": {"Family": False}}, if_match=version)) == [
        ("attributes.Family", True)
    ]
