"""The commands for comments and flags of a note."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

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


def test_who_may_write_comments(annotated):
    note = annotated.note
    run("comments", note, "--add", "For ann", "--annotator", "ann", "--by", "rev")
    pk = Comment.objects.get().pk
    assert run("comments", note) == "by"
    assert run("comments", note, "--by", "ben")["threads"] == []
    assert len(run("comments", note, "--by", "vic")["threads"]) == 1
    for name in ("vic", "out"):
        assert run("comments", note, "--add", "x", "--by", name) == "access"
    assert run("comments", note, "--edit", pk, "--text", "x", "--by", "ann") == "author"
    assert Comment.objects.get().text == "For ann"


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
    ):
        assert run("comments", annotated.note, *words, "--by", "rev") == code, words
    assert not Comment.objects.exists()


def test_a_note_is_flagged_and_the_flag_removed(annotated, capsys):
    note = annotated.note
    [flag] = run("flags", note, "--raise", "other", "--text", "Two patients", "--by", "ann")["flags"]
    assert (flag["reason"], flag["text"], flag["by"]) == ("other", "Two patients", "ann")
    assert Event.objects.get(verb="note.flagged").actor == annotated.ann
    call_command("flags", "covid", note.name, "--by", "rev")
    assert "ann: Something else Two patients" in capsys.readouterr().out
    assert run("flags", note, "--clear", flag["id"], "--by", "ben") == "gone"
    assert run("flags", note, "--clear", flag["id"], "--by", "rev")["flags"] == []
    assert Flag.objects.get().cleared_by == annotated.rev


def test_flags_that_are_refused(annotated):
    note = annotated.note
    assert run("flags", note, "--raise", "other", "--by", "ann") == "text"
    assert run("flags", note, "--text", "x", "--by", "ann") == "text"
    assert run("flags", note, "--clear", 10**20, "--by", "rev") == "gone"
    assert run("flags", note, "--raise", "unsure") == "by"
    for name in ("vic", "out"):
        assert run("flags", note, "--raise", "unsure", "--by", name) == "access"
    assert run("flags", make.make_note(annotated.project), "--by", "ann") == "note"
    assert not Flag.objects.exists()
