"""Planted leaks: what is hidden and from whom, what the close shows, and that nothing is accepted unseen or lost."""

import uuid

import pytest

from annotations.core.errors import ServiceError
from annotations.core.gold_sets import gold_sets
from annotations.gold.services.making import make_gold
from annotations.models import (
    AnnotationSet,
    BulkAct,
    Decision,
    Event,
    PlantedLeak,
    ProposedString,
    Review,
    Role,
    Span,
    Verb,
)
from annotations.models.project import SecondReview
from annotations.ops.services.erasing import erase_patient
from annotations.projects.services.projects import update_project
from annotations.review.selectors.bulk_rules import Rule, open_of
from annotations.review.selectors.decision_log import decisions
from annotations.review.selectors.known import known_among
from annotations.review.selectors.leaks_found import measured_by, together, unproposed
from annotations.review.selectors.misses import hints_of
from annotations.review.selectors.occurrences import occurrences
from annotations.review.selectors.ordering import Queue
from annotations.review.selectors.proposed_strings import spans_of, strings
from annotations.review.selectors.state import review_state
from annotations.review.services import deciding as review
from annotations.review.services.bulk import at_once, begin_bulk, plan_bulk, run_bulk
from annotations.review.services.bulk_batches import decide_batch
from annotations.review.services.closing import close_review, reopen_review
from annotations.review.services.deciding import Request
from annotations.review.services.effort import effort_between
from annotations.review.services.log import Act
from annotations.review.services.planting import draw_leaks
from annotations.review.services.queue import next_in_queue
from tests.factories import label_of, make_author, make_member, make_note, make_project, make_set

TEXT = "Mario Rossi, 54 anni, a Torino dal dott. Bianchi."
PROPOSED = [(0, 11, "PATIENT"), (24, 30, "CITY"), (41, 48, "DOCTOR")]
NAME, CITY, DOCTOR = (start for start, _, _ in PROPOSED)


class World:
    """Two runs that say the same of each note. What is drawn is always the first of the candidates."""

    def __init__(self, **options):
        self.project = make_project("covid", **{"planted_share": 10} | options)
        self.rita, self.rosa = (make_member(self.project, Role.REVIEWER, name) for name in ("rita", "rosa"))
        self.run, self.other = (make_author(self.project, kind="run", name=n) for n in ("rules-1", "crf-1"))
        self.notes = [make_note(self.project, TEXT, patient_id=f"p{n}") for n in range(3)]
        for note in self.notes:
            for run in (self.run, self.other):
                make_set(note, run, PROPOSED, submitted=True)
        Span.objects.update(confidence=0.9)
        self.note = self.notes[0]

    def proposal(self, start, note=None, run=None):
        reading = AnnotationSet.objects.get(document=note or self.note, author=run or self.run)
        return reading.spans.get(start=start)

    def open(self, note=None, run=None):
        draw_leaks(document=note or self.note, author=run or self.run, project=self.project)
        return self

    def decide(self, user, act, start=None, note=None, **options):
        proposal = None if start is None else self.proposal(start, note).pk
        request = Request(change_id=uuid.uuid4(), act=act, proposal=proposal, **options)
        return review.decide(document=note or self.note, author=self.run, user=user, request=request)

    def mark(self, user, start, end, label, note=None):
        place = start, end, label_of(self.project, label).pk
        return self.decide(user, Act.ADD, note=note, place=place, quote=TEXT[start:end])

    def close(self, user, note=None, **options):
        return close_review(document=note or self.note, author=self.run, user=user, **options)

    def state(self, user=None, note=None):
        return review_state(document=note or self.note, author=self.run, user=user or self.rita)

    def shown(self, user=None, note=None):
        return {p["start"]: (p["state"], p.get("planted")) for p in self.state(user, note)["proposals"]}

    def rest(self, note=None):
        return [p["id"] for p in self.state(note=note)["proposals"] if p["state"] == "open"]

    def reading(self, user, *, marks=(), note=None):
        """Open the note, accept what is shown, mark, close."""
        self.open(note)
        for mark in marks:
            self.mark(user, *mark, note=note)
        return self.close(user, note, rest=self.rest(note))

    @property
    def gold(self):
        spans = Span.objects.filter(annotation_set__document=self.note, annotation_set__author__kind="gold")
        return sorted(spans.values_list("start", "end", "label__name"))

    def check(self):
        """The counts by string are those of what people may see."""
        for row in ProposedString.objects.all():
            spans = Span.objects.filter(
                annotation_set__author=row.author_id, string_key=row.string_key, label=row.label_id
            ).exclude(planted__result="")
            assert (row.count, row.open) == (spans.count(), spans.filter(decision__isnull=True).count())


