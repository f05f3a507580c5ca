"""Planted leaks with two reviewers, and the figures that they give."""

import pytest

from annotations.core.errors import ServiceError
from annotations.models import (
    Event,
    PlantedLeak,
    Review,
)
from annotations.models.project import SecondReview
from annotations.projects.events import PROJECT_CHANGED
from annotations.projects.services.projects import update_project
from annotations.review.selectors.leaks_found import measured_by, together, unsuggested
from annotations.review.services.log import Act
from tests.factories import label_of
from tests.review.planting import CITY, NAME, TEXT, first_drawn, made_planting, world

__all__ = ["first_drawn", "made_planting", "world"]


# ── Two people ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rule", [SecondReview.OPEN, SecondReview.BLIND])
def test_the_first_reviewer_is_measured_and_the_second_sees_an_ordinary_suggestion(world, rule):
    world.project.second_review = rule
    world.project.save()
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
