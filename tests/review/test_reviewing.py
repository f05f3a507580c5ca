"""Review: decisions make gold with provenance, can be undone, and are not lost between two reviewers."""

import uuid

import pytest

from annotations.core.services import ServiceError
from annotations.gold.services.making import freeze
from annotations.models import Decision, Event, Role, Span
from annotations.projects.services.labels import merge_labels
from annotations.projects.services.projects import set_guidelines
from annotations.review.events import REVIEW_DECIDED, REVIEW_FINISHED
from annotations.review.selectors.state import review_state
from annotations.review.services.finishing import reopen_review
from annotations.review.services.log import Act, effort_between
from tests.factories import label_of, make_author, make_member, make_note, make_project, make_set
from tests.held import made_once
from tests.worlds.reviewing import Reviews, gold_of, review

TEXT = "Mario Rossi, 54 anni, a Torino."


class World(Reviews):
    def __init__(self):
        self.project = make_project()
        self.rita = make_member(self.project, Role.REVIEWER, "rita")
        self.note = make_note(self.project, TEXT)
        self.run = make_author(self.project, kind="run", name="rules-1")
        self.annotation_set = make_set(self.note, self.run, [(0, 11, "PATIENT"), (24, 30, "HOSPITAL")], submitted=True)
        self.name, self.place = self.annotation_set.spans.all()
        Span.objects.filter(pk=self.name.pk).update(confidence=0.8, source="title")

    def decide(self, act, *, user=None, **options):
        return review(self.note, self.run, user or self.rita, act, **options)

    def accept(self):
        return self.decide(Act.ACCEPT, suggestion=self.name.pk)

    def label(self, name):
        return label_of(self.project, name).pk

    def gold(self):
        return gold_of(self.note)

    def provenance(self, start=0):
        return Span.objects.get(annotation_set__author__kind="gold", start=start).provenance


made, world = made_once(World)


def test_accepting_makes_gold_with_provenance(world):
    """A decision that is sent twice is one, and undoing a later decision restores the provenance."""
    change = uuid.uuid4()
    for _ in range(2):
        state = world.decide(Act.ACCEPT, suggestion=world.name.pk, change_id=change)
    assert (world.gold(), state["open"]) == ([(0, 11, "PATIENT")], 1)
    assert Event.objects.get(verb=REVIEW_DECIDED).actor == world.rita
    made = world.provenance()
    assert (made["from"], made["confidence"], made["source"], made["by"]) == ("run:rules-1", 0.8, "title", "rita")
    assert made["changed"] == [] and made["at"]
    state = world.decide(Act.REJECT, suggestion=world.name.pk)
    assert world.gold() == [] and [p["state"] for p in state["suggestions"]] == ["rejected", "open"]
    world.decide(Act.UNDO)
    assert world.provenance() == made


def test_a_gold_span_records_the_version_of_the_guidelines(world):
    world.accept()
    set_guidelines(project=world.project, text="Names: whole.", actor=world.rita, seen_version=0)
    world.note.project.refresh_from_db()
    world.decide(Act.ADD, bounds=(13, 20, world.label("AGE")), quote="54 anni")
    assert [world.provenance(start)["guidelines"] for start in (0, 13)] == [0, 1]


def test_correcting_records_what_was_changed(world):
    bounds = (24, 30, world.label("CITY"))
    world.decide(Act.CORRECT, suggestion=world.place.pk, bounds=bounds, quote="Torino")
    assert world.gold() == [(24, 30, "CITY")] and world.provenance(24)["changed"] == ["label"]
    world.decide(Act.CORRECT, suggestion=world.name.pk, bounds=(6, 11, world.label("PATIENT")), quote="Rossi")
    assert world.provenance(6)["changed"] == ["bounds"]


def test_undo_and_redo_without_limit(world):
    world.accept()
    world.decide(Act.CORRECT, suggestion=world.place.pk, bounds=(24, 30, world.label("CITY")), quote="Torino")
    world.decide(Act.REJECT, suggestion=world.place.pk)
    seen = [world.gold()]
    for _ in range(3):
        world.decide(Act.UNDO)
        seen.append(world.gold())
    assert seen == [[(0, 11, "PATIENT")], [(0, 11, "PATIENT"), (24, 30, "CITY")], [(0, 11, "PATIENT")], []]
    assert review_state(document=world.note, author=world.run)["open"] == 2
    with pytest.raises(ServiceError, match="nothing to undo"):
        world.decide(Act.UNDO)
    for _ in range(3):
        world.decide(Act.REDO)
    assert world.gold() == seen[0]
    with pytest.raises(ServiceError, match="nothing to redo"):
        world.decide(Act.REDO)


def test_a_suggestion_that_is_already_in_gold_needs_no_decision(world):
    make_set(world.note, make_author(world.project, kind="gold", name="gold"), [(0, 11, "PATIENT")], submitted=True)
    state = review_state(document=world.note, author=world.run)
    assert [p["state"] for p in state["suggestions"]] == ["accepted", "open"]
    world.decide(Act.REJECT, suggestion=world.name.pk)
    assert world.gold() == []
    world.decide(Act.UNDO)
    assert world.gold() == [(0, 11, "PATIENT")]


