"""The two-person rule: a note becomes gold once a second person has finished it, blind or not."""

import pytest

from annotations.core.authors import gold_sets
from annotations.core.services import ServiceError
from annotations.gold.services.making import freeze, make_gold
from annotations.jobs.services.queue import begin_undo
from annotations.models import BulkAct, Decision, Event, Handover, Role, Span
from annotations.models.project import SecondReview
from annotations.projects.services.projects import update_project
from annotations.review.events import REVIEW_FINISHED
from annotations.review.selectors.bulk_rules import BulkRule
from annotations.review.selectors.decision_log import decisions
from annotations.review.selectors.reviewing import pairs
from annotations.review.services.bulk import at_once, begin_bulk, plan_bulk, run_bulk, undo_bulk
from annotations.review.services.finishing import reopen_review
from annotations.review.services.log import Act
from tests.factories import change, label_of, make_author, make_member, make_note, make_project, make_set, reread
from tests.held import made_once
from tests.worlds.checks import refused
from tests.worlds.reviewing import Reviews, check_strings, gold_of

TEXT = "Mario Rossi, 54 anni, a Torino."


class World(Reviews):
    def __init__(self, rule=SecondReview.OFF):
        self.project = make_project("covid", second_review=rule)
        self.rita, self.rosa, self.ugo = (make_member(self.project, Role.REVIEWER, n) for n in ("rita", "rosa", "ugo"))
        self.run = make_author(self.project, kind="run", name="rules-1")
        self.notes = [make_note(self.project, TEXT) for _ in range(2)]
        for note in self.notes:
            make_set(note, self.run, [(0, 11, "PATIENT"), (24, 30, "HOSPITAL")], submitted=True)
        Span.objects.update(confidence=0.9)
        self.note = self.notes[0]
        self.age = label_of(self.project, "AGE").pk

    def follow(self, rule):
        change(self.project, second_review=rule)
        return self

    def add_age(self, user):
        return self.decide(user, Act.ADD, bounds=(13, 20, self.age), quote="54 anni")

    def reopen(self, user):
        return reopen_review(document=self.note, author=self.run, user=user)

    def states(self, user):
        return [suggestion["state"] for suggestion in self.state(user)["suggestions"]]

    def first(self, user=None, note=None):
        """The first review, which accepts both suggestions."""
        for start in (0, 24):
            self.decide(user or self.rita, Act.ACCEPT, start, note)
        return self.finish(user or self.rita, note)

    @property
    def gold(self):
        return [(start, label) for start, _end, label in gold_of(self.note)]

    def plan(self, user):
        rule = BulkRule("threshold", [self.run.pk], least=0.0)
        return plan_bulk(project=self.project, user=user, rule=rule, act=BulkAct.Act.ACCEPT)

    def bulk(self, user):
        act = self.plan(user)
        begin_bulk(bulk=act, user=user)
        at_once(act, run_bulk)
        return reread(act)


made, world = made_once(World)


@pytest.fixture
def seen(world):
    return world.follow(SecondReview.OPEN)


@pytest.fixture
def blind(world):
    return world.follow(SecondReview.BLIND)


BOTH = pytest.mark.parametrize("rule", [SecondReview.OPEN, SecondReview.BLIND])


# ── Blind or not ─────────────────────────────────────────────────────────────────────────────────────────────────────


