"""The command that decides many suggestions at once: by rule and by string, its preview, its undo."""

from annotations.models import BulkAct, Decision, Event, Span
from tests import factories as make
from tests.held import made_once
from tests.worlds.commands import answered
from tests.worlds.pages import TEXT, make_world
from tests.worlds.queue import no_redis

__all__ = ["no_redis"]


def run(*words, by="rev"):
    return answered("review_bulk", "covid", *words, "--by", by)


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


made, runs = made_once(make_runs)


def gold():
    spans = Span.objects.filter(annotation_set__author__kind="gold").order_by("annotation_set", "start")
    return [(span.start, span.label.code) for span in spans]


def test_suggestions_are_counted_accepted_and_undone(runs):
    assert run("--agree", 2, "--label", "PATIENT", "--preview")["preview"]["open"] == 4
    assert run("--least", 0, "--source", "place", "--preview")["preview"]["open"] == 2
    found = run("rules-1", "--least", 90, "--preview")
    assert (found["state"], found["preview"]["decided"], found["preview"]["skipped"]) == ("planned", 2, 0)
    assert not BulkAct.objects.exists()
    done = run("rules-1", "--least", 90)
    assert (done["state"], done["act"], done["user"], done["decided"]) == ("done", "accept", "rev", 2)
    assert gold() == [(0, "PATIENT")] * 2
    assert run("--list")["acts"] == [done]
    undone = run("--undo", done["id"])
    assert (undone["state"], undone["undone"], undone["kept"]) == ("undone", 2, 0)
    assert not gold() and not Decision.objects.exists()
    assert [event.actor for event in Event.objects.filter(verb__startswith="review.bulk")] == [runs.rev] * 2


def test_the_suggestions_of_a_string(runs):
    rows = {row["text"]: row for row in run("--strings")["strings"]}
    assert (rows["Torino"]["label"], rows["Torino"]["open"]) == ("HOSPITAL", 2)
    assert [row["text"] for row in run("--strings", "--label", "PATIENT")["strings"]] == ["Mario Rossi"]

    done = run("--string", rows["Torino"]["id"], "--as", "CITY")
    assert (done["rule"]["kind"], done["decided"]) == ("string", 2)
    assert gold() == [(44, "CITY")] * 2


def test_what_is_refused(runs):
    assert run("none", "--least", 90) == "set"
    assert run("rules-1", "--least", 101) == "invalid"
    assert run("rules-1", "--agree", 2) == "invalid"
    assert run("rules-1", "--least", 99) == "none"
    assert run("--least", 90, "--label", "NONE") == "label"
    for pk in (999_999, 10**20):
        assert run("--string", pk) == "string"
    assert run("--string", 1, "--as", "CITY", "--reject") == "options"
    assert run("--list", "--preview") == "options"
    for name in ("nothing", "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"):
        assert run("--undo", name) == "bulk"
    for name in ("vic", "ann", "out"):
        assert run("--least", 90, by=name) == "access"
    assert not BulkAct.objects.exists() and not Decision.objects.exists()
