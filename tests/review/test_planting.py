"""Planted leaks: which are drawn, what finishing reveals, and that nothing is accepted unseen or lost."""

import pytest

from annotations.core.authors import gold_sets
from annotations.core.services import ServiceError
from annotations.gold.services.making import make_gold
from annotations.models import BulkAct, Decision, Event, PlantedLeak, Review, Span, SuggestedString
from annotations.models.project import SecondReview
from annotations.ops.services.erasing import erase_patient
from annotations.review.events import REVIEW_REVEALED
from annotations.review.selectors.bulk_rules import BulkRule, open_of, preview, waiting_by_string
from annotations.review.selectors.decision_log import decisions
from annotations.review.selectors.planted import hints_of, measured_by, together, unsuggested
from annotations.review.selectors.reviewing import NoteOrder, review_list
from annotations.review.selectors.state import review_state
from annotations.review.selectors.suggested_strings import occurrences, spans_of, strings
from annotations.review.services.bulk import at_once, begin_bulk, decide_batch, plan_bulk, run_bulk
from annotations.review.services.finishing import reopen_review
from annotations.review.services.log import Act, effort_between
from annotations.review.services.planting import known_among, suggested_in
from annotations.review.services.queue import next_in_queue
from tests.factories import change, label_of, make_author, make_note, make_set
from tests.review.planting import CITY, DOCTOR, NAME, SUGGESTED, TEXT, first_drawn, made, planted, world
from tests.worlds.checks import refused
from tests.worlds.reviewing import check_strings, review

__all__ = ["first_drawn", "made", "planted", "world"]


# ── The draw ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_note_is_drawn_once_for_good(world):
    world.store(*world.notes).store(world.note)
    (planted,) = PlantedLeak.objects.all()
    assert (planted.suggestion_id, planted.known, planted.result) == (world.suggestion(NAME).pk, "runs", "")
    assert set(Review.objects.values_list("document", "planted_share", "ahead")) == {
        (note.pk, 10, True) for note in world.notes
    }, "whether something is planted or not"
    assert world.shown() == {CITY: ("open", None), DOCTOR: ("open", None)}
    assert not Event.objects.filter(verb=REVIEW_REVEALED).exists(), "the log reveals nothing"
    assert list(decisions(world.project)) == []
    check_strings()


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
    def known(note=world.note):
        spans = Span.objects.filter(annotation_set__document=note, annotation_set__author=world.run)
        found = known_among(world.run, suggested_in(world.run, [each.pk for each in world.notes]))
        return {span.start: found[span.pk] for span in spans if found.get(span.pk, "string") != "string"}

    def run(name, spans):
        make_set(world.note, make_author(world.project, kind="run", name=name), spans, submitted=True)

    assert known() == dict.fromkeys((NAME, CITY, DOCTOR), "runs")
    # A second run of the same backend does not count.
    change(world.other, name="rules-2")
    assert known() == {}
    run("llm-1", SUGGESTED[:1])
    assert known() == {NAME: "runs"}
    run("spacy-1", [])
    assert known() == {NAME: "runs"}
    run("ner-1", [])
    assert known() == {}, "two of four is no majority"
    world.decide(world.rita, Act.ACCEPT, NAME, world.notes[1])
    world.decide(world.rita, Act.ACCEPT, CITY, world.notes[1])
    world.decide(world.rita, Act.REJECT, CITY, world.notes[2])
    assert known() == {NAME: "people"}, "the city was rejected in one note"
    assert known(world.notes[1]) == {}, "decisions in the note itself don't count"
    bounds = 6, 11, world.suggestion(NAME).label_id
    world.decide(world.rita, Act.CORRECT, NAME, world.notes[2], bounds=bounds, quote="Rossi")
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


# ── Finishing ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_found_leak_is_decided_and_the_review_finishes(world):
    assert world.review(world.rita, marks=[(0, 11, "PATIENT")]).finished_by == world.rita
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
    check_strings()


