"""How many planted leaks reviewers found and missed, and what that implies for identifiers that no run suggested."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotations.core.access import Access, Can
from annotations.core.authors import gold_sets
from annotations.core.suggestions import HIDDEN
from annotations.models import Decision, PlantedLeak, Project, Review, Span
from annotations.review.rules.planting import Left, Missed, left_over

Result = PlantedLeak.Result


@dataclass(frozen=True, slots=True)
class Measured:
    """Planted leaks of one reviewer, or of all reviewers (`reviewer` is empty).

    Not part of the rate: `none` (a person decided that they are no identifiers), `waiting` (undecided) and `elsewhere`
    (added to gold by other means).
    """

    reviewer: str
    reviewer_id: int
    missed: Missed
    none: int = 0
    waiting: int = 0
    elsewhere: int = 0


def measured_by(project: Project, runs: Iterable[int] = ()) -> list[Measured]:
    """Revealed planted leaks by reviewer, most first.

    The reviewer is the person who marked the planted leak, or else who finished the note without marking it.
    """
    rejected = Q(suggestion__decision__verdict=Decision.Verdict.REJECTED)
    accepted = Q(suggestion__decision__verdict=Decision.Verdict.ACCEPTED)
    undecided = Q(suggestion__decision__isnull=True)
    was_found, in_part, was_missed = (Q(result=each) for each in (Result.FOUND, Result.PARTLY, Result.MISSED))
    counted = (
        _revealed(project, runs)
        .order_by()
        .values("reviewer_id", "reviewer__username")
        .annotate(
            # A blind second review removes the first decisions from the tables, but a found leak stays found.
            found=Count("pk", filter=was_found & (accepted | undecided)),
            # A rejection says that the part that the reviewer marked is the whole identifier.
            partly=Count("pk", filter=in_part & (accepted | rejected)),
            missed=Count("pk", filter=was_missed & accepted),
            none=Count("pk", filter=(was_found | was_missed) & rejected),
            waiting=Count("pk", filter=(in_part | was_missed) & undecided),
            elsewhere=Count("pk", filter=Q(result=Result.ELSEWHERE)),
        )
    )
    found = [
        Measured(
            row["reviewer__username"] or "", row["reviewer_id"] or 0,
            Missed(row["found"], row["partly"], row["missed"]), row["none"], row["waiting"], row["elsewhere"],
        )
        for row in counted
    ]  # fmt: skip
    return sorted(found, key=lambda each: (-each.missed.rate.decided, each.reviewer))


def together(measured: Iterable[Measured]) -> Measured:
    """The sum over all reviewers."""
    each = list(measured)
    missed = Missed(
        sum(one.missed.found for one in each), sum(one.missed.partly for one in each),
        sum(one.missed.missed for one in each),
    )  # fmt: skip
    return Measured(
        "", 0, missed, sum(one.none for one in each), sum(one.waiting for one in each),
        sum(one.elsewhere for one in each),
    )  # fmt: skip


class Planting(TypedDict):
    """What a person may see of planted leaks: `whole` of all reviewers, `rows` by reviewer, `others` rows are kept."""

    measured: bool
    rows: list[Measured]
    whole: Measured
    others: int
    unsuggested: "Unsuggested | None"


def planting_for(access: Access, runs: Sequence[int]) -> Planting:
    """Missed planted leaks: managers see the figures of all reviewers, others the total and their own figures."""
    measured = measured_by(access.project, runs)
    whole = together(measured)
    rows = measured if access.can(Can.MANAGE) else [one for one in measured if one.reviewer_id == access.user.pk]
    return {
        "measured": bool(measured),
        "rows": rows,
        "whole": whole,
        "others": len(measured) - len(rows),
        "unsuggested": unsuggested(access.project, whole.missed, runs) if measured else None,
    }


def figures_of(one: Measured) -> dict[str, Any]:
    """Return the figures as commands and the API give them."""
    missed, rate = one.missed, one.missed.rate
    return {
        "missed": missed.missed, "found": missed.found, "partly": missed.partly, "no_identifier": one.none,
        "waiting": one.waiting, "elsewhere": one.elsewhere, "share": rate.share,
        "interval": list(rate.interval) if rate.interval else None, "few": rate.few,
    }  # fmt: skip


def _revealed(project: Project, runs: Iterable[int]) -> "QuerySet[PlantedLeak]":
    rows = PlantedLeak.objects.filter(review__document__project=project).exclude(result=HIDDEN)
    chosen = list(runs)
    return rows.filter(review__author__in=chosen) if chosen else rows


@dataclass(frozen=True, slots=True)
class Unsuggested:
    """Identifiers that no run suggested: `by_hand` found by reviewers in `notes` finished notes, and what is `left`.

    Only notes that were part of the measurement with planted leaks count.
    """

    notes: int
    by_hand: int
    left: Left | None


def unsuggested(project: Project, missed: Missed, runs: Iterable[int] = ()) -> Unsuggested:
    """Identifiers that reviewers added by hand, without found planted leaks, and an estimate of how many are left."""
    finished = Review.objects.filter(document__project=project, planted_share__gt=0, finished_at__isnull=False)
    if chosen := list(runs):
        finished = finished.filter(author__in=chosen)
    notes = finished.order_by().values("document").distinct()
    gold = gold_sets(project).filter(document__in=notes)
    added = Span.objects.filter(annotation_set__in=gold.values("pk"), provenance__changed=["added"])
    planted = PlantedLeak.objects.filter(review__in=finished.values("pk"))
    # A found planted leak is in gold as the reviewer marked it, so its span must not count as found by hand as well.
    found = planted.filter(
        result=Result.FOUND, review__document=OuterRef("annotation_set__document"),
        suggestion__decision__start=OuterRef("start"), suggestion__decision__end=OuterRef("end"),
        suggestion__decision__label_id=OuterRef("label_id"),
    )  # fmt: skip
    by_hand = added.exclude(Exists(found)).count() - planted.filter(result=Result.PARTLY).count()
    return Unsuggested(notes.count(), max(0, by_hand), left_over(max(0, by_hand), missed.rate))
