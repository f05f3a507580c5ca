"""Review: decisions make gold with provenance, can be undone, and are not lost between two reviewers."""

import uuid

import pytest

from annotations.core.errors import ServiceError
from annotations.gold.services.making import freeze
from annotations.models import AnnotationSet, Decision, Event, Review, Role, Span
from annotations.projects.services.labels import merge_labels
from annotations.projects.services.projects import set_guidelines
from annotations.review.events import REVIEW_DECIDED, REVIEW_FINISHED
from annotations.review.selectors.state import review_state
from annotations.review.services import deciding as review
from annotations.review.services import finishing as review_finishing
from annotations.review.services.deciding import Request
from annotations.review.services.effort import effort_between
from annotations.review.services.log import Act
from tests.factories import label_of, make_author, make_member, make_note, make_project, make_set
from tests.held import fresh

pytestmark = pytest.mark.django_db
TEXT = "Mario Rossi, 54 anni, a Torino."


class World:
    def __init__(self):
        self.project = make_project()
        self.rita = make_member(self.project, Role.REVIEWER, "rita")
        self.note = make_note(self.project, TEXT)
        self.run = make_author(self.project, kind="run", name="rules-1")
        self.annotation_set = make_set(self.note, self.run, [(0, 11, "PATIENT"), (24, 30, "HOSPITAL")], submitted=True)
        self.name, self.place = self.annotation_set.spans.all()
        Span.objects.filter(pk=self.name.pk).update(confidence=0.8, source="title")

    def do(self, act, *, user=None, change_id=None, **options):
        request = Request(change_id=change_id or uuid.uuid4(), act=act, **options)
        return review.decide(document=self.note, author=self.run, user=user or self.rita, request=request)

    def label(self, name):
        return label_of(self.project, name).pk

    def gold(self):
        spans = Span.objects.filter(annotation_set__author__kind="gold", annotation_set__document=self.note)
        return [(s.start, s.end, s.label.code) for s in spans.select_related("label")]


@pytest.fixture(scope="module")
def made_world(once):
    return once(World)


@pytest.fixture
def world(made_world, db):
    return fresh(made_world, World)


def test_accepting_makes_gold_with_provenance(world):
    state = world.do(Act.ACCEPT, suggestion=world.name.pk)
    assert world.gold() == [(0, 11, "PATIENT")]
    assert state["open"] == 1
    provenance = Span.objects.get(annotation_set__author__kind="gold").provenance
    assert provenance["from"] == "run:rules-1"
    assert (provenance["confidence"], provenance["source"], provenance["by"]) == (0.8, "title", "rita")
    assert provenance["changed"] == []
    assert provenance["at"]
    assert Event.objects.get(verb=REVIEW_DECIDED).actor == world.rita


def test_a_gold_span_records_the_version_of_the_guidelines(world):
    world.do(Act.ACCEPT, suggestion=world.name.pk)
    set_guidelines(project=world.project, text="Names: whole.", actor=world.rita, seen_version=0)
    world.note.project.refresh_from_db()
    world.do(Act.ADD, bounds=(13, 20, world.label("AGE")), quote="54 anni")
    gold = Span.objects.filter(annotation_set__author__kind="gold").order_by("start")
    assert [span.provenance["guidelines"] for span in gold] == [0, 1]


def test_rejecting_adds_nothing_to_gold(world):
    state = world.do(Act.REJECT, suggestion=world.name.pk)
    assert world.gold() == []
    assert [p["state"] for p in state["suggestions"]] == ["rejected", "open"]


def test_correcting_records_what_was_changed(world):
    bounds = (24, 30, world.label("CITY"))
    world.do(Act.CORRECT, suggestion=world.place.pk, bounds=bounds, quote="Torino")
    assert world.gold() == [(24, 30, "CITY")]
    assert Span.objects.get(annotation_set__author__kind="gold").provenance["changed"] == ["label"]
    world.do(Act.CORRECT, suggestion=world.name.pk, bounds=(6, 11, world.label("PATIENT")), quote="Rossi")
    provenance = Span.objects.get(annotation_set__author__kind="gold", start=6).provenance
    assert provenance["changed"] == ["bounds"]


def test_a_missed_span_is_added_and_removed(world):
    bounds = (13, 20, world.label("AGE"))
    world.do(Act.ADD, bounds=bounds, quote="54 anni")
    assert world.gold() == [(13, 20, "AGE")]
    assert Span.objects.get(annotation_set__author__kind="gold").provenance["from"] == "reviewer:rita"
    world.do(Act.REMOVE, bounds=bounds)
    assert world.gold() == []


