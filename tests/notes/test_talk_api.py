"""Comments and flags through the API, and the table of all comments of a project."""

import csv
import io

import pytest
from django.urls import reverse

from annotations.core.services import FILE_DOWNLOADED
from annotations.models import Comment, Event
from tests.factories import change, make_member, make_note, make_project, make_set
from tests.worlds.programs import Program

pytestmark = [pytest.mark.django_db]


@pytest.fixture
def note():
    project = make_project("ward", show_outcome=True)
    ada, ben = (make_member(project, "annotator", name) for name in ("ada", "ben"))
    note = make_note(project, annotators=[ada, ben])
    note.sets = [make_set(note, person, [(0, 11, "PATIENT")], submitted=True) for person in (ada, ben)]
    note.ada, note.ben = Program(ada), Program(ben)
    note.rita = Program(make_member(project, "reviewer", "rita"))
    note.path = f"/projects/ward/notes/{note.pk}"
    return note


def test_a_thread_from_the_question_to_its_end(note):
    comments = f"{note.path}/comments"
    span = note.sets[0].spans.get()
    made = note.ada.post(comments, {"text": "A name?", "span": span.pk})
    assert made.status_code == 201
    thread = made.json()
    assert (thread["start"], thread["end"], thread["author"], thread["mine"]) == (0, 11, "ada", True)
    one = f"{comments}/{thread['id']}"
    answered = note.rita.post(f"{one}/answers", {"text": "Yes."}).json()
    assert [(each["author"], each["text"]) for each in answered["answers"]] == [("rita", "Yes.")]
    assert answered["annotation_set"] == "ada"
    assert note.ada.patch(one, {"text": "A name."}).json()["edited"] is True
    assert note.rita.patch(one, {"text": "Mine"}).status_code == 403
    assert note.rita.post(f"{one}/resolve").json()["resolved"] == "rita"
    assert note.ada.post(f"{one}/reopen").json()["resolved"] == ""
    assert note.ada.delete(one).status_code == 204
    [left] = note.ada.get(comments).json()["items"]
    assert (left["text"], left["deleted"], len(left["answers"])) == ("", True, 1)
    table = b"".join(note.rita.get("/projects/ward/comments.csv").streaming_content).decode().splitlines()
    assert len(table) == 3


def test_annotators_stay_blind_to_each_other(note):
    made = note.ada.post(f"{note.path}/comments", {"text": "A name?"}).json()
    assert note.ben.get(f"{note.path}/comments").json()["items"] == []
    assert note.ben.post(f"{note.path}/comments/{made['id']}/answers", {"text": "No."}).status_code == 404
    # Whatever set an annotator names, the comment is about their own annotations.
    note.ben.post(f"{note.path}/comments", {"text": "Mine", "annotation_set": note.sets[0].pk})
    assert Comment.objects.latest("pk").annotator.username == "ben"
    assert not Event.objects.filter(verb="note.read").exists()


def test_hidden_annotators_are_numbers(note):
    change(note.project, anonymous_adjudication=True)
    note.ada.post(f"{note.path}/comments", {"text": "A name?"})
    [seen] = note.rita.get(f"{note.path}/comments").json()["items"]
    assert seen["author"].startswith("Annotator ")
    # Naming the set's annotator would reveal who wrote it.
    made = note.rita.post(f"{note.path}/comments", {"text": "Yes.", "annotation_set": note.sets[0].pk})
    assert (made.status_code, made.json()["annotation_set"]) == (201, "")


CSV = reverse("comments_export", args=["covid"])


def rows_of(response):
    return list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))


@pytest.fixture
def comments(world):
    about = {"document": world.note, "annotator": world.ann}
    first = Comment.objects.create(**about, author=world.ann, text="=Why a date?", start=3, end=9)
    other = Comment.objects.create(document=world.note, author=world.rev, text="A strange note", start=None)
    reply = Comment.objects.create(**about, author=world.rev, answers=first, text="Because.\nReally.")
    return first, other, reply


def test_threads_with_their_answers(comments, world, sign_in):
    first, other, reply = comments
    rows = rows_of(sign_in(world.rev).get(CSV))
    assert [(row["thread"], row["comment"], row["author"], row["annotations_of"]) for row in rows] == [
        (str(first.pk), str(first.pk), "ann", "ann"),
        (str(first.pk), str(reply.pk), "rev", "ann"),
        (str(other.pk), str(other.pk), "rev", ""),
    ]
    assert (rows[0]["note"], rows[0]["start"], rows[0]["end"]) == (world.note.name, "3", "9")
    assert rows[0]["text"] == "'=Why a date?"  # no formula for a spreadsheet
    assert rows[1]["text"] == "Because.\nReally." and rows[2]["start"] == ""
    assert Event.objects.get(verb=FILE_DOWNLOADED).data == {"comments": "csv"}


def test_hidden_names_stay_hidden(annotated, comments, world, sign_in):
    change(world.project, anonymous_adjudication=True)
    row = rows_of(sign_in(world.rev).get(CSV))[0]
    assert row["author"].startswith("An") and "ann" not in (row["author"], row["annotations_of"])
    assert rows_of(sign_in(world.mia).get(CSV))[0]["author"] == "ann"
