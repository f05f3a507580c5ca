"""What reading found of the planted leaks, by reviewer and altogether, and what that says of what nobody proposed."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotations.core.gold_sets import gold_sets
from annotations.domain.planting import Left, Missed, left_over
from annotations.models import Decision, PlantedLeak, Project, Review, Span
from annotations.review.selectors.planted import HIDDEN

Result = PlantedLeak.Result


@dataclass(frozen=True, slots=True)
class Measured:
    """Planted leaks of a reviewer, or of all (`reviewer` empty).

    `none`: no identifiers after all, a person decided, so they are not among the missed; `waiting` for a decision;
    `elsewhere`: in gold by other means. None of these is in the rate.
    """

    reviewer: str
    reviewer_id: int
    missed: Missed
    none: int = 0
    waiting: int = 0
    elsewhere: int = 0


def measured_by(project: Project, runs: Iterable[int] = ()) -> list[Measured]:
    """By reviewer: whoever marked it, or closed the note without. Only what was revealed; the most first."""
    rejected = Q(proposal__decision__verdict=Decision.Verdict.REJECTED)
    accepted = Q(proposal__decision__verdict=Decision.Verdict.ACCEPTED)
    undecided = Q(proposal__decision__isnull=True)
    was_found, in_part, was_missed = (Q(result=each) for each in (Result.FOUND, Result.PARTLY, Result.MISSED))
    counted = (
        _revealed(project, runs)
        .order_by()
        .values("reader_id", "reader__username")
        .annotate(
            # A blind second reader's pass sets the first one's decisions aside: what was found stays found.
            found=Count("pk", filter=was_found & (accepted | undecided)),
            # Whoever rejects it says that what the reader had marked of it is all there is.
            partly=Count("pk", filter=in_part & (accepted | rejected)),
            missed=Count("pk", filter=was_missed & accepted),
            none=Count("pk", filter=(was_found | was_missed) & rejected),
            waiting=Count("pk", filter=(in_part | was_missed) & undecided),
            elsewhere=Count("pk", filter=Q(result=Result.ELSEWHERE)),
        )
    )
    found = [
        Measured(
            row["reader__username"] or "", row["reader_id"] or 0, Missed(row["found"], row["partly"], row["missed"]),
            row["none"], row["waiting"], row["elsewhere"],
        )
        for row in counted
    ]  # fmt: skip
    return sorted(found, key=lambda each: (-each.missed.rate.decided, each.reviewer))


def together(measured: Iterable[Measured]) -> Measured:
    """All reviewers as one."""
    each = list(measured)
    missed = Missed(
        sum(one.missed.found for one in each), sum(one.missed.partly for one in each),
        sum(one.missed.missed for one in each),
    )  # fmt: skip
    return Measured(
        "", 0, missed, sum(one.none for one in each), sum(one.waiting for one in each),
        sum(one.elsewhere for one in each),
    )  # fmt: skip


def _revealed(project: Project, runs: Iterable[int]) -> "QuerySet[PlantedLeak]":
    rows = PlantedLeak.objects.filter(review__document__project=project).exclude(result=HIDDEN)
    chosen = list(runs)
    return rows.filter(review__author__in=chosen) if chosen else rows


@dataclass(frozen=True, slots=True)
class Unproposed:
    """In `notes` closed while leaks were planted: `by_hand` identifiers that reading alone found; what is `left`."""

    notes: int
    by_hand: int
    left: Left | None


def unproposed(project: Project, missed: Missed, runs: Iterable[int] = ()) -> Unproposed:
    """What reading found beside the proposals, without the planted ones that it found, and how much that leaves."""
    closed = Review.objects.filter(document__project=project, planted_share__gt=0, closed_at__isnull=False)
    if chosen := list(runs):
        closed = closed.filter(author__in=chosen)
    notes = closed.order_by().values("document").distinct()
    gold = gold_sets(project).filter(document__in=notes)
    added = Span.objects.filter(annotation_set__in=gold.values("pk"), provenance__changed=["added"])
    planted = PlantedLeak.objects.filter(review__in=closed.values("pk"))
    # Those that reading found stand in gold as the reader marked them; of those found in part the reader's span does.
    twins = planted.filter(
        result=Result.FOUND, review__document=OuterRef("annotation_set__document"),
        proposal__decision__start=OuterRef("start"), proposal__decision__end=OuterRef("end"),
        proposal__decision__label_id=OuterRef("label_id"),
    )  # fmt: skip
    by_hand = added.exclude(Exists(twins)).count() - planted.filter(result=Result.PARTLY).count()
    return Unproposed(notes.count(), max(0, by_hand), left_over(max(0, by_hand), missed.rate))
