"""Bulk acts: one act decides open suggestions, never overwrites a person's decision, and is undone as a whole."""

from functools import partial

import pytest
from django.db import transaction

from annotations.core.services import Canceled, ServiceError
from annotations.jobs.services.queue import begin_undo
from annotations.models import AnnotationSet, BulkAct, Decision, Event, Review, Role, Span, SuggestedString
from annotations.review.events import REVIEW_DECIDED, REVIEW_UNDONE
from annotations.review.selectors.bulk_rules import BulkRule
from annotations.review.selectors.state import review_state
from annotations.review.services import bulk as bulk_review
from annotations.review.services import finishing as review_finishing
from annotations.review.services.bulk import at_once, begin_bulk, plan_bulk, run_bulk, undo_bulk
from annotations.review.services.log import Act
from tests.factories import label_of, make_author, make_member, make_note, make_project, make_set, reread
from tests.held import made_once
from tests.worlds.checks import refused
from tests.worlds.reviewing import check_strings, gold_of, review

pytestmark = pytest.mark.both_databases

TEXT = "Mario Rossi, 54 anni, a Torino."
SPANS = [(0, 11, "PATIENT"), (24, 30, "HOSPITAL")]


class World:
    def __init__(self, notes=3):
        self.project = make_project("covid")
        self.rita, self.rosa = (make_member(self.project, Role.REVIEWER, name) for name in ("rita", "rosa"))
        self.runs = [make_author(self.project, kind="run", name=name) for name in ("rules-1", "crf-1")]
        self.notes = [make_note(self.project, TEXT) for _ in range(notes)]
        for note in self.notes:
            make_set(note, self.runs[0], SPANS, submitted=True)
            make_set(note, self.runs[1], SPANS[:1], submitted=True)
        self.spans = Span.objects.filter(annotation_set__author=self.runs[0]).order_by(
            "annotation_set__document", "start"
        )
        Span.objects.filter(start=0).update(confidence=0.9, source="title")
        Span.objects.filter(start=24).update(confidence=0.4, source="place")

    def plan(self, act="accept", *, user=None, runs=None, kind="threshold", **rule):
        rule = {"least": 0.0} | rule if kind == "threshold" else rule
        rule = BulkRule(kind, [run.pk for run in runs or self.runs[:1]], **rule)
        return plan_bulk(project=self.project, user=user or self.rita, rule=rule, act=BulkAct.Act(act))

    def do(self, act="accept", **options):
        bulk = self.plan(act, **options)
        assert begin_bulk(bulk=bulk, user=options.get("user") or self.rita)
        at_once(bulk, run_bulk)
        return reread(bulk)

    def decide(self, act, span, *, user=None, run=0, **options):
        return review(span.annotation_set.document, self.runs[run], user or self.rosa, act, span, **options)

    def undo(self, bulk):
        assert begin_undo(bulk)
        at_once(bulk, undo_bulk)
        bulk.refresh_from_db()

    def gold(self):
        return [(n, start, label) for n, note in enumerate(self.notes) for start, _end, label in gold_of(note)]

    def check(self):
        """Check gold against the accepted decisions, its version against the events, and the counts of strings."""
        for gold in AnnotationSet.objects.filter(author__kind="gold"):
            decided = Event.objects.filter(annotation_set_id=gold.pk, verb__in=[REVIEW_DECIDED, REVIEW_UNDONE])
            assert decided.count() == gold.version
            accepted = Decision.objects.filter(review__document=gold.document_id, verdict="accepted")
            spans, decided = (rows.values_list("start", "end", "label_id") for rows in (gold.spans, accepted))
            assert set(spans) == set(decided)
        check_strings()


made, world = made_once(World)


def test_each_rule_selects_its_suggestions(world):
    patient, hospital = label_of(world.project, "PATIENT"), label_of(world.project, "HOSPITAL")
    assert world.plan().planned == 6
    assert world.plan(least=0.5).planned == 3
    assert world.plan(source="place").planned == 3
    assert world.plan(label=hospital.pk).planned == 3
    assert world.plan(kind="agreed", runs=world.runs).planned == 6, "the same three in each of two runs"
    key = SuggestedString.objects.get(author=world.runs[0], label_id=patient.pk).string_key
    first = world.spans[0]
    assert world.plan(kind="string", string=key, label=patient.pk).planned == 3
    assert world.plan(kind="string", string=key, label=patient.pk, but=[first.pk]).planned == 2
    with refused("none", match="No open suggestion matches"):
        world.plan(kind="agreed", runs=world.runs, agree=3)


