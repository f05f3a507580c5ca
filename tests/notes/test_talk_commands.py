"""The commands for comments and flags of a note, and the table of all comments of a project."""

import csv
import io

import pytest
from django.urls import reverse

from annotations.core.events import FILE_DOWNLOADED
from annotations.models import Comment, Event

pytestmark = pytest.mark.django_db


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
    world.project.anonymous_adjudication = True
    world.project.save()
    row = rows_of(sign_in(world.rev).get(CSV))[0]
    assert row["author"].startswith("An") and "ann" not in (row["author"], row["annotations_of"])
    assert rows_of(sign_in(world.mia).get(CSV))[0]["author"] == "ann"
