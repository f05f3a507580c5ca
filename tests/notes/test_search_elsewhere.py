"""Search through the API and by command: the rules and events of the page, and no text of a search is stored."""

import io
import json
import sys

import pytest
from django.core.management import CommandError, call_command

from annotations.models import Event, Search
from annotations.notes.selectors import searching
from tests import factories as make
from tests.worlds.programs import Program

pytestmark = pytest.mark.both_databases

SEARCH = "/projects/covid/search"


@pytest.fixture
def searched(world):
    world.text = "\ufeff\r\n\U0001f600 José Rossi"
    world.wild = make.make_note(world.project, world.text, "wild")
    return world


def run(*words):
    """Return the result of the command, or the code of its error."""
    out = io.StringIO()
    try:
        call_command("search", "covid", *map(str, words), "--json", stdout=out)
    except CommandError:
        return json.loads(out.getvalue())["code"]
    return json.loads(out.getvalue())


def names(found):
    return {note["name"] for note in found["notes"]}


def test_the_api_finds_what_the_person_may_open(searched):
    reviewer = Program(searched.rev)
    found = reviewer.post(SEARCH, {"text": "jose", "ignore_accents": True}).json()
    (note,) = found["notes"]
    (hit,) = note["hits"]
    assert (note["note"], note["count"], hit["line"]) == (searched.wild.pk, 1, 2)
    assert searched.text[hit["start"] : hit["end"]] == "José" == hit["found"]
    assert names(reviewer.post(SEARCH, {"text": "rossi"}).json()) >= {"caso-001", "wild"}
    assert "wild" not in names(Program(searched.ann).post(SEARCH, {"text": "rossi"}).json())
    assert not Search.objects.exists()
    events = Event.objects.filter(verb="notes.searched")
    assert events.count() == 3
    assert not any("ossi" in json.dumps(event.data) or "jose" in json.dumps(event.data) for event in events)


def test_the_api_narrows_by_labels_and_goes_on_page_by_page(searched, monkeypatch):
    gold = make.make_author(searched.project, kind="gold", name="gold")
    make.make_set(searched.note, gold, [(0, 11, "PATIENT")], submitted=True)
    reviewer = Program(searched.rev)
    asked = {"text": "Rossi", "where": "label", "label": "PATIENT", "annotations": "gold"}
    assert names(reviewer.post(SEARCH, asked).json()) == {"caso-001"}
    assert names(reviewer.post(SEARCH, asked | {"label": "CITY"}).json()) == set()
    for person, more, field in (
        (reviewer, {"label": "NONE"}, "label"),
        (reviewer, {"label": ""}, "label"),
        (reviewer, {"text": " "}, "text"),
        (Program(searched.ann), {}, "annotations"),
    ):
        answer = person.post(SEARCH, asked | more)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
    monkeypatch.setattr(searching, "NOTES", 1)
    first = reviewer.post(SEARCH, {"text": "rossi"}).json()
    second = reviewer.post(SEARCH, {"text": "rossi", "after": first["next"]}).json()
    assert len(first["notes"]) == len(second["notes"]) == 1 and first["notes"] != second["notes"]


def test_the_command(searched, capsys, monkeypatch):
    found = run("jose", "--ignore-accents", "--by", "rev")
    assert [note["name"] for note in found["notes"]] == ["wild"] and found["next"] is None
    assert run("jose", "--by", "rev")["notes"] == []
    monkeypatch.setattr(sys, "stdin", io.StringIO("José\n"))
    assert names(run("-", "--case", "--word", "--by", "rev")) == {"wild"}
    call_command("search", "covid", "José", "--by", "rev")
    assert capsys.readouterr().out.splitlines()[0] == "wild, line 2: \U0001f600 »José« Rossi"
    monkeypatch.setattr(searching, "NOTES", 2)
    one = run("rossi", "--notes", 1, "--by", "rev")
    rest = run("rossi", "--after", one["next"], "--by", "rev")
    assert names(one) | names(rest) == names(run("rossi", "--by", "rev")) and not names(one) & names(rest)
    assert Event.objects.filter(verb="notes.searched", actor=searched.rev).exists() and not Search.objects.exists()


def test_what_the_command_refuses(searched):
    for words, code in (
        (("rossi",), "by"),
        (("rossi", "--by", "out"), "access"),
        ((" ", "--by", "rev"), "text"),
        (("rossi", "--label", "NONE", "--by", "rev"), "label"),
        (("rossi", "--unmarked", "--gold", "--by", "ann"), "annotations"),
        (("rossi", "--notes", 0, "--by", "rev"), "notes"),
    ):
        assert run(*words) == code
