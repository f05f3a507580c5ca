"""Planted leaks: what is hidden and from whom, what finishing reveals, and that nothing is accepted unseen or lost."""

import uuid

import pytest

from annotations.core import hiding
from annotations.core.errors import ServiceError
from annotations.core.gold_sets import gold_sets
from annotations.gold.services.making import make_gold
from annotations.models import (
    AnnotationSet,
    BulkAct,
    Decision,
    Event,
    PlantedLeak,
    Review,
    Role,
    Span,
    SuggestedString,
)
from annotations.models.project import SecondReview
from annotations.ops.services.erasing import erase_patient
from annotations.projects.events import PROJECT_CHANGED
from annotations.projects.services.projects import update_project
from annotations.review.events import REVIEW_REVEALED
from annotations.review.selectors.bulk_preview import preview
from annotations.review.selectors.bulk_rules import Rule, open_of, waiting_by_string
from annotations.review.selectors.decision_log import decisions
from annotations.review.selectors.known import known_among, suggested_in
from annotations.review.selectors.leaks_found import measured_by, together, unsuggested
from annotations.review.selectors.listing import review_list
from annotations.review.selectors.misses import hints_of
from annotations.review.selectors.occurrences import occurrences
from annotations.review.selectors.ordering import Queue
from annotations.review.selectors.state import review_state
from annotations.review.selectors.suggested_strings import spans_of, strings
from annotations.review.services import deciding as review
from annotations.review.services.bulk import at_once, begin_bulk, plan_bulk, run_bulk
from annotations.review.services.bulk_batches import decide_batch
from annotations.review.services.deciding import Request
from annotations.review.services.effort import effort_between
from annotations.review.services.finishing import finish_review, reopen_review
from annotations.review.services.log import Act
from annotations.review.services.queue import next_in_queue
from tests.factories import label_of, make_author, make_member, make_note, make_project, make_set

TEXT = "Mario Rossi, 54 anni, a Torino dal dott. Bianchi."
SUGGESTED = [(0, 11, "PATIENT"), (24, 30, "CITY"), (41, 48, "DOCTOR")]
NAME, CITY, DOCTOR = (start for start, _, _ in SUGGESTED)


class World:
    """Two runs with the same suggestions in each note. The draw picks the first candidate of each note in `drawn`."""

    drawn: set[int] = set()

    def __init__(self, **options):
        self.project = make_project("covid", **{"planted_share": 10} | options)
        self.rita, self.rosa = (make_member(self.project, Role.REVIEWER, name) for name in ("rita", "rosa"))
        self.run, self.other = (make_author(self.project, kind="run", name=n) for n in ("rules-1", "crf-1"))
        self.notes = [make_note(self.project, TEXT, patient_id=f"p{n}") for n in range(3)]
        for note in self.notes:
            for run in (self.run, self.other):
                make_set(note, run, SUGGESTED, submitted=True)
        Span.objects.update(confidence=0.9)
        self.note = self.notes[0]
        self.plant_in(self.note)

    def plant_in(self, *notes):
        World.drawn = {note.pk for note in notes}

    def suggestion(self, start, note=None, run=None):
        annotation_set = AnnotationSet.objects.get(document=note or self.note, author=run or self.run)
        return annotation_set.spans.get(start=start)

    def store(self, *notes):
        """Act as if the run had just stored its suggestions for these notes; without notes, for the first one."""
        hiding.stored(self.run, [note.pk for note in notes or [self.note]])
        return self

    def share(self, share):
        self.project.planted_share = share
        self.project.save()

    def decide(self, user, act, start=None, note=None, **options):
        suggestion = None if start is None else self.suggestion(start, note).pk
        request = Request(change_id=uuid.uuid4(), act=act, suggestion=suggestion, **options)
        return review.decide(document=note or self.note, author=self.run, user=user, request=request)

    def mark(self, user, start, end, label, note=None):
        bounds = start, end, label_of(self.project, label).pk
        return self.decide(user, Act.ADD, note=note, bounds=bounds, quote=TEXT[start:end])

    def finish(self, user, note=None, **options):
        return finish_review(document=note or self.note, author=self.run, user=user, **options)

    def state(self, user=None, note=None):
        return review_state(document=note or self.note, author=self.run, user=user or self.rita)

    def shown(self, user=None, note=None):
        return {p["start"]: (p["state"], p.get("planted")) for p in self.state(user, note)["suggestions"]}

    def rest(self, note=None):
        return [p["id"] for p in self.state(note=note)["suggestions"] if p["state"] == "open"]

    def review(self, user, *, marks=(), note=None):
        """Store the run's suggestions for the note, add `marks`, accept what is shown, and finish."""
        self.store(note or self.note)
        for mark in marks:
            self.mark(user, *mark, note=note)
        return self.finish(user, note, rest=self.rest(note))

    @property
    def gold(self):
        spans = Span.objects.filter(annotation_set__document=self.note, annotation_set__author__kind="gold")
        return sorted(spans.values_list("start", "end", "label__name"))

    def check(self):
        """Check that the counts by string leave out hidden suggestions."""
        for row in SuggestedString.objects.all():
            spans = Span.objects.filter(
                annotation_set__author=row.author_id, string_key=row.string_key, label=row.label_id
            ).exclude(planted__result="")
            assert (row.count, row.open) == (spans.count(), spans.filter(decision__isnull=True).count())