def test_one_undo_reverts_the_whole_act(world):
    bulk = world.do()
    world.undo(bulk)
    assert not begin_undo(bulk), "a second call does nothing"
    assert (bulk.state, bulk.undone, bulk.kept) == ("undone", 6, 0)
    assert world.gold() == []
    assert not Decision.objects.exists()
    undone = Event.objects.filter(verb=REVIEW_UNDONE)
    assert {event.reverts for event in undone} == {event.pk for event in Event.objects.filter(verb=REVIEW_DECIDED)}
    assert review_state(document=world.notes[0], author=world.runs[0])["open"] == 2
    world.check()


def test_decisions_of_people_are_kept(world):
    first, second, *_ = world.spans
    bulk = world.plan()
    world.decide(Act.REJECT, first)
    assert begin_bulk(bulk=bulk, user=world.rita)
    at_once(bulk, run_bulk)
    assert (reread(bulk).planned, bulk.decided, bulk.left) == (6, 5, 1)
    assert Decision.objects.get(suggestion=first).reviewer == world.rosa
    # Her later decision is also kept when the act is undone.
    world.decide(Act.REJECT, second)
    world.undo(bulk)
    assert (bulk.undone, bulk.kept) == (4, 1)
    assert set(Decision.objects.values_list("suggestion_id", "reviewer")) == {
        (first.pk, world.rosa.pk), (second.pk, world.rosa.pk)
    }  # fmt: skip
    world.check()


def test_undoing_a_later_decision_restores_the_bulk_decision(world):
    bulk = world.do()
    span, run = world.spans[0], world.runs[0]
    world.decide(Act.REJECT, span)
    review(world.notes[0], run, world.rosa, Act.UNDO)
    assert Decision.objects.get(suggestion=span).cause_id == bulk.pk
    # Undo inside a note does not revert the bulk act.
    with pytest.raises(ServiceError, match="nothing to undo"):
        review(world.notes[0], run, world.rita, Act.UNDO)
    world.undo(bulk)
    assert world.gold() == []
    world.check()


def test_gold_that_another_acceptance_needs_stays(world):
    bulk = world.do(least=0.8)
    other = Span.objects.filter(annotation_set__author=world.runs[1]).order_by("annotation_set__document").first()
    world.decide(Act.ACCEPT, other, run=1)
    world.undo(bulk)
    assert world.gold() == [(0, 0, "PATIENT")]
    world.check()


def test_finished_notes_are_left_alone_by_the_act_and_by_its_undo(world):
    world.do(least=0.8)
    for span in world.spans.filter(start=24):
        world.decide(Act.REJECT, span)
    review_finishing.finish_review(document=world.notes[0], author=world.runs[0], user=world.rosa)
    with pytest.raises(ServiceError, match="No open suggestion matches"):
        world.plan()
    bulk = BulkAct.objects.get(state="done")
    world.undo(bulk)
    assert (bulk.undone, bulk.kept) == (2, 1)
    assert world.gold() == [(0, 0, "PATIENT")]
    assert Review.objects.get(document=world.notes[0], author=world.runs[0]).finished_at


def test_impossible_plans_are_refused(world):
    elsewhere = make_project()
    for rule, code in (
        ({"label": label_of(elsewhere, "CITY").pk}, "label"), ({"to": 10**9}, "label"), ({"least": 0.99}, "none"),
    ):  # fmt: skip
        with refused(code):
            world.plan(**rule)
    with pytest.raises(ServiceError, match="only for accepting"):
        world.plan("reject", to=label_of(world.project, "CITY").pk)
    bulk = world.plan()
    with pytest.raises(ServiceError, match="Another person planned this"):
        begin_bulk(bulk=bulk, user=world.rosa)
    assert begin_bulk(bulk=bulk, user=world.rita)
    assert not begin_bulk(bulk=bulk, user=world.rita), "a second call does nothing"


def test_a_stopped_act_resumes_and_is_undone_as_a_whole(world, monkeypatch):
    monkeypatch.setattr(bulk_review, "BATCH", 2)
    bulk = world.plan()
    begin_bulk(bulk=bulk, user=world.rita)

    def stop(done, total, *, at):
        if done >= at:
            raise Canceled

    with pytest.raises(Canceled), transaction.atomic():
        run_bulk(bulk=bulk, progress=partial(stop, at=2))
    # The exception rolled back the transaction of this test, so that nothing is half done.
    assert not Decision.objects.exists()
    with pytest.raises(Canceled):
        run_bulk(bulk=bulk, progress=partial(stop, at=4))
    assert (reread(bulk).state, bulk.decided) == ("working", 4)
    world.check()
    seen = []
    run_bulk(bulk=bulk, progress=lambda done, total: seen.append((done, total)))
    assert (reread(bulk).state, bulk.decided, seen) == ("done", 6, [(4, 6), (6, 6)])
    begin_undo(bulk)
    with pytest.raises(Canceled):
        undo_bulk(bulk=bulk, progress=partial(stop, at=2))
    undo_bulk(bulk=bulk)
    assert (reread(bulk).state, bulk.undone, bulk.kept) == ("undone", 6, 0)
    world.check()