def test_undo_and_redo_without_limit(world):
    world.do(Act.ACCEPT, suggestion=world.name.pk)
    world.do(Act.CORRECT, suggestion=world.place.pk, bounds=(24, 30, world.label("CITY")), quote="Torino")
    world.do(Act.REJECT, suggestion=world.place.pk)
    seen = [world.gold()]
    for _ in range(3):
        world.do(Act.UNDO)
        seen.append(world.gold())
    assert seen == [
        [(0, 11, "PATIENT")],
        [(0, 11, "PATIENT"), (24, 30, "CITY")],
        [(0, 11, "PATIENT")],
        [],
    ]
    assert review_state(document=world.note, author=world.run)["open"] == 2
    with pytest.raises(ServiceError, match="nothing to undo"):
        world.do(Act.UNDO)
    for _ in range(3):
        world.do(Act.REDO)
    assert world.gold() == seen[0]
    with pytest.raises(ServiceError, match="nothing to redo"):
        world.do(Act.REDO)


def test_undo_restores_the_provenance(world):
    world.do(Act.ACCEPT, suggestion=world.name.pk)
    before = Span.objects.get(annotation_set__author__kind="gold").provenance
    world.do(Act.REJECT, suggestion=world.name.pk)
    world.do(Act.UNDO)
    assert Span.objects.get(annotation_set__author__kind="gold").provenance == before


def test_the_same_change_twice_is_one_decision(world):
    change = uuid.uuid4()
    for _ in range(2):
        world.do(Act.ACCEPT, suggestion=world.name.pk, change_id=change)
    assert Event.objects.filter(verb=REVIEW_DECIDED).count() == 1
    assert world.gold() == [(0, 11, "PATIENT")]


def test_undo_does_not_revert_another_person_s_later_decision(world):
    other = make_member(world.project, Role.REVIEWER)
    world.do(Act.ACCEPT, suggestion=world.name.pk)
    world.do(Act.REJECT, suggestion=world.name.pk, user=other)
    with pytest.raises(ServiceError, match="Later decisions changed this span"):
        world.do(Act.UNDO)
    assert Decision.objects.get().reviewer == other


def test_a_suggestion_of_another_note_or_author_is_refused(world):
    elsewhere = make_set(make_note(world.project, "x"), world.run, [(0, 1, "DATE")], submitted=True).spans.get()
    anna = make_set(world.note, make_member(world.project), [(0, 5, "PATIENT")], submitted=True).spans.get()
    for span in (elsewhere, anna):
        with pytest.raises(ServiceError, match="does not belong"):
            world.do(Act.ACCEPT, suggestion=span.pk)


def test_a_suggestion_that_is_already_in_gold_needs_no_decision(world):
    make_set(world.note, make_author(world.project, kind="gold", name="gold"), [(0, 11, "PATIENT")], submitted=True)
    state = review_state(document=world.note, author=world.run)
    assert [p["state"] for p in state["suggestions"]] == ["accepted", "open"]
    world.do(Act.REJECT, suggestion=world.name.pk)
    assert world.gold() == []
    world.do(Act.UNDO)
    assert world.gold() == [(0, 11, "PATIENT")]


def test_two_suggestions_may_share_one_gold_span(world):
    other = make_set(
        world.note, make_author(world.project, kind="run", name="r2"), [(0, 11, "PATIENT")], submitted=True
    )
    world.do(Act.ACCEPT, suggestion=world.name.pk)
    second = Request(change_id=uuid.uuid4(), act=Act.ACCEPT, suggestion=other.spans.get().pk)
    review.decide(document=world.note, author=other.author, user=world.rita, request=second)
    assert world.gold() == [(0, 11, "PATIENT")]
    world.do(Act.UNDO)
    assert world.gold() == [(0, 11, "PATIENT")], "the other acceptance needs it"
    world.do(Act.REDO)
    world.do(Act.UNDO)
    with pytest.raises(ServiceError, match="as a suggestion of r2"):
        world.do(Act.REJECT, suggestion=world.name.pk)
    assert world.gold() == [(0, 11, "PATIENT")]


def test_a_note_is_finished_when_nothing_is_open_and_then_counts(world):
    with pytest.raises(ServiceError, match="2 suggestions are still open"):
        review_finishing.finish_review(document=world.note, author=world.run, user=world.rita)
    with pytest.raises(ServiceError, match="no gold to freeze"):
        world.do(Act.ACCEPT, suggestion=world.name.pk)
        freeze(project=world.project, actor=None)
    world.do(Act.REJECT, suggestion=world.place.pk)
    for _ in range(2):
        review_finishing.finish_review(document=world.note, author=world.run, user=world.rita)
    assert Event.objects.filter(verb=REVIEW_FINISHED).count() == 1
    assert freeze(project=world.project, actor=None)[0].span_count == 1
    with pytest.raises(ServiceError, match="is finished"):
        world.do(Act.UNDO)
    review_finishing.reopen_review(document=world.note, author=world.run, user=world.rita)
    world.do(Act.UNDO)
    assert review_state(document=world.note, author=world.run)["open"] == 1