@BOTH
def test_one_person_alone_makes_no_gold(world, rule):
    world.follow(rule)
    assert world.first().finished_at is None
    assert not gold_sets(world.project).exists()
    with pytest.raises(ServiceError, match="no gold to freeze"):
        freeze(project=world.project, actor=world.rita)
    assert world.state(world.rita)["stage"] == "waiting"
    assert world.state(world.rosa)["stage"] == "second"
    # A page of the first review does not finish the second.
    with refused("moved"):
        world.finish(world.rosa, stage="first")
    for late in (
        lambda: world.finish(world.rita), lambda: world.decide(world.rita, Act.REJECT, 0),
        lambda: world.add_age(world.rita), lambda: world.decide(world.rita, Act.UNDO),
    ):  # fmt: skip
        with refused("waiting"):
            late()
    with pytest.raises(ServiceError, match="two people must review"):
        make_gold(document=world.note, annotation_set=world.suggestion(0).annotation_set, actor=world.rosa)
    if rule == SecondReview.BLIND:
        for start in (0, 24):
            world.decide(world.rosa, Act.ACCEPT, start)
    assert world.finish(world.rosa).finished_by == world.rosa
    assert gold_sets(world.project).count() == 1
    event = Event.objects.get(verb=REVIEW_FINISHED)
    assert (event.actor_id, event.data["first"]) == (world.rosa.pk, world.rita.pk)
    (pair,) = pairs(world.project)
    assert (pair.first, pair.second, pair.blind, pair.notes) == ("rita", "rosa", rule == SecondReview.BLIND, 1)
    assert (pair.rate.right, pair.rate.decided, pair.differ) == (2, 2, 0)
    check_strings()


@BOTH
def test_a_bulk_decision_counts_as_part_of_the_first_review(world, rule):
    world.follow(rule)
    act = world.bulk(world.rosa)
    assert act.decided == 4
    world.finish(world.rita)
    assert world.state(world.rosa)["stage"] == world.state(world.rita)["stage"] == "waiting"
    assert world.state(world.ugo)["stage"] == "second"
    begin_undo(act)
    result = at_once(act, undo_bulk)
    assert (result["undone"], result["kept"]) == (2, 2), "decisions in handed-over notes can't be undone"


@BOTH
def test_the_first_reviewer_can_reopen_until_a_second_has_begun(world, rule):
    world.follow(rule)
    world.add_age(world.rita)
    world.first()
    world.reopen(world.rita)
    assert world.state(world.rita)["stage"] == "first"
    assert (world.states(world.rita), len(world.gold)) == (["accepted", "accepted"], 3)
    world.decide(world.rita, Act.UNDO)
    assert world.states(world.rita) == ["accepted", "open"], "the first reviewer's decisions can be undone as before"
    world.decide(world.rita, Act.REJECT, 24)
    world.finish(world.rita)
    world.decide(world.rosa, Act.REJECT, 0)
    with refused("begun", match="rosa has begun"):
        world.reopen(world.rita)
    check_strings()


@BOTH
def test_a_changed_rule_applies_from_the_next_finish(world, rule):
    world.follow(rule)
    world.first()
    update_project(project=world.project, actor=None, second_review=SecondReview.OFF)
    for note in world.notes:
        note.project.refresh_from_db()
    assert world.state(world.rosa)["stage"] == "second", "the note still waits"
    world.first(note=world.notes[1])
    assert gold_sets(world.project).get().document_id == world.notes[1].pk
    world.reopen(world.rita)
    assert world.finish(world.rita).finished_by == world.rita, "once reopened, the note follows the current rule"
    assert gold_sets(world.project).count() == 2


@BOTH
def test_changed_gold_waits_for_a_second_person(world, rule):
    """The note is finished under the old rule and reopened under the new one."""
    world.first()
    update_project(project=world.project, actor=None, second_review=rule)
    world.note.project.refresh_from_db()
    world.reopen(world.rosa)
    assert gold_sets(world.project).count() == 1, "nothing has changed yet"
    world.decide(world.rosa, Act.REJECT, 24)
    assert not gold_sets(world.project).exists()
    world.finish(world.rosa)
    assert world.state(world.rita)["stage"] == "second", "the earlier reviewer may be the second reviewer now"
    assert world.states(world.rita) == (["accepted", "accepted" if rule == SecondReview.BLIND else "rejected"])
    world.finish(world.rita)
    if rule == SecondReview.BLIND:
        assert world.state(world.rita)["stage"] == "resolving"
        world.finish(world.rita)
    assert gold_sets(world.project).count() == 1
    check_strings()