@pytest.fixture
def first_drawn(db, monkeypatch):
    monkeypatch.setattr(
        "annotations.domain.reviewing.planting.chance",
        lambda key, what, run, note, *place: 0.99 if what == "note" and note not in World.drawn else 0.0,
    )


@pytest.fixture
def world(first_drawn):
    return World()


# ── The draw ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_note_is_drawn_once_for_good(world):
    world.store(*world.notes).store(world.note)
    (planted,) = PlantedLeak.objects.all()
    assert (planted.suggestion_id, planted.known, planted.result) == (world.suggestion(NAME).pk, "runs", "")
    assert set(Review.objects.values_list("document", "planted_share", "ahead")) == {
        (note.pk, 10, True) for note in world.notes
    }, "whether something is planted or not"
    assert {note.stage for note in review_list(world.run, world.note.pk, world.rita).notes} == {"open"}
    assert world.shown() == {CITY: ("open", None), DOCTOR: ("open", None)}
    assert not Event.objects.filter(verb=REVIEW_REVEALED).exists(), "the log reveals nothing"
    assert list(decisions(world.project)) == []
    world.check()


def test_a_changed_option_applies_to_suggestions_stored_later(world):
    before, new, _ = world.notes
    world.plant_in(*world.notes)
    world.share(0)
    world.store(before)
    assert not Review.objects.exists(), "nothing is stored while the option is off"
    world.share(20)
    world.store(new)
    assert {one.review.document_id for one in PlantedLeak.objects.all()} == {new.pk}
    assert len(world.shown(note=before)) == 3, "it may have been seen, listed or exported"
    assert list(Review.objects.values_list("planted_share", flat=True)) == [20]
    world.share(0)
    assert world.shown(note=new) == {CITY: ("open", None), DOCTOR: ("open", None)}, (
        "hidden until the review is finished"
    )


def test_known_is_what_people_accepted_in_other_notes_or_most_runs_suggest(world):
    def known(note=None):
        note = note or world.note
        spans = Span.objects.filter(annotation_set__document=note, annotation_set__author=world.run)
        found = known_among(world.run, suggested_in(world.run, [each.pk for each in world.notes]))
        return {span.start: found[span.pk] for span in spans if found.get(span.pk, "string") != "string"}

    assert known() == dict.fromkeys((NAME, CITY, DOCTOR), "runs")
    # A second run of the same backend does not count.
    world.other.name = "rules-2"
    world.other.save()
    assert known() == {}
    make_set(world.note, make_author(world.project, kind="run", name="llm-1"), SUGGESTED[:1], submitted=True)
    assert known() == {NAME: "runs"}
    make_set(world.note, make_author(world.project, kind="run", name="spacy-1"), [], submitted=True)
    assert known() == {NAME: "runs"}
    make_set(world.note, make_author(world.project, kind="run", name="ner-1"), [], submitted=True)
    assert known() == {}, "two of four is no majority"
    world.decide(world.rita, Act.ACCEPT, NAME, world.notes[1])
    world.decide(world.rita, Act.ACCEPT, CITY, world.notes[1])
    world.decide(world.rita, Act.REJECT, CITY, world.notes[2])
    assert known() == {NAME: "people"}, "the city was rejected in one note"
    assert known(world.notes[1]) == {}, "decisions in the note itself don't count"
    world.decide(
        world.rita, Act.CORRECT, NAME, world.notes[2], bounds=(6, 11, world.suggestion(NAME).label_id), quote="Rossi"
    )
    assert known() == {}


