"""The notes of a run around the one under review, each with how far its review is."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from django.db.models import Exists, F, OuterRef, QuerySet

from annotations.models import AnnotationSet, Author, Handover, Review, User
from annotations.projects.selectors.second_reviews import ACTIVE

# Notes shown to either side of the one that is open. More would be scrolled past, and cost every page.
BESIDE: Final = 60


class Stage(StrEnum):
    """How far the review of a note is, as one person meets it."""

    OPEN = "open"
    BEGUN = "begun"
    SECOND = "second"  # waits for this person as the second reviewer
    WAITING = "waiting"  # for another person
    DONE = "done"


@dataclass(frozen=True, slots=True)
class ListedNote:
    """A line of the list."""

    pk: int
    name: str
    stage: Stage


@dataclass(frozen=True, slots=True)
class ReviewList:
    """Some notes of a run in their order, the open one among them; the next note beyond either end, by id."""

    notes: list[ListedNote]
    current: int
    earlier: int | None
    later: int | None

    @property
    def before(self) -> int | None:
        """The note before the open one, by id."""
        return max((note.pk for note in self.notes if note.pk < self.current), default=None)

    @property
    def after(self) -> int | None:
        """The note after the open one, by id."""
        return min((note.pk for note in self.notes if note.pk > self.current), default=None)


def review_list(author: Author, pk: int, user: User) -> ReviewList:
    """The notes around note `pk`, at most BESIDE to either side, by id."""
    read = AnnotationSet.objects.filter(author=author, state=AnnotationSet.State.SUBMITTED)
    rows = read.values_list("document_id", "document__name")
    before = [*rows.filter(document_id__lt=pk).order_by("-document_id")[: BESIDE + 1]]
    following = [*rows.filter(document_id__gte=pk).order_by("document_id")[: BESIDE + 2]]
    earlier = before.pop()[0] if len(before) > BESIDE else None
    later = following.pop()[0] if len(following) > BESIDE + 1 else None
    found = [*reversed(before), *following]
    stages = _stages(author, [note for note, _ in found], user)
    return ReviewList(
        [ListedNote(note, name, stages.get(note, Stage.OPEN)) for note, name in found], pk, earlier, later
    )


def _stages(author: Author, notes: Iterable[int], user: User) -> dict[int, Stage]:
    """Of the notes whose review was begun."""
    between: QuerySet[Handover] = Handover.objects.filter(review=OuterRef("pk"), state__in=ACTIVE)
    rows = Review.objects.filter(author=author, document__in=list(notes)).order_by()
    rows = rows.annotate(between=Exists(between), own=Exists(between.filter(people=user)))
    found = rows.values_list("document_id", "closed_at", F("between"), F("own"))
    return {note: _stage(closed is not None, handed, own) for note, closed, handed, own in found}


def _stage(closed: bool, handed: bool, own: bool) -> Stage:
    if closed:
        return Stage.DONE
    if handed:
        return Stage.WAITING if own else Stage.SECOND
    return Stage.BEGUN