def test_a_leak_marked_with_other_bounds_and_label_is_found(world):
    world.review(world.rita, marks=[(0, 12, "DOCTOR")])
    decision = Decision.objects.get(suggestion=world.suggestion(NAME))
    assert (decision.verdict, decision.start, decision.end) == ("accepted", 0, 12)
    assert PlantedLeak.objects.get().result == "found"
    assert (0, 11, "PATIENT") not in world.gold, "gold is as the person marked it"


@pytest.mark.parametrize(("marks", "result", "none", "partly", "decided"), [
    ([], "missed", 1, 0, 0), ([(6, 11, "PATIENT")], "partly", 0, 1, 1)
])  # fmt: skip
def test_a_missed_or_partly_marked_leak_may_be_rejected(world, marks, result, none, partly, decided):
    """What a person rejects counts as no identifier, unless a part of it was marked."""
    assert world.review(world.rita, marks=marks).finished_at is None
    assert world.shown()[NAME] == ("open", result)
    (waiting,) = measured_by(world.project)
    assert (waiting.waiting, waiting.rate.decided) == (1, 0)
    world.decide(world.rita, Act.REJECT, NAME)
    assert world.finish(world.rita).finished_at
    assert (0, 11, "PATIENT") not in world.gold and set(marks) <= set(world.gold)
    (mine,) = measured_by(world.project)
    assert (mine.none, mine.partly, mine.rate.right, mine.rate.decided) == (
        none, partly, 0, decided,
    )  # fmt: skip
    assert unsuggested(world.project, mine).by_hand == 0


def test_a_leak_marked_by_hand_after_it_was_shown_was_missed(world):
    world.review(world.rita)
    world.mark(world.rita, 0, 11, "PATIENT")
    assert world.shown()[NAME] == ("accepted", "missed")
    assert world.finish(world.rita).finished_at
    (mine,) = measured_by(world.project)
    assert (mine.waiting, mine.missed, mine.rate.decided) == (0, 1, 1)


@pytest.mark.parametrize("how", ["another run", "the whole set"])
def test_a_leak_in_gold_by_other_means_is_not_counted(world, how):
    world.store()
    if how == "another run":
        review(world.note, world.other, world.rosa, Act.ACCEPT, world.suggestion(NAME, run=world.other))
        assert world.finish(world.rita, rest=world.rest()).finished_at
    else:
        make_gold(document=world.note, annotation_set=world.suggestion(NAME).annotation_set, actor=world.rosa)
        assert (0, 11, "PATIENT") in world.gold
        assert world.finish(world.rita).finished_at
        assert world.shown()[NAME] == ("accepted", "elsewhere")
    assert PlantedLeak.objects.get().result == "elsewhere"
    (mine,) = measured_by(world.project)
    assert (mine.elsewhere, mine.rate.decided) == (1, 0)
    check_strings()


def test_the_leak_counts_for_the_person_who_marked_it(world):
    world.store()
    world.mark(world.rosa, 0, 11, "PATIENT")
    world.finish(world.rita, rest=world.rest())
    assert [(one.reviewer, one.found) for one in measured_by(world.project)] == [("rosa", 1)]


def test_undo_does_not_revert_a_found_leak(world):
    world.review(world.rita, marks=[(0, 11, "PATIENT")])
    reopen_review(document=world.note, author=world.run, user=world.rita)
    world.decide(world.rita, Act.UNDO)  # of the last suggestion that finishing accepted
    assert world.shown()[NAME] == ("accepted", "found")
    # Rejecting the suggestion, to which the span now belongs, removes it.
    with refused("elsewhere"):
        world.decide(world.rita, Act.REMOVE, bounds=(0, 11, label_of(world.project, "PATIENT").pk))
    world.decide(world.rita, Act.REJECT, NAME)
    assert (0, 11, "PATIENT") not in world.gold