def test_a_string_that_the_run_suggests_in_other_notes_is_likely(world):
    world.other.delete()
    once = make_note(world.project, "Via Roma 3, dott. Bianchi")
    annotation_set = make_set(once, world.run, [(0, 10, "CITY"), (18, 25, "DOCTOR")], submitted=True)
    found = known_among(world.run, suggested_in(world.run, [once.pk]))
    assert found == {annotation_set.spans.get(start=18).pk: "string"}
    world.plant_in(once)
    world.store(once)
    assert PlantedLeak.objects.get().known == "string", "suggestions of a single run can be planted"


def test_the_draw_begins_no_review(world):
    world.store()
    listed = {note.pk: note.stage for note in review_list(world.run, world.note.pk, world.rita).notes}
    assert set(listed.values()) == {"open"}, "nor does the list reveal notes with planted leaks"
    world.decide(world.rita, Act.ACCEPT, CITY, world.notes[1])
    listed = {note.pk: note.stage for note in review_list(world.run, world.note.pk, world.rita).notes}
    assert listed == {note.pk: "begun" if note == world.notes[1] else "open" for note in world.notes}


def test_a_span_that_is_in_gold_is_not_planted(world):
    make_set(world.note, make_author(world.project, kind="gold", name="gold"), [(0, 5, "PATIENT")])
    world.store()
    assert PlantedLeak.objects.get().suggestion_id == world.suggestion(CITY).pk


# ── Nothing reveals a hidden leak ────────────────────────────────────────────────────────────────────────────────────


def test_lists_counts_hints_and_bulk_acts_leave_hidden_leaks_out(world):
    world.store()
    hidden = world.suggestion(NAME)
    rule = Rule("string", [world.run.pk], string=hidden.string_key, label=hidden.label_id)
    assert open_of(rule, world.project, world.rosa).count() == 2
    string = SuggestedString.objects.get(author=world.run, label_id=hidden.label_id)
    shown = occurrences(spans_of(string, [world.run.pk]), world.project.pk, world.rosa)
    assert [one.note for one in shown] == [note.pk for note in world.notes[1:]]
    (row,) = strings([world.run.pk], label=hidden.label_id).rows
    assert (row.count, row.open) == (2, 2)
    assert not [hint for hint in hints_of(world.note, world.run) if hint["start"] == NAME]
    assert len(hints_of(world.notes[1], world.run)) == 3
    # The review of the other run shows the suggestion, which is hidden only in this run.
    assert len(review_state(document=world.note, author=world.other)["suggestions"]) == 3
    threshold, agreed = Rule("threshold", [world.run.pk], least=0.5), Rule("agreed", [world.run.pk, world.other.pk])
    for each in (rule, threshold):
        bulk = plan_bulk(project=world.project, user=world.rosa, rule=each, act=BulkAct.Act.ACCEPT)
        begin_bulk(bulk=bulk, user=world.rosa)
        at_once(bulk, run_bulk)
    with pytest.raises(ServiceError) as error:
        plan_bulk(project=world.project, user=world.rosa, rule=agreed, act=BulkAct.Act.ACCEPT)
    assert error.value.code == "none", "a hidden suggestion of one run does not count as agreement"
    assert not Decision.objects.filter(suggestion=hidden).exists()
    assert Decision.objects.filter(suggestion__annotation_set__author=world.run).count() == 8
    world.check()


def test_agreement_of_runs_does_not_count_hidden_leaks(world):
    agreed = Rule("agreed", [world.run.pk, world.other.pk], label=world.suggestion(NAME).label_id)
    assert open_of(agreed, world.project, world.rosa).count() == 6
    world.store()
    assert open_of(agreed, world.project, world.rosa).count() == 4, (
        "counting the other run's span would reveal the hidden one"
    )


