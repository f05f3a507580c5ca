"""The commands that fill and measure the index, and that make every edit of its page."""

import io
import json
import sys

import pytest
from django.core.management import CommandError, call_command

from annotations.models import Event, LabelSet, SurrogateEntity, SurrogateMention
from tests import factories as make


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
    read = Event.objects.filter(verb="note.read", actor=made.mia)
    before = read.count()
    shown = run("--show", one["id"])
    assert [mention["marked"] for mention in shown["mentions"]] == ["Adam Wilson", "Wilson", "Wilson"]
    assert before > 0 and read.count() == before + 3, "the two notes with mentions, and the one with the first form"
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


def test_what_is_refused(made):
    one = adam()
    pk = one["id"]
    for words, code in (
        (("--show", 999999), "entity"),
        (("--show", "x"), "entity"),
        (("--merge", pk), "few"),
        (("--split", pk), "mention"),
        (("--mention", 1), "mention"),
        (("--split", pk, "--mention", 999999), "few"),
        (("--replace", pk), "text"),
        (("--text", "Anna"), "text"),
        (("--replace", pk, "--text", "Emily Carter"), "original"),
        (("--restore", pk), "none"),
    ):
        assert run(*words) == code, words
    assert adam() == one


@pytest.fixture
def gold(made):
    SurrogateEntity.objects.all().delete()
    LabelSet.objects.filter(project=made.project).update(key="i2b2-2014")
    author = make.make_author(made.project, kind="gold", name="gold")
    labels = {"name": "PATIENT", "staff": "DOCTOR", "city": "CITY"}
    for note, mentions in zip(made.notes, made.mentions, strict=True):
        spans = [(one.start, one.end, labels[one.kind]) for one in mentions.mentions if one.kind in labels]
        make.make_set(note, author, spans, submitted=True)
    return made


def surrogates(*words):
    out = io.StringIO()
    call_command("surrogates", "ward", *words, stdout=out)
    return out.getvalue()


def test_measures_of_an_annotation_set(gold):
    found = json.loads(surrogates("--json"))
    assert found == {
        "notes": 3, "mentions": 8, "entities": 4, "preserved": 1.0, "consistent": 1.0, "collisions": 0,
        "originals_left": 0,
    }  # fmt: skip
    assert SurrogateMention.objects.count() == 8
    assert json.loads(surrogates("--json", "--set", "gold")) == found
    assert "Consistent: 100.0%. Collisions: 0." in surrogates()


def test_what_can_not_be_built(gold):
    with pytest.raises(CommandError, match="nobody"):
        surrogates("--set", "run:nobody")
    with pytest.raises(CommandError, match="can't make surrogates here"):
        surrogates("--model", "ward/small")