@pytest.fixture
def first_drawn(db, monkeypatch):
    monkeypatch.setattr("annotations.domain.planting.chance", lambda *about: 0.0)


@pytest.fixture
def world(first_drawn):
    return World()


# ── What is drawn ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_note_is_drawn_once_and_what_is_drawn_stays(world):
    world.open().open()
    (planted,) = PlantedLeak.objects.all()
    assert (planted.proposal_id, planted.known, planted.result) == (world.proposal(NAME).pk, "runs", "")
    assert Review.objects.get().planted_share == 10
    assert world.shown() == {CITY: ("open", None), DOCTOR: ("open", None)}
    assert not Event.objects.filter(verb=Verb.REVIEW_REVEALED).exists(), "the log gives nothing away"
    assert list(decisions(world.project)) == []
    world.check()


def test_a_change_of_the_option_holds_for_notes_not_yet_opened(world):
    seen, begun, new = world.notes
    world.project.planted_share = 0
    world.open(seen)
    Event.objects.create(
        verb=Verb.NOTE_READ, actor=world.rita, document_id=seen.pk, project_id=world.project.pk,
        data={"run": world.run.pk},
    )  # fmt: skip
    world.decide(world.rita, Act.ACCEPT, CITY, begun)
    assert not Review.objects.filter(document=seen).exists(), "off it costs nothing"
    world.project.planted_share = 20
    for note in world.notes:
        world.open(note)
    assert {one.review.document_id for one in PlantedLeak.objects.all()} == {new.pk}
    assert sorted(Review.objects.values_list("planted_share", flat=True)) == [0, 0, 20]
    world.project.planted_share = 0
    assert world.shown(note=new) == {CITY: ("open", None), DOCTOR: ("open", None)}, "hidden until it is closed"


def test_known_is_what_people_accepted_elsewhere_or_most_runs_say(world):
    def known(note=None):
        note = note or world.note
        spans = list(Span.objects.filter(annotation_set__document=note, annotation_set__author=world.run))
        found = known_among(spans, note)
        return {span.start: found[span.pk] for span in spans if span.pk in found}

    assert known() == dict.fromkeys((NAME, CITY, DOCTOR), "runs")
    # A second run of the same backend says nothing new.
    world.other.name = "rules-2"
    world.other.save()
    assert known() == {}
    make_set(world.note, make_author(world.project, kind="run", name="llm-1"), PROPOSED[:1], submitted=True)
    assert known() == {NAME: "runs"}
    make_set(world.note, make_author(world.project, kind="run", name="spacy-1"), [], submitted=True)
    assert known() == {NAME: "runs"}
    make_set(world.note, make_author(world.project, kind="run", name="ner-1"), [], submitted=True)
    assert known() == {}, "two of four are no majority"
    world.decide(world.rita, Act.ACCEPT, NAME, world.notes[1])
    world.decide(world.rita, Act.ACCEPT, CITY, world.notes[1])
    world.decide(world.rita, Act.REJECT, CITY, world.notes[2])
    assert known() == {NAME: "people"}, "the city was once rejected"
    assert known(world.notes[1]) == {}, "in the note itself it tells nothing"
    world.decide(
        world.rita, Act.CORRECT, NAME, world.notes[2], place=(6, 11, world.proposal(NAME).label_id), quote="Rossi"
    )
    assert known() == {}


def test_what_gold_or_a_decision_has_already_is_not_planted(world):
    make_set(world.note, make_author(world.project, kind="gold", name="gold"), [(0, 5, "PATIENT")])
    act = BulkAct.objects.create(project=world.project, user=world.rita, act="accept", state="done")
    review_of = Review.objects.create(document=world.note, author=world.run)
    Decision.objects.create(
        proposal=world.proposal(CITY), review=review_of, verdict="rejected", reviewer=world.rita, cause=act
    )
    world.open()
    assert PlantedLeak.objects.get().proposal_id == world.proposal(DOCTOR).pk


# ── Nothing betrays it ───────────────────────────────────────────────────────────────────────────────────────────────