def accept_of_another_run(world, *span):
    other = make_author(world.project, kind="run", name="r2")
    make_set(world.note, other, [span], submitted=True)
    review(world.note, other, world.rita, Act.ACCEPT, Span.objects.get(annotation_set__author=other))


def test_two_suggestions_may_share_one_gold_span(world):
    world.accept()
    accept_of_another_run(world, 0, 11, "PATIENT")
    assert world.gold() == [(0, 11, "PATIENT")]
    world.decide(Act.UNDO)
    assert world.gold() == [(0, 11, "PATIENT")], "the other acceptance needs it"
    world.decide(Act.REDO)
    world.decide(Act.UNDO)
    assert world.refused(Act.REJECT, suggestion=world.name.pk) == "elsewhere"
    assert world.gold() == [(0, 11, "PATIENT")]


def test_a_note_is_finished_when_nothing_is_open_and_then_counts(world):
    with pytest.raises(ServiceError, match="2 suggestions are still open"):
        world.finish()
    world.accept()
    with pytest.raises(ServiceError, match="no gold to freeze"):
        freeze(project=world.project, actor=None)
    world.decide(Act.REJECT, suggestion=world.place.pk)
    for _ in range(2):
        world.finish()
    assert Event.objects.filter(verb=REVIEW_FINISHED).count() == 1
    assert freeze(project=world.project, actor=None)[0].span_count == 1
    assert world.refused(Act.UNDO) == "finished"
    reopen_review(document=world.note, author=world.run, user=world.rita)
    world.decide(Act.UNDO)
    assert review_state(document=world.note, author=world.run)["open"] == 1


def test_merging_labels_changes_decisions_too(world):
    world.decide(Act.ACCEPT, suggestion=world.place.pk)
    merge_labels(source=label_of(world.project, "HOSPITAL"), target=label_of(world.project, "CITY"), actor=None)
    world.decide(Act.REJECT, suggestion=world.place.pk)
    assert world.gold() == []


def test_gold_that_was_accepted_from_another_run_is_not_removed(world):
    accept_of_another_run(world, 24, 30, "CITY")
    assert world.refused(Act.REMOVE, bounds=(24, 30, world.label("CITY"))) == "elsewhere"
    assert world.gold() == [(24, 30, "CITY")]


def test_an_unseen_decision_of_another_person_is_not_overwritten(world):
    """Nor is a later decision reverted by undo."""
    other = make_member(world.project, Role.REVIEWER, "rosa")
    reject = {"act": Act.REJECT, "suggestion": world.name.pk, "user": other}
    world.accept()
    with pytest.raises(ServiceError, match="rita decided on this meanwhile"):
        world.decide(**reject, seen=("open", None))
    moved = (0, 11, world.label("DOCTOR"))
    world.decide(Act.CORRECT, suggestion=world.name.pk, bounds=moved, quote="Mario Rossi")
    with pytest.raises(ServiceError, match="meanwhile"):
        world.decide(**reject, seen=("accepted", (0, 11, world.label("PATIENT"))))
    world.decide(**reject, seen=("accepted", moved))
    assert world.gold() == []
    assert world.refused(Act.UNDO) == "moved"
    assert Decision.objects.get().reviewer == other


def test_an_act_that_changes_nothing_is_not_recorded(world):
    for _ in range(3):
        world.accept()
        world.decide(Act.ADD, bounds=(13, 20, world.label("AGE")), quote="54 anni")
    assert Event.objects.filter(verb=REVIEW_DECIDED).count() == 2
    world.decide(Act.UNDO)
    assert world.gold() == [(0, 11, "PATIENT")]


# ── Finishing that accepts the rest ──────────────────────────────────────────────────────────────────────────────────


def test_finishing_accepts_the_open_suggestions_as_one_act(world):
    world.decide(Act.REJECT, suggestion=world.place.pk)
    for _ in range(2):
        assert world.finish(rest={world.name.pk}).finished_by == world.rita
    assert world.gold() == [(0, 11, "PATIENT")]
    decision = Decision.objects.get(suggestion=world.name)
    assert (decision.verdict, decision.reviewer, decision.cause) == ("accepted", world.rita, None)
    assert Event.objects.get(verb=REVIEW_DECIDED, data__act="accept").data["rest"] is True
    assert Event.objects.get(verb=REVIEW_FINISHED).data["accepted"] == 1
    effort = effort_between(world.project, 0, None)
    assert (effort.acts, effort.notes, effort.spans) == (2, 1, 1), "a rejection, and one act for all the rest"
    reopen_review(document=world.note, author=world.run, user=world.rita)
    assert world.decide(Act.UNDO)["open"] == 1, "it can be undone like any other decision"


def test_finishing_with_the_rest_overwrites_nobody_and_accepts_nothing_unseen(world):
    rosa = make_member(world.project, Role.REVIEWER, "rosa")
    world.decide(Act.REJECT, suggestion=world.name.pk, user=rosa)
    with pytest.raises(ServiceError, match="1 suggestion is still open"):
        # The page showed only the name as open; the other suggestion is open as well.
        world.finish(rest={world.name.pk})
    assert not Decision.objects.filter(reviewer=world.rita).exists()
    world.finish(rest={world.name.pk, world.place.pk, 10**9})
    assert world.gold() == [(24, 30, "HOSPITAL")]
    assert Decision.objects.get(suggestion=world.name).reviewer == rosa
