"""The commands for comments and flags of a note, and the table of all comments of a project."""

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.core.events import FILE_DOWNLOADED
from annotations.models import Comment, Event, Flag
from tests import factories as make

pytestmark = pytest.mark.django_db


def run(name, note, *words):
    """Return the result of the command, or the code of its error."""
    out = io.StringIO()
    try:
        call_command(name, "covid", note.name, *map(str, words), "--json", stdout=out)
    except CommandError:
        return json.loads(out.getvalue())["code"]
    return json.loads(out.getvalue())


def test_a_thread_is_started_answered_resolved_and_reopened(annotated, capsys):
    note = annotated.note
    words = ("--add", "Is this a name?", "--start", 0, "--end", 5, "--annotator", "ann", "--by", "rev")
    [thread] = run("comments", note, *words)["threads"]
    assert (thread["author"], thread["text"], thread["annotation_set"]) == ("rev", "Is this a name?", "ann")
    assert (thread["start"], thread["end"]) == (0, 5)
    pk = thread["id"]
    [thread] = run("comments", note, "--answer", pk, "--text", "Yes.", "--by", "ann")["threads"]
    assert [(each["author"], each["text"]) for each in thread["answers"]] == [("ann", "Yes.")]
    assert run("comments", note, "--resolve", pk, "--by", "ann")["threads"][0]["resolved"] == "ann"
    assert run("comments", note, "--reopen", pk, "--by", "rev")["threads"][0]["resolved"] == ""
    assert run("comments", note, "--edit", pk, "--text", "A name?", "--by", "rev")["threads"][0]["text"] == "A name?"
    call_command("comments", "covid", note.name, "--by", "rev")
    assert f"{pk}  rev on 0-5: A name?" in capsys.readouterr().out
    assert run("comments", note, "--delete", thread["answers"][0]["id"], "--by", "ann")["threads"][0]["answers"] == []
    assert {event.actor for event in Event.objects.filter(verb="comment.added")} == {annotated.rev, annotated.ann}


def test_comments_that_are_refused(annotated):
    for words, code in (
        (("--answer", 1), "text"),
        (("--add", "x", "--text", "y"), "text"),
        (("--add", "x", "--start", 1), "location"),
        (("--end", 1, "--start", 0), "location"),
        (("--add", "x", "--start", 5, "--end", 10**9), "location"),
        (("--add", "x", "--annotator", "nobody"), "annotator"),
        (("--add", " "), "text"),
        (("--resolve", 10**20), "comment"),
        (("--resolve", 999), "gone"),
        (("--add", "x", "--by", "vic"), "access"),
    ):
        assert run("comments", annotated.note, "--by", "rev", *words) == code, words
    assert run("comments", annotated.note) == "by"
    assert not Comment.objects.exists()


def test_a_note_is_flagged_and_the_flag_removed(annotated, capsys):
    note = annotated.note
    for words, code in (
        (("--raise", "other", "--by", "ann"), "text"),
        (("--text", "x", "--by", "ann"), "text"),
        (("--clear", 10**20, "--by", "rev"), "gone"),
        (("--raise", "unsure"), "by"),
        (("--raise", "unsure", "--by", "vic"), "access"),
    ):
        assert run("flags", note, *words) == code, words
    assert run("flags", make.make_note(annotated.project), "--by", "ann") == "note"
    assert not Flag.objects.exists()
    [flag] = run("flags", note, "--raise", "other", "--text", "Two patients", "--by", "ann")["flags"]
    assert (flag["reason"], flag["text"], flag["by"]) == ("other", "Two patients", "ann")
    assert Event.objects.get(verb="note.flagged").actor == annotated.ann
    call_command("flags", "covid", note.name, "--by", "rev")
    assert "Two patients" in capsys.readouterr().out
    assert run("flags", note, "--clear", flag["id"], "--by", "ben") == "gone"
    assert run("flags", note, "--clear", flag["id"], "--by", "rev")["flags"] == []
    assert Flag.objects.get().cleared_by == annotated.rev


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


def test_the_command_writes_a_new_file(comments, tmp_path, capsys):
    path = tmp_path / "comments.csv"
    call_command("export_comments", "covid", str(path))
    assert "Comments written: 3." in capsys.readouterr().out
    assert len(list(csv.reader(path.open(newline="")))) == 4
    with pytest.raises(CommandError, match="Choose another path"):
        call_command("export_comments", "covid", str(path))
