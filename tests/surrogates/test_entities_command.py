"""The command surrogate_entities: every edit of the page, with the versions that the person saw."""

import io
import json
import sys

import pytest
from django.core.management import CommandError, call_command

from annotations.models import Event, SurrogateEntity


def run(*words):
    """Return the result of the command, or the code of its error."""
    out = io.StringIO()
    try:
        call_command("surrogate_entities", "ward", *map(str, words), "--by", "mia", "--json", stdout=out)
    except CommandError:
        return json.loads(out.getvalue())["code"]
    return json.loads(out.getvalue())


def adam():
    """The entity “Adam Wilson”, which the search finds beside others named Wilson."""
    (one,) = [one for one in run("--find", "Adam Wilson")["entities"] if one["mentions"] == 3]
    return one


def test_entities_are_listed_found_and_shown(made, capsys, monkeypatch):
    assert len(run()["entities"]) == SurrogateEntity.objects.count()
    (city,) = run("--kind", "city")["entities"]
    assert (city["whose"], [form["original"] for form in city["forms"]]) == ("", ["Springfield"])
    assert run("--state", "locked")["entities"] == []
    one = adam()
    assert one["whose"] == "P-1"
    monkeypatch.setattr(sys, "stdin", io.StringIO("Adam Wilson\n"))
    assert one in run("--find", "-")["entities"]
    shown = run("--show", one["id"])
    assert [mention["marked"] for mention in shown["mentions"]] == ["Adam Wilson", "Wilson", "Wilson"]
    assert Event.objects.filter(verb="note.read", actor=made.mia).count() == 2
    call_command("surrogate_entities", "ward", "--kind", "city", "--by", "mia")
    written = city["forms"][0]["surrogate"]
    assert capsys.readouterr().out == f"{city['id']}:{city['version']}  city: Springfield → {written} (1)\n"


def test_locking_and_replacing(made):
    one = adam()
    seen = f"{one['id']}:{one['version']}"
    (locked,) = run("--lock", seen)["entities"]
    assert locked["locked"] and locked["version"] == one["version"] + 1
    assert run("--unlock", seen) == "changed"
    assert run("--replace", one["id"], "--text", "Gregory Fletcher") == "locked"
    run("--unlock", one["id"])
    (replaced,) = run("--replace", one["id"], "--text", "Gregory Fletcher")["entities"]
    assert (replaced["forms"][0]["surrogate"], replaced["edited_by"]) == ("Gregory Fletcher", "mia")
    (restored,) = run("--restore", one["id"])["entities"]
    assert restored["forms"] == one["forms"]
    (drawn,) = run("--draw", one["id"])["entities"]
    assert drawn["forms"] != one["forms"]
    verbs = set(Event.objects.filter(actor=made.mia).values_list("verb", flat=True))
    assert {f"surrogate.{act}" for act in ("locked", "unlocked", "replaced", "restored", "drawn")} <= verbs


def test_splitting_and_merging(made):
    one = adam()
    mentions = run("--show", one["id"])["mentions"]
    (new,) = run("--split", one["id"], "--mention", mentions[-1]["id"])["entities"]
    assert (new["mentions"], new["id"] != one["id"]) == (1, True)
    (kept,) = run("--merge", one["id"], new["id"])["entities"]
    assert (kept["id"], kept["mentions"]) == (one["id"], 3)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--show", 999999), "entity"),
        (("--show", "x"), "entity"),
        (("--merge", "{0}"), "few"),
        (("--split", "{0}"), "mention"),
        (("--mention", 1), "mention"),
        (("--split", "{0}", "--mention", 999999), "few"),
        (("--replace", "{0}"), "text"),
        (("--text", "Anna"), "text"),
        (("--replace", "{0}", "--text", "Emily Carter"), "original"),
        (("--restore", "{0}"), "none"),
    ],
)
def test_what_is_refused(made, words, code):
    one = adam()
    assert run(*(str(word).format(one["id"]) for word in words)) == code
    assert adam() == one
