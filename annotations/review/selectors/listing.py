"""The list of notes beside the note under review, each with the stage of its review."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from django.db.models import Exists, F, OuterRef, QuerySet

from annotations.models import AnnotationSet, AnnotationSetState, Author, Handover, Review, User
from annotations.projects.selectors.projects import ACTIVE

# Notes shown before and after the open note. More would slow down every page and be scrolled past.
MOST_NEIGHBORS: Final = 60


class Stage(StrEnum):
    """The stage of a note's review, from the perspective of one person."""

    OPEN = "open"
    BEGUN = "begun"
    SECOND = "second"  # waiting for this person as second reviewer
    WAITING = "waiting"  # waiting for another person
    DONE = "done"


@dataclass(frozen=True, slots=True)
class ListedNote:
    """One row of the list."""

    pk: int
    name: str
    stage: Stage


@dataclass(frozen=True, slots=True)
class ReviewList:
    """Some notes of a run, ordered by id, including the `current` one.

    `earlier` and `later` are the ids of the next notes beyond either end, or None.
    """

    notes: list[ListedNote]
    current: int
    earlier: int | None
    later: int | None

    @property
    def before(self) -> int | None:
        """The id of the note before the current one, or None."""
        return max((note.pk for note in self.notes if note.pk < self.current), default=None)

    @property
    def after(self) -> int | None:
        """The id of the note after the current one, or None."""
        return min((note.pk for note in self.notes if note.pk > self.current), default=None)


def review_list(author: Author, pk: int, user: User) -> ReviewList:
    """The notes around note `pk`, at most MOST_NEIGHBORS before and after it, ordered by id."""
    sets = AnnotationSet.objects.filter(author=author, state=AnnotationSetState.SUBMITTED)
    rows = sets.values_list("document_id", "document__name")
    before = [*rows.filter(document_id__lt=pk).order_by("-document_id")[: MOST_NEIGHBORS + 1]]
    following = [*rows.filter(document_id__gte=pk).order_by("document_id")[: MOST_NEIGHBORS + 2]]
    earlier = before.pop()[0] if len(before) > MOST_NEIGHBORS else None
    later = following.pop()[0] if len(following) > MOST_NEIGHBORS + 1 else None
    found = [*reversed(before), *following]
    stages = _stages(author, [note for note, _ in found], user)
    return ReviewList(
        [ListedNote(note, name, stages.get(note, Stage.OPEN)) for note, name in found], pk, earlier, later
    )


def _stages(author: Author, notes: Iterable[int], user: User) -> dict[int, Stage]:
    """The stages of those notes whose review has begun."""
    between: QuerySet[Handover] = Handover.objects.filter(review=OuterRef("pk"), state__in=ACTIVE)
    rows = Review.objects.filter(author=author, document__in=list(notes), ahead__isnull=True).order_by()
    rows = rows.annotate(between=Exists(between), own=Exists(between.filter(people=user)))
    found = rows.values_list("document_id", "finished_at", F("between"), F("own"))
    return {note: _stage(finished_at is not None, handed_over, own) for note, finished_at, handed_over, own in found}


def _stage(finished: bool, handed_over: bool, own: bool) -> Stage:
    if finished:
        return Stage.DONE
    if handed_over:
        return Stage.WAITING if own else Stage.SECOND
    return Stage.BEGUN
