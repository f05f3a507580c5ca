"""Proposed removals of a refiner in review: decisions, undo, finishing, two reviewers, figures and exports."""

import uuid
from functools import partial

import pytest

from annotations import models
from annotations.core.services import ServiceError
from annotations.models.project import SecondReview
from annotations.projects.services.labels import merge_labels
from annotations.review.selectors.decision_log import OverruledCounts, decisions, overruled
from annotations.review.selectors.precision import rates_of
from annotations.review.selectors.state import review_state
from annotations.review.services.finishing import reopen_review
from annotations.review.services.log import Act
from models_runtime.models import RefinedItem
from tests import factories as make
from tests.held import made_once
from tests.worlds.pages import TEXT
from tests.worlds.refined import refine
from tests.worlds.reviewing import Reviews, body, gold_of, review, send, url


class World(Reviews):
    def __init__(self):
        self.project = make.make_project("covid")
        self.rita, self.rosa = (make.make_member(self.project, models.Role.REVIEWER, name) for name in ("rita", "rosa"))
        self.note = make.make_note(self.project, TEXT)
        vars(self).update(vars(refine(self.project, self.note)))
        self.hospital, self.city = (make.label_of(self.project, name).pk for name in ("HOSPITAL", "CITY"))

    def decide(self, act, number=None, *, user=None, **options):
        return review(self.note, self.run, user or self.rita, act, removal=number, **options)

    def accept_suggestions(self, user=None):
        for one in self.state(user)["suggestions"]:
            self.decide(Act.ACCEPT, suggestion=one["id"], user=user)

    def removal(self, number=None, user=None):
        found = {one["number"]: one for one in self.state(user)["removals"]}[number or self.removed]
        return found["state"], found["bounds"]

    def gold(self):
        return [(self.note.text[start:end], name) for start, end, name in gold_of(self.note)]


made, world = made_once(World)


def test_accepting_a_removal_leaves_gold_as_it_is_and_rejecting_keeps_the_annotation(world):
    world.decide(Act.ACCEPT, world.removed)
    assert world.removal() == ("accepted", None) and world.gold() == []
    change = uuid.uuid4()
    for _ in range(2):  # a double click sends the same change twice, and a second key the same act
        world.decide(Act.REJECT, world.removed, change_id=change)
    world.decide(Act.REJECT, world.removed)
    assert models.Event.objects.filter(verb="review.decided").count() == 2
    assert world.removal() == ("rejected", (*world.place, world.hospital))
    assert world.gold() == [("Torino", "HOSPITAL")]
    row = models.Span.objects.get(annotation_set__author__kind="gold")
    assert row.provenance["from"] == "run:union-1" and row.provenance["by"] == "rita"
    assert row.provenance["removal"] == world.removed and row.provenance["changed"] == []
    world.decide(Act.CORRECT, world.removed, bounds=(*world.place, world.city), quote="Torino")
    assert world.removal() == ("rejected", (*world.place, world.city)) and world.gold() == [("Torino", "CITY")]
    for act, gold in (
        (Act.UNDO, [("Torino", "HOSPITAL")]), (Act.UNDO, []), (Act.UNDO, []), (Act.REDO, []),
        (Act.REDO, [("Torino", "HOSPITAL")]), (Act.REDO, [("Torino", "CITY")]),
    ):  # fmt: skip
        world.decide(act)
        assert world.gold() == gold, act
    world.decide(Act.ACCEPT, world.removed)
    assert world.gold() == [] and world.removal() == ("accepted", None)


def test_a_span_that_gold_has_needs_no_decision_and_leaves_gold_with_the_removal(world):
    world.decide(Act.ADD, bounds=(*world.place, world.hospital), quote="Torino")
    assert world.removal() == ("rejected", (*world.place, world.hospital)) and world.state()["open"] == 3
    world.decide(Act.ACCEPT, world.removed)
    assert world.gold() == [] and world.removal() == ("accepted", None)
    world.decide(Act.REJECT, world.removed)
    world.decide(Act.REMOVE, bounds=(*world.place, world.hospital))
    assert world.removal() == ("open", None), "its span left gold by other means"


def test_bounds_that_gold_has_already_are_refused(world):
    bounds = (*world.place, world.city)
    world.decide(Act.ADD, bounds=bounds, quote="Torino")
    assert world.refused(Act.CORRECT, world.removed, bounds=bounds, quote="Torino") == "there"
    assert world.refused(Act.ACCEPT, 99) == "suggestion"


def test_a_decision_of_another_person_is_not_overwritten_unseen(world):
    world.decide(Act.REJECT, world.removed)
    assert world.refused(Act.ACCEPT, world.removed, user=world.rosa, seen=("open", None)) == "moved"
    world.decide(Act.ACCEPT, world.removed, user=world.rosa, seen=world.removal())
    assert world.gold() == [] and overruled(world.project) == [OverruledCounts("rosa", "rita", 1, 1)]
    assert world.refused(Act.UNDO) == "moved"


def test_finishing_needs_every_removal_decided(world):
    """Precision counts the refiner's suggestions only."""
    world.accept_suggestions()
    both = [world.removed, world.also_removed]
    for options, code in (({}, "open"), ({"removals": both}, "removals")):
        with pytest.raises(ServiceError) as error:
            world.finish(**options)
        assert error.value.code == code and not models.RemovalDecision.objects.exists()
    world.decide(Act.REJECT, world.removed)
    world.finish(removals=both, with_removals=True)
    assert world.gold()[-1:] == [("Torino", "HOSPITAL")], "what somebody kept meanwhile stays"
    assert models.Review.objects.get().finished_by == world.rita and world.removal(world.also_removed) == (
        "accepted",
        None,
    )
    assert models.Decision.objects.count() == sum(rate.decided for rate in rates_of(world.run).values()) == 2
    assert world.refused(Act.ACCEPT, world.removed) == "finished"
    reopen_review(document=world.note, author=world.run, user=world.rita)
    world.decide(Act.ACCEPT, world.removed)
    assert world.gold() == [("Mario Rossi", "PATIENT"), ("12/03/2021", "DATE")]