def test_counts_of_doubtful_suggestions_leave_hidden_leaks_out(world):
    hidden = world.suggestion(NAME)
    world.store()
    Span.objects.update(provenance={"removed": [], "unsupported": [], "places": 2})
    rule = Rule("threshold", [world.run.pk], least=0.5)
    found = preview(rule, BulkAct.Act.ACCEPT, world.project, world.rosa)
    assert (found.open, found.doubtful) == (0, 8)
    name = hidden.string_key, hidden.label_id
    assert waiting_by_string([name], [world.run.pk], world.project, world.rosa)[name].doubtful == 2
    bulk = plan_bulk(project=world.project, user=world.rosa, rule=rule, act=BulkAct.Act.ACCEPT)
    begin_bulk(bulk=bulk, user=world.rosa, with_doubtful=True)
    at_once(bulk, run_bulk)
    assert not Decision.objects.filter(suggestion=hidden).exists() and bulk.decided == 8


def test_a_bulk_act_planned_earlier_leaves_hidden_leaks_alone(world):
    hidden = world.suggestion(NAME)
    rule = Rule("threshold", [world.run.pk], least=0.5)
    bulk = plan_bulk(project=world.project, user=world.rosa, rule=rule, act=BulkAct.Act.ACCEPT)
    pairs = [(world.note.pk, span.pk) for span in hidden.annotation_set.spans.all()]
    world.store()
    assert decide_batch(bulk, pairs)[:2] == (2, 0)
    assert not Decision.objects.filter(suggestion=hidden).exists()


def test_a_hidden_leak_can_not_be_decided_by_its_id(world):
    world.store()
    for act in (Act.ACCEPT, Act.REJECT):
        with pytest.raises(ServiceError) as error:
            world.decide(world.rita, act, NAME)
        assert error.value.code == "suggestion", "as if the suggestion did not exist"
    with pytest.raises(ServiceError) as error:
        world.finish(world.rita)
    assert error.value.code == "open"
    assert PlantedLeak.objects.get().result == "", "refused finishing reveals nothing"


def test_a_note_with_nothing_else_open_is_still_offered(world):
    world.plant_in(*world.notes)
    for note in world.notes:
        world.store(note)
        for start in (CITY, DOCTOR):
            world.decide(world.rita, Act.ACCEPT, start, note)
    for order in ("note", "uncertainty"):
        assert next_in_queue(world.run, world.project, Queue(order), world.rita) == world.note.pk


# ── Finishing ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_found_leak_is_decided_and_the_review_finishes(world):
    finished = world.review(world.rita, marks=[(0, 11, "PATIENT")])
    assert finished.finished_by == world.rita
    planted = PlantedLeak.objects.get()
    assert (planted.result, planted.reviewer) == ("found", world.rita) and planted.revealed_at
    assert world.shown()[NAME] == ("accepted", "found")
    provenance = Span.objects.get(annotation_set__author__kind="gold", start=NAME).provenance
    assert provenance["from"] == "reviewer:rita", "gold has the span because a person marked it"
    log = {row["act"]: row for row in decisions(world.project) if row["planted"]}
    assert set(log) == {"reveal", "accept"}
    assert [log[act]["planted_reviewer"] for act in ("reveal", "accept")] == ["rita", None]
    assert log["accept"]["reviewer"] == "rita" and log["accept"]["gold_added"] == []
    assert effort_between(world.project, 0, None).acts == 2, "marking the span, and finishing"
    world.check()


def test_a_leak_marked_with_other_bounds_and_label_is_found(world):
    world.review(world.rita, marks=[(0, 12, "DOCTOR")])
    decision = Decision.objects.get(suggestion=world.suggestion(NAME))
    assert (decision.verdict, decision.start, decision.end) == ("accepted", 0, 12)
    assert PlantedLeak.objects.get().result == "found"
    assert (0, 11, "PATIENT") not in world.gold, "gold is as the person marked it"


def test_a_missed_leak_must_be_decided_before_the_review_can_finish(world):
    review_of = world.review(world.rita)
    assert review_of.finished_at is None
    assert world.shown()[NAME] == ("open", "missed")
    assert world.gold == [(24, 30, "CITY"), (41, 48, "DOCTOR")], "the leak is not added to gold unseen"
    assert not gold_sets(world.project).exists()
    # A second click on finish, and a second press of the key that accepts the rest.
    for rest in ((), world.rest()):
        with pytest.raises(ServiceError, match="still open") as error:
            world.finish(world.rita, rest=rest)
        assert error.value.code == "open"
    assert PlantedLeak.objects.filter(result="missed").count() == 1
    assert Event.objects.filter(verb=REVIEW_REVEALED).count() == 1
    rule = Rule("threshold", [world.run.pk], least=0.5)
    bulk = plan_bulk(project=world.project, user=world.rosa, rule=rule, act=BulkAct.Act.ACCEPT)
    begin_bulk(bulk=bulk, user=world.rosa)
    at_once(bulk, run_bulk)
    assert world.shown()[NAME] == ("open", "missed"), "nor by a bulk act"
    world.decide(world.rita, Act.ACCEPT, NAME)
    assert world.finish(world.rita).finished_by == world.rita
    assert (0, 11, "PATIENT") in world.gold
    (mine,) = measured_by(world.project)
    assert (mine.reviewer, mine.missed.missed, mine.missed.rate.decided) == ("rita", 1, 1)
    world.check()


