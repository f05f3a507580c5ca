"""Batches of decisions: each has its own outcome, and the answer may be the part of the state that has changed."""

import uuid

import pytest

from annotations.models import Decision, Event
from annotations.review.events import REVIEW_DECIDED
from tests import factories as make
from tests.worlds.reviewing import gold_of, send, suggested_world, url

SPANS = [(0, 5, "PATIENT"), (6, 11, "PATIENT"), (13, 20, "AGE"), (44, 50, "HOSPITAL")]


@pytest.fixture
def world(db):
    world = suggested_world(1, rules_1=SPANS)
    [world.note] = world.notes
    world.ids = list(world.spans.order_by("start").values_list("pk", flat=True))
    return world


def change(act="accept", at=None, world=None, **more):
    named = {} if at is None else {"suggestion": world.ids[at], "seen": ["open"]}
    return {"act": act, "change_id": str(uuid.uuid4())} | named | more


def batch(world, changes, client=None, user=None, **more):
    data = {"person": (user or world.rev).pk, "changes": changes, "version": 0} | more
    return send(client or world.client, url(world, "review_decide"), data)


def refused(answer):
    return [outcome and outcome["error"] for outcome in answer.json["outcomes"]]


def test_decisions_of_a_batch_are_made_in_order_and_sent_again_once(world, django_assert_max_num_queries):
    label = world.labels["CITY"]
    moved = {"start": 44, "end": 48, "label": label, "quote": world.note.text[44:48]}
    changes = [
        change(at=0, world=world), change("reject", at=1, world=world), change("correct", at=3, world=world, **moved),
        change("reject", at=0, world=world, seen=["accepted", 0, 5, world.labels["PATIENT"]]),
        change("add", start=21, end=25, label=label, quote=world.note.text[21:25]), change("undo"),
    ]  # fmt: skip
    answer = batch(world, changes)
    assert (answer.status, refused(answer), answer.json["steps"]) == (200, [None] * 6, 6)
    assert [one["state"] for one in answer.json["suggestions"]] == ["rejected", "rejected", "open", "accepted"]
    assert gold_of(world.note) == [(44, 48, "CITY")]
    events = Event.objects.filter(document_id=world.note.pk, change_id__isnull=False).count()
    again = batch(world, changes)
    assert (again.json["steps"], again.json["version"], "part" in again.json) == (6, 6, False)
    assert Event.objects.filter(document_id=world.note.pk, change_id__isnull=False).count() == events == 6
    with django_assert_max_num_queries(45):
        batch(world, [change(at=at, world=world) for at in range(4)])


def test_only_the_changed_part_is_answered_unless_something_else_has_changed(world):
    answer = batch(world, [change(at=1, world=world)])
    assert answer.json["part"] == [6, 11]
    assert [one["id"] for one in answer.json["suggestions"]] == [world.ids[1]]
    assert [(span["start"], span["end"]) for span in answer.json["gold"]] == [(6, 11)]
    answer = batch(world, [change(at=2, world=world)])
    assert "part" not in answer.json and len(answer.json["suggestions"]) == 4
    answer = batch(world, [change("undo")], version=2)
    assert answer.json["part"] == [13, 20] and answer.json["suggestions"][0]["state"] == "open"


def test_a_refused_decision_leaves_the_others(world, sign_in):
    other = make.make_member(world.project, "reviewer", "rosa")
    batch(world, [change(at=1, world=world)], client=sign_in(other), user=other)
    changes = [
        change(at=0, world=world), change("reject", at=1, world=world), change("dance"), change(at=2, world=world),
        change(suggestion=0, seen=["open"]), change("redo"),
        change("correct", at=3, world=world, start=44, end=50, label=0, quote="x"),
    ]  # fmt: skip
    answer = batch(world, changes, version=1)
    assert refused(answer) == [None, "moved", "malformed", None, "suggestion", "nothing", "label"]
    assert "rosa decided on this" in answer.json["outcomes"][1]["message"]
    assert answer.json["steps"] == 2
    assert set(Decision.objects.values_list("suggestion", flat=True)) == set(world.ids[:3])
    assert Event.objects.filter(verb=REVIEW_DECIDED).count() == 3


def test_more_spans_than_a_note_holds_are_refused_one_by_one(world, monkeypatch):
    monkeypatch.setattr("annotations.core.spans.MOST_SPANS", 2)
    answer = batch(world, [change(at=at, world=world) for at in range(4)])
    assert refused(answer) == [None, None, "room", "room"]
    assert len(gold_of(world.note)) == 2 and answer.json["version"] == 2


@pytest.mark.parametrize("changes", [None, [], {}, ["accept"], [change()] * 501])
def test_a_malformed_batch_is_refused(world, changes):
    answer = batch(world, changes)
    assert (answer.status, answer.json["error"]) == (400, "malformed")


def test_a_finished_review_takes_no_batch(world):
    batch(world, [change("reject", at=at, world=world) for at in range(4)])
    assert send(world.client, url(world, "review_finish"), {"person": world.rev.pk}).status == 200
    answer = batch(world, [change(at=0, world=world)])
    assert (answer.status, answer.json["error"]) == (409, "finished")