def test_lists_counts_hints_and_bulk_acts_leave_it_alone(world):
    world.open()
    hidden = world.proposal(NAME)
    rule = Rule("string", [world.run.pk], string=hidden.string_key, label=hidden.label_id)
    assert open_of(rule, world.project, world.rosa).count() == 2
    string = ProposedString.objects.get(author=world.run, label_id=hidden.label_id)
    shown = occurrences(spans_of(string, [world.run.pk]), world.project.pk, world.rosa)
    assert [one.note for one in shown] == [note.pk for note in world.notes[1:]]
    (row,) = strings([world.run.pk], label=hidden.label_id).rows
    assert (row.count, row.open) == (2, 2)
    assert not [hint for hint in hints_of(world.note, world.run) if hint["start"] == NAME]
    assert len(hints_of(world.notes[1], world.run)) == 3
    # The other run's review of the note has it: it is hidden in this one alone.
    assert len(review_state(document=world.note, author=world.other)["proposals"]) == 3
    sure, agreed = Rule("threshold", [world.run.pk], least=0.5), Rule("agreed", [world.run.pk, world.other.pk])
    for each in (rule, sure):
        bulk = plan_bulk(project=world.project, user=world.rosa, rule=each, act=BulkAct.Act.ACCEPT)
        begin_bulk(bulk=bulk, user=world.rosa)
        at_once(bulk, run_bulk)
    with pytest.raises(ServiceError) as error:
        plan_bulk(project=world.project, user=world.rosa, rule=agreed, act=BulkAct.Act.ACCEPT)
    assert error.value.code == "none", "what is hidden of one run makes no two"
    assert not Decision.objects.filter(proposal=hidden).exists()
    assert Decision.objects.filter(proposal__annotation_set__author=world.run).count() == 8
    world.check()


def test_how_many_runs_agree_does_not_count_what_is_hidden(world):
    agreed = Rule("agreed", [world.run.pk, world.other.pk], label=world.proposal(NAME).label_id)
    assert open_of(agreed, world.project, world.rosa).count() == 6
    world.open()
    assert open_of(agreed, world.project, world.rosa).count() == 4, "the other run's own would tell of the hidden one"


def test_a_bulk_act_planned_before_it_was_hidden_leaves_it_alone(world):
    hidden = world.proposal(NAME)
    rule = Rule("threshold", [world.run.pk], least=0.5)
    bulk = plan_bulk(project=world.project, user=world.rosa, rule=rule, act=BulkAct.Act.ACCEPT)
    pairs = [(world.note.pk, span.pk) for span in hidden.annotation_set.spans.all()]
    world.open()
    assert decide_batch(bulk, pairs)[:2] == (2, 0)
    assert not Decision.objects.filter(proposal=hidden).exists()


def test_nobody_decides_on_what_is_hidden_by_its_number_either(world):
    world.open()
    for act in (Act.ACCEPT, Act.REJECT):
        with pytest.raises(ServiceError) as error:
            world.decide(world.rita, act, NAME)
        assert error.value.code == "proposal", "as one that is not there"
    with pytest.raises(ServiceError) as error:
        world.close(world.rita)
    assert error.value.code == "open"
    assert PlantedLeak.objects.get().result == "", "a close that is refused shows nothing"


def test_a_note_with_nothing_else_open_is_still_offered(world):
    for note in world.notes:
        world.open(note)
        for start in (CITY, DOCTOR):
            world.decide(world.rita, Act.ACCEPT, start, note)
    for order in ("note", "uncertainty"):
        assert next_in_queue(world.run, world.project, Queue(order), world.rita) == world.note.pk


# ── The close ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_one_that_was_found_closes_the_note_and_is_decided_by_that(world):
    closed = world.reading(world.rita, marks=[(0, 11, "PATIENT")])
    assert closed.closed_by == world.rita
    planted = PlantedLeak.objects.get()
    assert (planted.result, planted.reader) == ("found", world.rita) and planted.revealed_at
    assert world.shown()[NAME] == ("accepted", "found")
    provenance = Span.objects.get(annotation_set__author__kind="gold", start=NAME).provenance
    assert provenance["from"] == "reviewer:rita", "gold has it since a person marked it"
    log = {row["act"]: row for row in decisions(world.project) if row["planted"]}
    assert set(log) == {"reveal", "accept"}
    assert [log[act]["planted_reader"] for act in ("reveal", "accept")] == ["rita", None]
    assert log["accept"]["reviewer"] == "rita" and log["accept"]["gold_made"] == []
    assert effort_between(world.project, 0, None).acts == 2, "marking it, and the close"
    world.check()