def test_erasing_a_patient_removes_planted_leaks_and_keeps_counts_right(world):
    world.store()
    erase_patient(project=world.project, patient_id="p0", actor=None)
    assert not PlantedLeak.objects.exists()
    check_strings()
    world.store(world.notes[1])
    world.run.delete()
    assert not PlantedLeak.objects.exists()


# ── Two people, and figures ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rule", [SecondReview.OPEN, SecondReview.BLIND])
def test_the_first_reviewer_is_measured_and_the_second_sees_an_ordinary_suggestion(world, rule):
    change(world.project, second_review=rule)
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
    assert (mine.reviewer, mine.missed) == ("rita", 1)
    check_strings()


def test_figures_by_reviewer_together_and_what_is_left(world):
    first, second, third = world.notes
    world.plant_in(*world.notes)
    world.review(world.rita, note=first, marks=[(0, 11, "PATIENT"), (13, 20, "AGE")])
    world.review(world.rosa, note=second)
    world.decide(world.rosa, Act.ACCEPT, NAME, second)
    world.finish(world.rosa, second)
    world.review(world.rosa, note=third)
    rows = measured_by(world.project, [world.run.pk])
    assert [(one.reviewer, one.found, one.missed, one.waiting) for one in rows] == [
        ("rita", 1, 0, 0), ("rosa", 0, 1, 1)
    ]  # fmt: skip
    whole = together(rows)
    assert (whole.rate.right, whole.rate.decided, whole.waiting) == (1, 2, 1)
    found = unsuggested(world.project, whole, [world.run.pk])
    assert (found.notes, found.by_hand, found.left) == (2, 1, None), "only the age; too few leaks to estimate"
    assert measured_by(world.project, [world.other.pk]) == []


def test_a_correction_of_another_suggestion_finds_the_leak_that_it_covers(world):
    world.store()
    bounds = 0, 30, label_of(world.project, "PATIENT").pk
    world.decide(world.rita, Act.CORRECT, CITY, bounds=bounds, quote=TEXT[:30])
    world.finish(world.rita, rest=world.rest())
    assert PlantedLeak.objects.get().result == "found"


def test_a_missed_leak_must_be_decided_before_the_review_can_finish(world):
    assert world.review(world.rita).finished_at is None
    assert world.shown()[NAME] == ("open", "missed")
    assert world.gold == [(24, 30, "CITY"), (41, 48, "DOCTOR")], "the leak is not added to gold unseen"
    assert not gold_sets(world.project).exists()
    # A second click on finish, and a second press of the key that accepts the rest.
    for rest in ((), world.rest()):
        with refused("open"):
            world.finish(world.rita, rest=rest)
    assert PlantedLeak.objects.filter(result="missed").count() == 1
    assert Event.objects.filter(verb=REVIEW_REVEALED).count() == 1
    rule = BulkRule("threshold", [world.run.pk], least=0.5)
    bulk = plan_bulk(project=world.project, user=world.rosa, rule=rule, act=BulkAct.Act.ACCEPT)
    begin_bulk(bulk=bulk, user=world.rosa)
    at_once(bulk, run_bulk)
    assert world.shown()[NAME] == ("open", "missed"), "nor by a bulk act"
    world.decide(world.rita, Act.ACCEPT, NAME)
    assert world.finish(world.rita).finished_by == world.rita
    assert (0, 11, "PATIENT") in world.gold
    (mine,) = measured_by(world.project)
    assert (mine.reviewer, mine.missed, mine.rate.decided) == ("rita", 1, 1)
    check_strings()
    # The outcome stays when somebody reopens the note, which is not drawn again.
    reopen_review(document=world.note, author=world.run, user=world.rosa)
    world.store()
    assert PlantedLeak.objects.count() == 1 and world.shown()[NAME] == ("accepted", "missed")
    with pytest.raises(ServiceError, match="nothing to undo"):
        world.decide(world.rosa, Act.UNDO)
    world.finish(world.rosa)
    assert [one.reviewer for one in measured_by(world.project)] == ["rita"]