# ── Not blind ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_second_reviewer_confirms_or_changes(seen):
    seen.first()
    state = seen.state(seen.rosa)
    assert (state["finished"], state["open"], state["between"]["first"]) == (False, 0, "rita")
    assert len(state["between"]["outcome"]["suggestions"]) == 2
    seen.decide(seen.rosa, Act.REJECT, 24, seen=("accepted", (24, 30, seen.suggestion(24).label_id)))
    seen.add_age(seen.rosa)
    seen.finish(seen.rosa)
    (pair,) = pairs(seen.project)
    assert (pair.rate.right, pair.rate.decided, pair.blind) == (1, 3, False)
    assert seen.gold == [(0, "PATIENT"), (13, "AGE")]
    rows = [(row["reviewer"], row["act"], row["pass"], row["over"]) for row in decisions(seen.project)]
    assert rows == [
        ("rita", "accept", "first", None), ("rita", "accept", "first", None), ("rita", "hand over", None, None),
        ("rosa", "reject", "second", "rita"), ("rosa", "add", "second", None), ("rosa", "compare", None, None),
    ]  # fmt: skip


# ── Blind ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_blind_second_reviewer_sees_no_decision_of_the_first(blind):
    blind.add_age(blind.rita)
    blind.first()
    state = blind.state(blind.rosa)
    assert blind.states(blind.rosa) == ["open", "open"]
    assert (state["gold"], state["between"]) == ([], {"first": "rita", "blind": True, "outcome": None})
    assert not Decision.objects.exists()
    with pytest.raises(ServiceError, match="2 suggestions are still open"):
        blind.finish(blind.rosa)
    check_strings()


def test_the_second_reviewer_resolves_the_differences(blind):
    blind.add_age(blind.rita)
    blind.first()
    blind.decide(blind.rosa, Act.ACCEPT, 0)
    blind.decide(blind.rosa, Act.REJECT, 24)
    assert blind.finish(blind.rosa).finished_at is None
    state = blind.state(blind.rosa)
    assert (state["stage"], state["finished"]) == ("resolving", False)
    outcome = state["between"]["outcome"]
    assert outcome["suggestions"][str(blind.suggestion(24).pk)] == [24, 30, blind.suggestion(24).label_id]
    assert outcome["others"] == [[13, 20, blind.age]]
    assert not gold_sets(blind.project).exists()
    assert blind.state(blind.rita)["stage"] == "waiting"
    blind.add_age(blind.rosa)
    assert blind.finish(blind.rosa).finished_by == blind.rosa
    assert blind.gold == [(0, "PATIENT"), (13, "AGE")]
    (pair,) = pairs(blind.project)
    assert (pair.rate.right, pair.rate.decided) == (1, 3), "as before the differences were resolved"
    assert [row["pass"] for row in decisions(blind.project) if row["reviewer"] == "rosa"] == [
        "second", "second", None, "resolving"
    ]  # fmt: skip
    assert Handover.objects.get().state == "done"
    with pytest.raises(ServiceError):
        blind.decide(blind.rosa, Act.REJECT, 0)


def test_the_first_reviewer_can_not_reopen_while_the_second_resolves(blind):
    """The second reviewer has decided nothing, and lacks the span that the first one added."""
    Span.objects.all().delete()
    blind.add_age(blind.rita)
    blind.finish(blind.rita)
    blind.finish(blind.rosa)
    assert blind.state(blind.rosa)["stage"] == "resolving"
    with refused("begun", match="rosa"):
        blind.reopen(blind.rita)


def test_a_blind_second_reviewer_decides_in_bulk_and_undoes_it(blind):
    blind.first()
    blind.first(note=blind.notes[1])
    with pytest.raises(ServiceError, match="No open suggestion matches"):
        blind.plan(blind.rita)
    act = blind.bulk(blind.rosa)
    assert (act.planned, act.decided) == (4, 4)
    assert {row["pass"] for row in decisions(blind.project) if row["bulk"]} == {"second"}
    begin_undo(act)
    assert at_once(act, undo_bulk)["undone"] == 4
    assert blind.states(blind.rosa) == ["open", "open"]
    check_strings()