def test_a_reviewed_note_without_spans_is_recorded(world):
    for suggestion in (world.name, world.place):
        world.do(Act.REJECT, suggestion=suggestion.pk)
    review_finishing.finish_review(document=world.note, author=world.run, user=world.rita)
    assert Review.objects.get().found_empty
    gold = AnnotationSet.objects.get(author__kind="gold")
    assert (gold.state, gold.spans.count()) == (AnnotationSet.State.SUBMITTED, 0)


def test_merging_labels_changes_decisions_too(world):
    world.do(Act.ACCEPT, suggestion=world.place.pk)
    merge_labels(source=label_of(world.project, "HOSPITAL"), target=label_of(world.project, "CITY"), actor=None)
    world.do(Act.REJECT, suggestion=world.place.pk)
    assert world.gold() == []


def test_gold_that_was_accepted_from_another_run_is_not_removed(world):
    other = make_set(world.note, make_author(world.project, kind="run", name="r2"), [(24, 30, "CITY")], submitted=True)
    second = Request(change_id=uuid.uuid4(), act=Act.ACCEPT, suggestion=other.spans.get().pk)
    review.decide(document=world.note, author=other.author, user=world.rita, request=second)
    with pytest.raises(ServiceError, match="rita accepted this span as a suggestion of r2") as refused:
        world.do(Act.REMOVE, bounds=(24, 30, world.label("CITY")))
    assert refused.value.code == "elsewhere"
    assert world.gold() == [(24, 30, "CITY")]


def test_an_unseen_decision_of_another_person_is_not_overwritten(world):
    other = make_member(world.project, Role.REVIEWER, "rosa")
    world.do(Act.ACCEPT, suggestion=world.name.pk)
    with pytest.raises(ServiceError, match="rita accepted this suggestion meanwhile"):
        world.do(Act.REJECT, suggestion=world.name.pk, user=other, seen=("open", None))
    moved = (0, 11, world.label("DOCTOR"))
    world.do(Act.CORRECT, suggestion=world.name.pk, bounds=moved, quote="Mario Rossi")
    with pytest.raises(ServiceError, match="meanwhile"):
        seen = ("accepted", (0, 11, world.label("PATIENT")))
        world.do(Act.REJECT, suggestion=world.name.pk, user=other, seen=seen)
    world.do(Act.REJECT, suggestion=world.name.pk, user=other, seen=("accepted", moved))
    assert world.gold() == []


def test_an_act_that_changes_nothing_is_not_recorded(world):
    world.do(Act.ACCEPT, suggestion=world.name.pk)
    world.do(Act.ADD, bounds=(13, 20, world.label("AGE")), quote="54 anni")
    for _ in range(2):
        world.do(Act.ACCEPT, suggestion=world.name.pk)
        world.do(Act.ADD, bounds=(13, 20, world.label("AGE")), quote="54 anni")
    assert Event.objects.filter(verb=REVIEW_DECIDED).count() == 2
    world.do(Act.UNDO)
    assert world.gold() == [(0, 11, "PATIENT")]


# ── Finishing that accepts the rest ──────────────────────────────────────────────────────────────────────────────────


def test_finishing_accepts_the_open_suggestions_as_one_act(world):
    world.do(Act.REJECT, suggestion=world.place.pk)
    for _ in range(2):
        options = {"document": world.note, "author": world.run, "user": world.rita, "rest": {world.name.pk}}
        assert review_finishing.finish_review(**options).finished_by == world.rita
    assert world.gold() == [(0, 11, "PATIENT")]
    decision = Decision.objects.get(suggestion=world.name)
    assert (decision.verdict, decision.reviewer, decision.cause) == ("accepted", world.rita, None)
    assert Event.objects.get(verb=REVIEW_DECIDED, data__act="accept").data["rest"] is True
    assert Event.objects.get(verb=REVIEW_FINISHED).data["accepted"] == 1
    effort = effort_between(world.project, 0, None)
    assert (effort.acts, effort.notes, effort.spans) == (2, 1, 1), "a rejection, and one act for all the rest"
    review_finishing.reopen_review(document=world.note, author=world.run, user=world.rita)
    assert world.do(Act.UNDO)["open"] == 1, "it can be undone like any other decision"


def test_finishing_with_the_rest_overwrites_nobody_and_accepts_nothing_unseen(world):
    rosa = make_member(world.project, Role.REVIEWER, "rosa")
    world.do(Act.REJECT, suggestion=world.name.pk, user=rosa)
    with pytest.raises(ServiceError, match="1 suggestion is still open"):
        # The page showed only the name as open; the other suggestion is open as well.
        review_finishing.finish_review(document=world.note, author=world.run, user=world.rita, rest={world.name.pk})
    assert not Decision.objects.filter(reviewer=world.rita).exists()
    review_finishing.finish_review(
        document=world.note, author=world.run, user=world.rita, rest={world.name.pk, world.place.pk, 10**9}
    )
    assert world.gold() == [(24, 30, "HOSPITAL")]
    assert Decision.objects.get(suggestion=world.name).reviewer == rosa