def test_a_rejected_leak_counts_as_no_identifier(world):
    world.review(world.rita)
    world.decide(world.rita, Act.REJECT, NAME)
    assert world.finish(world.rita).finished_at
    (mine,) = measured_by(world.project)
    assert (mine.none, mine.missed.rate.decided) == (1, 0)
    assert (0, 11, "PATIENT") not in world.gold


def test_a_partly_marked_leak_must_be_decided(world):
    assert world.review(world.rita, marks=[(6, 11, "PATIENT")]).finished_at is None
    assert world.shown()[NAME] == ("open", "partly")
    (waiting,) = measured_by(world.project)
    assert (waiting.waiting, waiting.missed.rate.decided) == (1, 0)
    world.decide(world.rita, Act.REJECT, NAME)
    world.finish(world.rita)
    assert (6, 11, "PATIENT") in world.gold
    (mine,) = measured_by(world.project)
    assert (mine.missed.partly, mine.missed.rate.right, mine.missed.rate.decided) == (1, 0, 1)
    assert unsuggested(world.project, mine.missed).by_hand == 0


def test_a_leak_marked_by_hand_after_it_was_shown_was_missed(world):
    world.review(world.rita)
    world.mark(world.rita, 0, 11, "PATIENT")
    assert world.shown()[NAME] == ("accepted", "missed")
    assert world.finish(world.rita).finished_at
    (mine,) = measured_by(world.project)
    assert (mine.waiting, mine.missed.missed, mine.missed.rate.decided) == (0, 1, 1)


def test_a_leak_in_gold_by_other_means_is_not_counted(world):
    world.store()
    other = Request(change_id=uuid.uuid4(), act=Act.ACCEPT, suggestion=world.suggestion(NAME, run=world.other).pk)
    review.decide(document=world.note, author=world.other, user=world.rosa, request=other)
    assert world.finish(world.rita, rest=world.rest()).finished_at
    assert PlantedLeak.objects.get().result == "elsewhere"
    (mine,) = measured_by(world.project)
    assert (mine.elsewhere, mine.missed.rate.decided) == (1, 0)


def test_gold_made_from_the_whole_annotation_set_is_not_counted(world):
    world.store()
    make_gold(document=world.note, annotation_set=world.suggestion(NAME).annotation_set, actor=world.rosa)
    assert (0, 11, "PATIENT") in world.gold
    assert world.finish(world.rita).finished_at
    assert PlantedLeak.objects.get().result == "elsewhere"
    assert world.shown()[NAME] == ("accepted", "elsewhere")
    world.check()


def test_the_leak_counts_for_the_person_who_marked_it(world):
    world.store()
    world.mark(world.rosa, 0, 11, "PATIENT")
    world.finish(world.rita, rest=world.rest())
    assert [(one.reviewer, one.missed.found) for one in measured_by(world.project)] == [("rosa", 1)]


def test_a_reopened_note_keeps_its_outcome_and_is_not_drawn_again(world):
    world.review(world.rita)
    world.decide(world.rita, Act.ACCEPT, NAME)
    world.finish(world.rita)
    reopen_review(document=world.note, author=world.run, user=world.rosa)
    world.store()
    assert PlantedLeak.objects.count() == 1
    assert world.shown()[NAME] == ("accepted", "missed")
    with pytest.raises(ServiceError, match="nothing to undo"):
        world.decide(world.rosa, Act.UNDO)
    world.finish(world.rosa)
    assert [one.reviewer for one in measured_by(world.project)] == ["rita"]


