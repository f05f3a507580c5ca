"""The two-person rule, as it stands: which notes wait for whom, and how far two reviewers agree."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum

from annotations.domain.precision import Rate
from annotations.models import Author, Handover, Project, User
from annotations.models.prepared import PreparedRead
from annotations.projects.selectors.second_reviews import ACTIVE


@dataclass(frozen=True, slots=True)
class Between:
    """A note between two reviewers, as one person meets it: `own` is whether they had a hand in the first review."""

    pk: int
    state: str
    blind: bool
    first: str
    own: bool

    @property
    def stage(self) -> str:
        """waiting (for another person), second (review), or settling (what the two differ in)."""
        if self.own:
            return "waiting"
        return "settling" if self.state == Handover.State.SETTLING else "second"

    @property
    def shows_first(self) -> bool:
        """Whether the first's decisions may be seen beside one's own."""
        return not self.own and (not self.blind or self.state == Handover.State.SETTLING)


_BETWEEN = PreparedRead(
    lambda review, user, waiting, settling: (
        Handover.objects.filter(review_id=review, state__in=[waiting, settling])
        .annotate(own=Exists(Handover.people.through.objects.filter(handover=OuterRef("pk"), user_id=user)))
        .values_list("pk", "state", "blind", "first__username", "own")[:1]
    ),
    int,
    int,
    str,
    str,
)


def between(review: int, user: User | None) -> Between | None:
    """The handover that the review is in, for this person; None where it is in none."""
    row = _BETWEEN.first(review, user.pk if user else 0, *ACTIVE) if review else None
    return Between(row[0], row[1], bool(row[2]), row[3], bool(row[4])) if row else None


def handed_on(user: User | None, *, document: str, author: str) -> "QuerySet[Handover]":
    """Notes that this person handed on, and that wait for another. For Exists, with the names of the outer columns."""
    rows = Handover.objects.filter(
        review__document=OuterRef(document), review__author=OuterRef(author), state__in=ACTIVE
    )
    return rows.filter(people=user) if user is not None else rows.none()


def handed_on_by(user: User | None, author: Author) -> "QuerySet[Handover, int]":
    """The notes of a run that this person handed on, by id."""
    rows = Handover.objects.filter(review__author=author, state__in=ACTIVE)
    rows = rows.filter(people=user) if user is not None else rows.none()
    return rows.values_list("review__document_id", flat=True)


def held_pairs(user: User, documents: Iterable[int]) -> set[tuple[int, int]]:
    """Of these notes, those that this person handed on: (note, author of the run)."""
    rows = Handover.objects.filter(review__document__in=list(documents), state__in=ACTIVE, people=user)
    return set(rows.values_list("review__document_id", "review__author_id"))


@dataclass(frozen=True, slots=True)
class Waiting:
    """Notes of a run between two reviewers: those that wait for this person, and those that wait for somebody else."""

    yours: int = 0
    others: int = 0


def waiting_of(authors: Iterable[int], user: User) -> dict[int, Waiting]:
    """By the run's author."""
    own = Exists(Handover.people.through.objects.filter(handover=OuterRef("pk"), user_id=user.pk))
    rows = Handover.objects.filter(review__author__in=list(authors), state__in=ACTIVE).order_by()
    counted = rows.annotate(own=own).values_list("review__author").annotate(
        yours=Count("pk", filter=Q(own=False)), every=Count("pk")
    )  # fmt: skip
    return {author: Waiting(yours, every - yours) for author, yours, every in counted}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two reviewers' own reviews of the same notes, before anything was settled between them."""

    first: str
    second: str
    blind: bool
    notes: int
    rate: Rate

    @property
    def differ(self) -> int:
        """How much the two decided otherwise."""
        return self.rate.decided - self.rate.right


def pairs(project: Project, runs: Iterable[Author] = ()) -> list[Pair]:
    """Who agreed with whom, blind apart from not; the most compared first."""
    rows = Handover.objects.filter(
        review__document__project=project, state__in=[Handover.State.SETTLING, Handover.State.DONE]
    )
    chosen = [run.pk for run in runs]
    if chosen:
        rows = rows.filter(review__author__in=chosen)
    counted: Any = (
        rows.order_by()
        .values_list("first__username", "second__username", "blind")
        .annotate(notes=Count("pk"), alike=Sum("alike"), compared=Sum("compared"))
    )
    found = [
        Pair(first, second, blind, notes, Rate(alike, compared))
        for first, second, blind, notes, alike, compared in counted
    ]
    return sorted(found, key=lambda pair: (-pair.rate.decided, pair.first, pair.second))