def test_other_ends_and_another_label_are_found_too(world):
    world.reading(world.rita, marks=[(0, 12, "DOCTOR")])
    decision = Decision.objects.get(proposal=world.proposal(NAME))
    assert (decision.verdict, decision.start, decision.end) == ("accepted", 0, 12)
    assert PlantedLeak.objects.get().result == "found"
    assert (0, 11, "PATIENT") not in world.gold, "gold is as the person marked it"


def test_one_that_was_missed_is_shown_and_decided_before_the_note_can_close(world):
    review_of = world.reading(world.rita)
    assert review_of.closed_at is None
    assert world.shown()[NAME] == ("open", "missed")
    assert world.gold == [(24, 30, "CITY"), (41, 48, "DOCTOR")], "not gold by itself"
    assert not gold_sets(world.project).exists()
    # A second click, and the key that accepts the rest, pressed twice.
    for rest in ((), world.rest()):
        with pytest.raises(ServiceError, match="still open") as error:
            world.close(world.rita, rest=rest)
        assert error.value.code == "open"
    assert PlantedLeak.objects.filter(result="missed").count() == 1
    assert Event.objects.filter(verb=Verb.REVIEW_REVEALED).count() == 1
    rule = Rule("threshold", [world.run.pk], least=0.5)
    bulk = plan_bulk(project=world.project, user=world.rosa, rule=rule, act=BulkAct.Act.ACCEPT)
    begin_bulk(bulk=bulk, user=world.rosa)
    at_once(bulk, run_bulk)
    assert world.shown()[NAME] == ("open", "missed"), "nor by a bulk act"
    world.decide(world.rita, Act.ACCEPT, NAME)
    assert world.close(world.rita).closed_by == world.rita
    assert (0, 11, "PATIENT") in world.gold
    (mine,) = measured_by(world.project)
    assert (mine.reviewer, mine.missed.missed, mine.missed.rate.decided) == ("rita", 1, 1)
    world.check()


def test_one_that_a_person_rejects_was_no_identifier(world):
    world.reading(world.rita)
    world.decide(world.rita, Act.REJECT, NAME)
    assert world.close(world.rita).closed_at
    (mine,) = measured_by(world.project)
    assert (mine.none, mine.missed.rate.decided) == (1, 0)
    assert (0, 11, "PATIENT") not in world.gold


def test_what_is_marked_in_part_is_to_be_decided(world):
    assert world.reading(world.rita, marks=[(6, 11, "PATIENT")]).closed_at is None
    assert world.shown()[NAME] == ("open", "partly")
    (waiting,) = measured_by(world.project)
    assert (waiting.waiting, waiting.missed.rate.decided) == (1, 0)
    world.decide(world.rita, Act.REJECT, NAME)
    world.close(world.rita)
    assert (6, 11, "PATIENT") in world.gold
    (mine,) = measured_by(world.project)
    assert (mine.missed.partly, mine.missed.rate.right, mine.missed.rate.decided) == (1, 0, 1)
    assert unproposed(world.project, mine.missed).by_hand == 0


def test_one_that_is_marked_by_hand_after_it_was_shown_was_missed(world):
    world.reading(world.rita)
    world.mark(world.rita, 0, 11, "PATIENT")
    assert world.shown()[NAME] == ("accepted", "missed")
    assert world.close(world.rita).closed_at
    (mine,) = measured_by(world.project)
    assert (mine.waiting, mine.missed.missed, mine.missed.rate.decided) == (0, 1, 1)


def test_what_is_in_gold_by_other_means_measures_nothing(world):
    world.open()
    other = Request(change_id=uuid.uuid4(), act=Act.ACCEPT, proposal=world.proposal(NAME, run=world.other).pk)
    review.decide(document=world.note, author=world.other, user=world.rosa, request=other)
    assert world.close(world.rita, rest=world.rest()).closed_at
    assert PlantedLeak.objects.get().result == "elsewhere"
    (mine,) = measured_by(world.project)
    assert (mine.elsewhere, mine.missed.rate.decided) == (1, 0)


def test_a_whole_reading_made_gold_has_all_of_it(world):
    world.open()
    make_gold(document=world.note, annotation_set=world.proposal(NAME).annotation_set, actor=world.rosa)
    assert (0, 11, "PATIENT") in world.gold
    assert PlantedLeak.objects.get().result == "elsewhere"
    assert world.close(world.rita).closed_at
    world.check()