def test_the_decision_log_has_removals_in_a_column_of_their_own(world):
    world.decide(Act.REJECT, world.removed)
    world.decide(Act.UNDO)
    first, second = decisions(world.project)
    assert (first["act"], first["removal"], first["suggestion"]) == ("reject", world.removed, None)
    assert (first["before"], first["after"], first["gold_added"]) == ("open", "rejected", [(*world.place, "HOSPITAL")])
    assert (second["act"], second["before"], second["after"]) == ("undo", "rejected", "open")


def test_labels_that_are_merged_take_kept_annotations_with_them(world):
    world.decide(Act.REJECT, world.removed)
    source, target = (make.label_of(world.project, name) for name in ("HOSPITAL", "CITY"))
    merge_labels(source=source, target=target, actor=world.rita)
    assert world.gold() == [("Torino", "CITY")] and world.removal() == ("rejected", (*world.place, world.city))


def test_a_removal_that_shows_where_a_planted_leak_hides_waits_until_it_is_revealed(world):
    result = models.AnnotationSet.objects.get(author=world.run)
    hidden = models.Span.objects.create(
        annotation_set=result, start=world.place[0], end=world.place[1], label_id=world.city
    )
    review = models.Review.objects.create(document=world.note, author=world.run, planted_share=100)
    models.PlantedLeak.objects.create(review=review, suggestion=hidden, known="people")
    assert [one["number"] for one in world.state()["removals"]] == [world.also_removed]
    assert world.refused(Act.ACCEPT, world.removed)
    world.accept_suggestions()
    world.finish(removals=[world.also_removed], with_removals=True)
    assert models.Review.objects.get().finished_at is None and world.removal() == ("open", None)


def test_a_blind_second_reviewer_decides_on_removals_anew(world):
    make.change(world.project, second_review=SecondReview.BLIND)
    world.accept_suggestions()
    world.decide(Act.REJECT, world.removed)
    world.decide(Act.ACCEPT, world.also_removed)
    world.finish()
    assert not models.RemovalDecision.objects.exists() and world.gold() == []
    assert world.removal(user=world.rosa) == ("open", None)
    reopen_review(document=world.note, author=world.run, user=world.rita)
    assert world.removal()[0] == "rejected" and world.removal(world.also_removed)[0] == "accepted"
    world.finish()
    world.accept_suggestions(world.rosa)
    for number in (world.removed, world.also_removed):
        world.decide(Act.ACCEPT, number, user=world.rosa)
    world.finish(world.rosa)
    handover = models.Handover.objects.get(state=models.HandoverState.RESOLVING)
    assert (handover.compared, handover.equal) == (4, 3)
    outcome = world.state(world.rosa)["between"]["outcome"]
    assert outcome["removals"] == {
        str(world.removed): [*world.place, world.hospital], str(world.also_removed): None
    }  # fmt: skip
    world.finish(world.rosa)
    assert models.Review.objects.get().finished_by == world.rosa


def test_without_removals_and_after_the_note_was_deleted(world):
    assert review_state(document=world.note, author=world.source)["removals"] == []
    world.decide(Act.ACCEPT, world.removed)
    RefinedItem.objects.all().delete()
    assert world.state()["removals"] == []
    world.note.delete()
    assert not models.RemovalDecision.objects.exists()


def test_two_people_at_once(transactional_db, at_once):
    world = World()
    seen = {"act": Act.REJECT, "number": world.removed, "seen": ("open", None)}
    at_once(*(partial(world.decide, user=user, **seen) for user in (world.rita, world.rosa)))
    assert world.gold() == [("Torino", "HOSPITAL")] and models.RemovalDecision.objects.count() == 1
    assert models.Event.objects.filter(verb="review.decided").count() == 1


# ── Pages ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_requests(world, sign_in):
    world.name = models.Span.objects.filter(annotation_set__author=world.run).first()
    client = sign_in(world.rita)

    def page(name="review_decide", **changes):
        return send(client, url(world, name), body(world, user=world.rita, **changes))

    assert page(act="reject", removal=world.removed, seen=["open"]).status == 200 and world.removal()[0] == "rejected"
    seen = ["rejected", *world.place, world.hospital]
    assert page(act="accept", removal=world.removed, seen=seen).status == 200
    assert page(act="reject", removal=world.removed, seen=["accepted"]).status == 200
    for wrong in ({"seen": ["rejected"]}, {"seen": ["accepted", 1, 2, 3]}, {"removal": "x"}, {"removal": None}):
        assert page(**({"act": "accept", "removal": world.removed, "seen": ["open"]} | wrong)).status == 400, wrong
    assert page("review_finish", removals="all").status == 400
    refused = page("review_finish", removals=[world.also_removed], stage="first")
    assert (refused.status, refused.json["error"]) == (409, "removals")
    rest = [one["id"] for one in world.state()["suggestions"]]
    done = page("review_finish", rest=rest, removals=[world.also_removed], with_removals=True, stage="first")
    assert done.status == 200 and done.json["next"]