def test_undo_does_not_revert_a_found_leak(world):
    world.review(world.rita, marks=[(0, 11, "PATIENT")])
    reopen_review(document=world.note, author=world.run, user=world.rita)
    world.decide(world.rita, Act.UNDO)  # of the last suggestion that finishing accepted
    assert world.shown()[NAME] == ("accepted", "found")
    bounds = 0, 11, label_of(world.project, "PATIENT").pk
    with pytest.raises(ServiceError) as error:
        world.decide(world.rita, Act.REMOVE, bounds=bounds)
    assert error.value.code == "elsewhere", (
        "the span belongs to the suggestion now; rejecting the suggestion removes it"
    )
    world.decide(world.rita, Act.REJECT, NAME)
    assert (0, 11, "PATIENT") not in world.gold


def test_erasing_a_patient_removes_planted_leaks_and_keeps_counts_right(world):
    world.store()
    erase_patient(project=world.project, patient_id="p0", actor=None)
    assert not PlantedLeak.objects.exists()
    world.check()
    world.store(world.notes[1])
    world.run.delete()
    assert not PlantedLeak.objects.exists()


# ── Two people ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rule", [SecondReview.OPEN, SecondReview.BLIND])
def test_the_first_reviewer_is_measured_and_the_second_sees_an_ordinary_suggestion(first_drawn, rule):
    world = World(second_review=rule)
    world.review(world.rita)
    assert world.state(world.rita)["stage"] == "first", "not handed over before the leak is decided"
    world.decide(world.rita, Act.ACCEPT, NAME)
    world.finish(world.rita)
    assert world.state(world.rita)["stage"] == "waiting"
    blind = rule == SecondReview.BLIND
    assert world.shown(world.rosa)[NAME] == ("open" if blind else "accepted", None)
    if blind:
        (waiting,) = measured_by(world.project)
        assert waiting.waiting == 1, "the first decision is removed during the blind review"
        world.finish(world.rosa, rest=world.rest())
    else:
        world.finish(world.rosa)
    assert Review.objects.get(document=world.note).finished_by == world.rosa
    (mine,) = measured_by(world.project)
    assert (mine.reviewer, mine.missed.missed) == ("rita", 1)
    world.check()


# ── Figures ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_figures_by_reviewer_together_and_what_is_left(world):
    first, second, third = world.notes
    world.plant_in(*world.notes)
    world.review(world.rita, note=first, marks=[(0, 11, "PATIENT"), (13, 20, "AGE")])
    world.review(world.rosa, note=second)
    world.decide(world.rosa, Act.ACCEPT, NAME, second)
    world.finish(world.rosa, second)
    world.review(world.rosa, note=third)
    rows = measured_by(world.project, [world.run.pk])
    assert [(one.reviewer, one.missed.found, one.missed.missed, one.waiting) for one in rows] == [
        ("rita", 1, 0, 0), ("rosa", 0, 1, 1),
    ]  # fmt: skip
    whole = together(rows)
    assert (whole.missed.rate.right, whole.missed.rate.decided, whole.waiting) == (1, 2, 1)
    found = unsuggested(world.project, whole.missed, [world.run.pk])
    assert (found.notes, found.by_hand, found.left) == (2, 1, None), "only the age; too few leaks to estimate"
    assert measured_by(world.project, [world.other.pk]) == []


def test_the_share_is_one_of_those_offered(world):
    with pytest.raises(ServiceError, match="0, 5, 10, 20"):
        update_project(project=world.project, actor=None, planted_share=50)
    update_project(project=world.project, actor=None, planted_share=20)
    assert Event.objects.get(verb=PROJECT_CHANGED).data == {"fields": ["planted_share"]}


def test_a_correction_of_another_suggestion_finds_the_leak_that_it_covers(world):
    world.store()
    bounds = 0, 30, label_of(world.project, "PATIENT").pk
    world.decide(world.rita, Act.CORRECT, CITY, bounds=bounds, quote=TEXT[:30])
    world.finish(world.rita, rest=world.rest())
    assert PlantedLeak.objects.get().result == "found"


def test_gold_made_of_the_whole_run_finds_no_leak(world):
    world.store()
    make_gold(
        document=world.note, annotation_set=AnnotationSet.objects.get(document=world.note, author=world.run), actor=None
    )
    world.finish(world.rita, rest=world.rest(), with_gold=True)
    assert PlantedLeak.objects.get().result == "elsewhere"
