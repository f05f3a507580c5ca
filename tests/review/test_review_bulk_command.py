"""The command that decides many suggestions at once: by rule and by string, its preview, its undo."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotations.models import BulkAct, Decision, Event, Job, Span
from annotations.review.services import starting
from tests import factories as make
from tests.held import fresh
from tests.worlds.pages import TEXT, make_world
from tests.worlds.queue import no_redis

__all__ = ["no_redis"]

pytestmark = pytest.mark.django_db


def run(*words, by="rev"):
    out = io.StringIO()
    call_command("review_bulk", "covid", *map(str, words), "--by", by, "--json", stdout=out)
    return json.loads(out.getvalue())


def refused(*words, by="rev"):
    out = io.StringIO()
    with pytest.raises(CommandError):
        call_command("review_bulk", "covid", *map(str, words), "--by", by, "--json", stdout=out)
    return json.loads(out.getvalue())["code"]


def make_runs():
    """Two runs over two notes. Both suggest the patient; the first also suggests the city, wrongly as a hospital."""
    world = make_world()
    world.runs = [make.make_author(world.project, kind="run", name=name) for name in ("rules-1", "crf-1")]
    for _note in range(2):
        note = make.make_note(world.project, TEXT)
        make.make_set(note, world.runs[0], [(0, 11, "PATIENT"), (44, 50, "HOSPITAL")], submitted=True)
        make.make_set(note, world.runs[1], [(0, 11, "PATIENT")], submitted=True)
    Span.objects.filter(annotation_set__author__in=world.runs, start=0).update(confidence=0.95, source="title")
    Span.objects.filter(annotation_set__author__in=world.runs, start=44).update(confidence=0.4, source="place")
    return world


@pytest.fixture(scope="module")
def made_runs(once):
    return once(make_runs)


@pytest.fixture
def runs(made_runs, db):
    return fresh(made_runs, make_runs)


def gold():
    spans = Span.objects.filter(annotation_set__author__kind="gold").order_by("annotation_set", "start")
    return [(span.start, span.label.code) for span in spans]


def test_suggestions_are_counted_accepted_and_undone(runs, capsys):
    found = run("rules-1", "--least", 90, "--preview")
    assert (found["preview"], found["decided"], found["skipped"]) == (True, 2, 0)
    assert not BulkAct.objects.exists()
    done = run("rules-1", "--least", 90)
    assert (done["state"], done["act"], done["by"], done["decided"]) == ("done", "accept", "rev", 2)
    assert gold() == [(0, "PATIENT")] * 2
    assert run("--list")["acts"] == [{key: value for key, value in done.items() if key != "preview"}]
    undone = run("--undo", done["id"])
    assert (undone["state"], undone["undone"], undone["kept"]) == ("undone", 2, 0)
    assert not gold() and not Decision.objects.exists()
    assert [event.actor for event in Event.objects.filter(verb__startswith="review.bulk")] == [runs.rev] * 2
    call_command("review_bulk", "covid", "--list", "--by", "rev")
    assert "undone: 2 decisions" in capsys.readouterr().out


def test_rules_by_agreement_label_and_source(runs):
    assert run("--agree", 2, "--preview")["open"] == 4
    assert run("--agree", 2, "--label", "PATIENT", "--preview")["open"] == 4
    assert run("--least", 0, "--source", "place", "--preview")["open"] == 2
    assert run("crf-1", "--least", 0, "--reject")["decided"] == 2
    assert not gold()


def test_the_suggestions_of_a_string(runs, capsys):
    rows = {row["text"]: row for row in run("--strings")["strings"]}
    assert (rows["Torino"]["label"], rows["Torino"]["open"]) == ("HOSPITAL", 2)
    assert [row["text"] for row in run("--strings", "--label", "PATIENT")["strings"]] == ["Mario Rossi"]
    call_command("review_bulk", "covid", "--strings", "--by", "rev")
    assert "Torino  HOSPITAL: 2 open" in capsys.readouterr().out
    done = run("--string", rows["Torino"]["id"], "--as", "CITY")
    assert (done["kind"], done["decided"]) == ("string", 2)
    assert gold() == [(44, "CITY")] * 2


def test_notes_with_gold_are_skipped_unless_they_are_included(runs):
    note = runs.project.documents.last()
    make.make_set(note, make.make_author(runs.project, kind="gold", name="gold"), [(20, 24, "DATE")], submitted=True)
    found = run("rules-1", "--least", 90, "--preview")
    assert (found["open"], found["skipped"], found["skipped_notes"]) == (1, 1, 1)
    assert run("rules-1", "--least", 90, "--with-gold", "--preview")["open"] == 2
    assert run("rules-1", "--least", 90, "--with-gold")["decided"] == 2


def test_a_large_act_runs_as_a_job_to_its_end(runs, monkeypatch, no_redis):
    monkeypatch.setattr(starting, "AT_ONCE", 1)
    done = run("rules-1", "--least", 90)
    assert (done["state"], done["decided"]) == ("done", 2)
    assert run("--undo", done["id"])["state"] == "undone"
    assert list(Job.objects.order_by("pk").values_list("kind", "state")) == [("bulk", "done"), ("bulk_undo", "done")]


def test_what_is_refused(runs):
    assert refused("none", "--least", 90) == "set"
    assert refused("rules-1", "--least", 101) == "invalid"
    assert refused("rules-1", "--agree", 2) == "invalid"
    assert refused("rules-1", "--least", 99) == "none"
    assert refused("--least", 90, "--label", "NONE") == "label"
    for pk in (999_999, 10**20):
        assert refused("--string", pk) == "string"
    assert refused("--string", 1, "--as", "CITY", "--reject") == "options"
    assert refused("--list", "--preview") == "options"
    for name in ("nothing", "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"):
        assert refused("--undo", name) == "bulk"
    for name in ("vic", "ann", "out"):
        assert refused("--least", 90, by=name) == "access"
    assert not BulkAct.objects.exists() and not Decision.objects.exists()