def test_whoever_marked_it_found_it_and_the_others_close_is_no_miss(world):
    world.open()
    world.mark(world.rosa, 0, 11, "PATIENT")
    world.close(world.rita, rest=world.rest())
    assert [(one.reviewer, one.missed.found) for one in measured_by(world.project)] == [("rosa", 1)]


def test_a_reopened_note_keeps_its_result_and_is_not_drawn_again(world):
    world.reading(world.rita)
    world.decide(world.rita, Act.ACCEPT, NAME)
    world.close(world.rita)
    reopen_review(document=world.note, author=world.run, user=world.rosa)
    world.open()
    assert PlantedLeak.objects.count() == 1
    assert world.shown()[NAME] == ("accepted", "missed")
    with pytest.raises(ServiceError, match="nothing to undo"):
        world.decide(world.rosa, Act.UNDO)
    world.close(world.rosa)
    assert [one.reviewer for one in measured_by(world.project)] == ["rita"]


def test_what_was_found_is_not_taken_back_by_a_step_back(world):
    world.reading(world.rita, marks=[(0, 11, "PATIENT")])
    reopen_review(document=world.note, author=world.run, user=world.rita)
    world.decide(world.rita, Act.UNDO)  # of what closing accepted last
    assert world.shown()[NAME] == ("accepted", "found")
    place = 0, 11, label_of(world.project, "PATIENT").pk
    with pytest.raises(ServiceError) as error:
        world.decide(world.rita, Act.REMOVE, place=place)
    assert error.value.code == "elsewhere", "it stands for the proposal now; rejecting that takes it out"
    world.decide(world.rita, Act.REJECT, NAME)
    assert (0, 11, "PATIENT") not in world.gold


def test_the_patient_goes_with_everything_and_the_counts_hold(world):
    world.open()
    erase_patient(project=world.project, patient_id="p0", actor=None)
    assert not PlantedLeak.objects.exists()
    world.check()
    world.open(world.notes[1])
    world.run.delete()
    assert not PlantedLeak.objects.exists()


# ── Two people ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rule", [SecondReview.OPEN, SecondReview.BLIND])
def test_of_two_the_first_is_measured_and_the_second_sees_an_ordinary_proposal(first_drawn, rule):
    world = World(second_review=rule)
    world.reading(world.rita)
    assert world.state(world.rita)["stage"] == "first", "not handed on before it is decided"
    world.decide(world.rita, Act.ACCEPT, NAME)
    world.close(world.rita)
    assert world.state(world.rita)["stage"] == "waiting"
    blind = rule == SecondReview.BLIND
    assert world.shown(world.rosa)[NAME] == ("open" if blind else "accepted", None)
    if blind:
        (waiting,) = measured_by(world.project)
        assert waiting.waiting == 1, "the first's decision is set aside meanwhile"
        world.close(world.rosa, rest=world.rest())
    else:
        world.close(world.rosa)
    assert Review.objects.get().closed_by == world.rosa
    (mine,) = measured_by(world.project)
    assert (mine.reviewer, mine.missed.missed) == ("rita", 1)
    world.check()


# ── Figures ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_figures_by_reviewer_together_and_what_is_left(world):
    first, second, third = world.notes
    world.reading(world.rita, note=first, marks=[(0, 11, "PATIENT"), (13, 20, "AGE")])
    world.reading(world.rosa, note=second)
    world.decide(world.rosa, Act.ACCEPT, NAME, second)
    world.close(world.rosa, second)
    world.reading(world.rosa, note=third)
    rows = measured_by(world.project, [world.run.pk])
    assert [(one.reviewer, one.missed.found, one.missed.missed, one.waiting) for one in rows] == [
        ("rita", 1, 0, 0), ("rosa", 0, 1, 1),
    ]  # fmt: skip
    whole = together(rows)
    assert (whole.missed.rate.right, whole.missed.rate.decided, whole.waiting) == (1, 2, 1)
    found = unproposed(world.project, whole.missed, [world.run.pk])
    assert (found.notes, found.by_hand, found.left) == (2, 1, None), "the age alone; too few to estimate"
    assert measured_by(world.project, [world.other.pk]) == []


def test_the_share_is_one_of_those_offered(world):
    with pytest.raises(ServiceError, match="0, 5, 10, 20"):
        update_project(project=world.project, actor=None, planted_share=50)
    update_project(project=world.project, actor=None, planted_share=20)
    assert Event.objects.get(verb=Verb.PROJECT_CHANGED).data == {"fields": ["planted_share"]}
