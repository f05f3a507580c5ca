"""Routes of the notes to adjudicate: list, count, the next one, finish unanimous ones."""

from collections.abc import Sequence
from typing import Any, Final, Self

from django.http import HttpResponseBase
from ninja import Field, Query, Router, Schema

from annotations.agreement.api.comparing import compare
from annotations.agreement.selectors.adjudication.waiting import (
    AdjudicationLine,
    Show,
    adjudication_lines,
    finished_without_gold,
    next_to_adjudicate,
    numbers,
    unanimous_notes,
)
from annotations.agreement.services.adjudication.deciding import finish_unanimous
from annotations.core.access import Access, Can
from annotations.core.api.paging import Page, Paging, paged
from annotations.core.api.requests import ApiRequest, enter
from annotations.text.names import MAX_ID

router = Router(tags=["Adjudication"])
PATH: Final = "/projects/{slug:slug}/adjudications"
# Seconds for which one request finishes unanimous notes.
FINISHING: Final = 5.0


class AdjudicationItem(Schema):
    """A note that two or more annotators have submitted. `pending` annotators still have it.

    `state`: new, begun, again (annotations changed since) or finished. `agreement` is null if nobody marked anything.
    """

    note: int
    name: str
    annotators: int
    pending: int
    agreement: float | None
    disputed: int
    agreed: int
    decided: int
    state: str
    gold: bool

    @classmethod
    def of(cls, line: AdjudicationLine) -> Self:
        return cls(
            note=line.pk, name=line.name, annotators=line.annotators, pending=line.pending, agreement=line.agreement,
            disputed=line.disputed, agreed=line.agreed, decided=line.decided, state=line.state, gold=line.gold,
        )  # fmt: skip


class AdjudicationCounts(Schema):
    """The number of notes for each state, of finished ones without gold, and of unanimous notes.

    Unanimous notes count only in a project that accepts them without an adjudicator, and until somebody begins them.
    """

    todo: int
    begun: int
    again: int
    finished: int
    all: int
    unanimous: int
    without_gold: int


class LastNote(Schema):
    """The note that was adjudicated last."""

    after: int | None = Field(None, ge=0, le=MAX_ID)


class NextNote(Schema):
    """The note to adjudicate next; null if none is left."""

    note: int | None


class FinishedNotes(Schema):
    """How many unanimous notes were finished, and how many are left for another request."""

    finished: int
    left: int


@router.get(PATH, response=Page[AdjudicationItem])
def list_adjudications(
    request: ApiRequest, slug: str, paging: Query[Paging], state: Show = Show.TODO
) -> dict[str, Any] | HttpResponseBase:
    """List the notes that two or more annotators have submitted, by id."""
    access = _compared(request, slug)

    def fetch(after: int | None, size: int) -> Sequence[AdjudicationLine]:
        return adjudication_lines(access.project, state, after=after, size=size)

    return paged(request, paging, fetch, AdjudicationItem.of, lambda line: line.pk)


@router.get(f"{PATH}/counts", response=AdjudicationCounts)
def count_adjudications(request: ApiRequest, slug: str) -> AdjudicationCounts:
    """Count the notes to adjudicate."""
    project = _compared(request, slug).project
    unanimous = unanimous_notes(project).count() if project.unanimous_passes else 0
    return AdjudicationCounts(**numbers(project), unanimous=unanimous, without_gold=finished_without_gold(project))


@router.get(f"{PATH}/next", response=NextNote)
def next_adjudication(request: ApiRequest, slug: str, place: Query[LastNote]) -> NextNote:
    """Say which note to adjudicate next: the one after the note `after`, lowest agreement first."""
    return NextNote(note=next_to_adjudicate(_compared(request, slug).project, place.after))


@router.post(f"{PATH}/unanimous", response=FinishedNotes)
def finish_unanimous_notes(request: ApiRequest, slug: str) -> FinishedNotes:
    """Finish the notes on which all annotators agree, in a project that accepts them, some at a time."""
    access = _compared(request, slug)
    done, left = finish_unanimous(project=access.project, user=access.user, seconds=FINISHING)
    return FinishedNotes(finished=done, left=left)


def _compared(request: ApiRequest, slug: str) -> Access:
    access = enter(request, slug, Can.MAKE_GOLD)
    compare(access.project)
    return access
