"""All comments of a project as CSV."""

import csv
import io

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.core.events import FILE_DOWNLOADED
from annotations.models import Comment, Event

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


def test_a_project_without_comments_gives_the_header(world, sign_in):
    assert rows_of(sign_in(world.rev).get(CSV)) == []
    assert sign_in(world.ann).get(CSV).status_code == 403


def test_the_export_page_links_to_the_table(world, annotated, sign_in):
    assert CSV in sign_in(world.rev).get(reverse("export", args=["covid"])).content.decode()


def test_the_command_writes_a_new_file(comments, tmp_path, capsys):
    path = tmp_path / "comments.csv"
    call_command("export_comments", "covid", str(path))
    assert "Comments written: 3." in capsys.readouterr().out
    assert len(list(csv.reader(path.open(newline="")))) == 4
    with pytest.raises(CommandError, match="Choose another path"):
        call_command("export_comments", "covid", str(path))
