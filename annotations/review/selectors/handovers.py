"""Handovers between two reviewers: which notes wait for whom, and how often two reviewers agree."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum

from annotations.models import Author, Handover, HandoverState, Project, User
from annotations.projects.selectors.projects import ACTIVE
from annotations.review.rules.precision import Rate


@dataclass(frozen=True, slots=True)
class Between:
    """A handover from the perspective of one person. `own`: this person took part in the first review."""

    pk: int
    state: str
    blind: bool
    first: str
    own: bool

    @property
    def stage(self) -> str:
        """The stage: waiting (for another person), second (review), or resolving (differences)."""
        if self.own:
            return "waiting"
        return "resolving" if self.state == HandoverState.RESOLVING else "second"

    @property
    def shows_first(self) -> bool:
        """Whether this person may see the decisions of the first reviewer."""
        return not self.own and (not self.blind or self.state == HandoverState.RESOLVING)


@cache
def _active() -> "QuerySet[Handover, Any]":
    """The active handovers. Cached, because every decision runs this query."""
    rows = Handover.objects.filter(state__in=ACTIVE).order_by()
    return rows.values_list("review_id", "pk", "state", "blind", "first__username")


def between_in(reviews: Iterable[int], user: User | None) -> dict[int, Between]:
    """The active handover of each review, for this person. Reviews without an active handover are missing."""
    rows = list(_active().filter(review__in=list(reviews)))
    if not rows:
        return {}
    people = Handover.people.through.objects.filter(handover__in=[row[1] for row in rows], user=user)
    own = set(people.values_list("handover_id", flat=True)) if user else set()
    return {review: Between(pk, state, blind, first, pk in own) for review, pk, state, blind, first in rows}


def between(review: int, user: User | None) -> Between | None:
    """The active handover of the review, for this person, or None."""
    return between_in([review], user).get(review)


def handed_over_by(user: User | None, *, document: str, author: str) -> "QuerySet[Handover]":
    """Active handovers made by this person, for Exists(); `document` and `author` name columns of the outer query."""
    rows = Handover.objects.filter(
        review__document=OuterRef(document), review__author=OuterRef(author), state__in=ACTIVE
    )
    return rows.filter(people=user) if user is not None else rows.none()


def notes_handed_over_by(user: User | None, author: Author) -> "QuerySet[Handover, int]":
    """Ids of the notes of a run that this person handed over to a second reviewer."""
    rows = Handover.objects.filter(review__author=author, state__in=ACTIVE)
    rows = rows.filter(people=user) if user is not None else rows.none()
    return rows.values_list("review__document_id", flat=True)


def handed_over_pairs(user: User, documents: Iterable[int]) -> set[tuple[int, int]]:
    """Of these notes, the reviews that this person handed over, as (note id, author id of the run)."""
    rows = Handover.objects.filter(review__document__in=list(documents), state__in=ACTIVE, people=user)
    return set(rows.values_list("review__document_id", "review__author_id"))


@dataclass(frozen=True, slots=True)
class Waiting:
    """Numbers of handed-over notes of a run that wait for this person, and for another person."""

    yours: int = 0
    others: int = 0


def waiting_of(authors: Iterable[int], user: User) -> dict[int, Waiting]:
    """The numbers of waiting notes by author id of the run."""
    own = Exists(Handover.people.through.objects.filter(handover=OuterRef("pk"), user_id=user.pk))
    rows = Handover.objects.filter(review__author__in=list(authors), state__in=ACTIVE).order_by()
    counted = rows.annotate(own=own).values_list("review__author").annotate(
        yours=Count("pk", filter=Q(own=False)), every=Count("pk")
    )  # fmt: skip
    return {author: Waiting(yours, every - yours) for author, yours, every in counted}


@dataclass(frozen=True, slots=True)
class Pair:
    """Agreement of two reviewers on the same notes, before they resolved differences."""

    first: str
    second: str
    blind: bool
    notes: int
    rate: Rate

    @property
    def differ(self) -> int:
        """The number of items on which the two reviewers decided differently."""
        return self.rate.decided - self.rate.right


def pairs(project: Project, runs: Iterable[Author] = ()) -> list[Pair]:
    """Agreement of each pair of reviewers, blind and not blind apart; most compared first."""
    rows = Handover.objects.filter(
        review__document__project=project, state__in=[HandoverState.RESOLVING, HandoverState.DONE]
    )
    chosen = [run.pk for run in runs]
    if chosen:
        rows = rows.filter(review__author__in=chosen)
    counted: Any = (
        rows.order_by()
        .values_list("first__username", "second__username", "blind")
        .annotate(notes=Count("pk"), equal=Sum("equal"), compared=Sum("compared"))
    )
    found = [
        Pair(first, second, blind, notes, Rate(equal, compared))
        for first, second, blind, notes, equal, compared in counted
    ]
    return sorted(found, key=lambda pair: (-pair.rate.decided, pair.first, pair.second))