# ── Planted leaks stay hidden: no list, count, hint or bulk act reveals them ──


def accept_in_bulk(world, rule, **options):
    bulk = plan_bulk(project=world.project, user=world.rosa, rule=rule, act=BulkAct.Act.ACCEPT)
    begin_bulk(bulk=bulk, user=world.rosa, **options)
    at_once(bulk, run_bulk)
    return bulk


def test_lists_counts_hints_and_bulk_acts_leave_hidden_leaks_out(world):
    world.store()
    hidden = world.suggestion(NAME)
    rule = BulkRule("string", [world.run.pk], string=hidden.string_key, label=hidden.label_id)
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
    threshold, agreed = (
        BulkRule("threshold", [world.run.pk], least=0.5),
        BulkRule("agreed", [world.run.pk, world.other.pk]),
    )
    for each in (rule, threshold):
        accept_in_bulk(world, each)
    # A hidden suggestion of one run does not count as agreement.
    with refused("none"):
        plan_bulk(project=world.project, user=world.rosa, rule=agreed, act=BulkAct.Act.ACCEPT)
    assert not Decision.objects.filter(suggestion=hidden).exists()
    assert Decision.objects.filter(suggestion__annotation_set__author=world.run).count() == 8
    check_strings()


def test_agreement_of_runs_does_not_count_hidden_leaks(world):
    agreed = BulkRule("agreed", [world.run.pk, world.other.pk], label=world.suggestion(NAME).label_id)
    assert open_of(agreed, world.project, world.rosa).count() == 6
    world.store()
    assert open_of(agreed, world.project, world.rosa).count() == 4, (
        "counting the other run's span would reveal the hidden one"
    )


def test_a_bulk_act_planned_earlier_leaves_hidden_leaks_alone(world):
    hidden = world.suggestion(NAME)
    rule = BulkRule("threshold", [world.run.pk], least=0.5)
    bulk = plan_bulk(project=world.project, user=world.rosa, rule=rule, act=BulkAct.Act.ACCEPT)
    pairs = [(world.note.pk, span.pk) for span in hidden.annotation_set.spans.all()]
    world.store()
    assert decide_batch(bulk, pairs) == {"decided": 2, "beside": 0, "conflicts": 0}
    assert not Decision.objects.filter(suggestion=hidden).exists()


def test_a_hidden_leak_can_not_be_decided_by_its_id(world):
    world.store()
    for act in (Act.ACCEPT, Act.REJECT):
        # As if the suggestion did not exist.
        with refused("suggestion"):
            world.decide(world.rita, act, NAME)
    with refused("open"):
        world.finish(world.rita)
    assert PlantedLeak.objects.get().result == "", "refused finishing reveals nothing"


def test_a_note_with_nothing_else_open_is_still_offered(world):
    world.plant_in(*world.notes)
    for note in world.notes:
        world.store(note)
        for start in (CITY, DOCTOR):
            world.decide(world.rita, Act.ACCEPT, start, note)
    for order in ("note", "uncertainty"):
        assert next_in_queue(world.run, world.project, NoteOrder(order), world.rita) == world.note.pk


def test_counts_of_doubtful_suggestions_leave_hidden_leaks_out(world):
    hidden = world.suggestion(NAME)
    world.store()
    Span.objects.update(provenance={"removed": [], "unsupported": [], "places": 2})
    rule = BulkRule("threshold", [world.run.pk], least=0.5)
    found = preview(rule, BulkAct.Act.ACCEPT, world.project, world.rosa)
    assert (found.open, found.doubtful) == (0, 8)
    name = hidden.string_key, hidden.label_id
    assert waiting_by_string([name], [world.run.pk], world.project, world.rosa)[name].doubtful == 2
    bulk = accept_in_bulk(world, rule, with_doubtful=True)
    assert not Decision.objects.filter(suggestion=hidden).exists() and bulk.decided == 8
