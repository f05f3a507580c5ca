"""The list of a person's notes around the one that is open."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from annotations.core.access import Access, Can
from annotations.models import Assignment, AssignmentState, Document, Flag
from annotations.models.prepared import PreparedRead
from annotations.notes.selectors.comments import flaggers, open_flags
from annotations.projects.selectors.projects import own_work

# How many notes the list shows before and after the open one.
AROUND = 15


@dataclass(frozen=True)
class NoteItem:
    """A line of the list of notes.

    `state` is open, done, or empty where the note isn't assigned to this person. `flagged` counts the flags that this
    person may see.
    """

    pk: int
    name: str
    state: str
    flagged: bool


Line = tuple[str, str, bool]
"""A NoteItem without its id."""


@dataclass(frozen=True)
class WorkList:
    """The notes around the open one, and how many of their notes this person has done."""

    notes: list[NoteItem]
    done: int
    total: int
    previous: int | None
    next: int | None
    next_open: int | None = None
    # `done` and `total` are lower bounds: counting stops at a limit.
    more: bool = False

    @property
    def left(self) -> int:
        return self.total - self.done


def work_list(access: Access, note: Document) -> WorkList:
    """The person's notes around `note`; the project's, for a person who may read all notes and has none assigned."""
    work = own_work(access)
    done, total = work.done.n, work.total.n
    found, following = _assigned_around(access, note.pk) if total else ({}, None)
    if note.pk not in found and access.can(Can.READ_NOTES):
        found |= {note.pk: (note.name, "", _is_flagged(access, note))} if total else _project_around(access, note.pk)
    order = sorted(found)
    index = order.index(note.pk) if note.pk in found else -1
    return WorkList(
        notes=[NoteItem(pk, *found[pk]) for pk in order],
        done=done,
        total=total,
        more=work.total.more,
        previous=order[index - 1] if index > 0 else None,
        next=order[index + 1] if 0 <= index < len(order) - 1 else None,
        next_open=following,
    )


def _is_flagged(access: Access, note: Document) -> bool:
    return open_flags(access).filter(document_id=note.pk).exists()


def _assigned(project_id: int, user_id: int) -> QuerySet[Assignment]:
    return Assignment.objects.filter(project_id=project_id, user_id=user_id)


def _walk(rows: Callable[..., QuerySet[Any, Any]], key: str, kinds: Sequence[type]) -> list[PreparedRead]:
    """Two queries: the notes from one on, and the nearest before it, each with whether one of `flaggers` flagged it.

    Names and flags are read in an outer query for the few notes found: a join could make the database read all notes.
    """

    def from_here(pk: int, low: int, high: int, *values: Any) -> QuerySet[Any, Any]:
        return named(rows(*values).filter(**{f"{key}__gte": pk}).order_by(key).values(key)[: AROUND + 1], low, high)

    def before(pk: int, low: int, high: int, *values: Any) -> QuerySet[Any, Any]:
        return named(rows(*values).filter(**{f"{key}__lt": pk}).order_by(f"-{key}").values(key)[:AROUND], low, high)

    def named(few: QuerySet[Any, Any], low: int, high: int) -> QuerySet[Any, Any]:
        flags = Flag.objects.filter(document=OuterRef("pk"), cleared_at__isnull=True, user__gte=low, user__lte=high)
        return Document.objects.filter(pk__in=few).order_by().values_list("pk", "name", Exists(flags))

    return [PreparedRead(each, int, int, int, *kinds) for each in (from_here, before)]


_ASSIGNED = _walk(
    lambda project, user, state: _assigned(project, user).filter(state=state),
    "document_id",
    [int, int, str],
)


_IN_PROJECT = _walk(lambda project: Document.objects.filter(project_id=project), "pk", [int])


def _assigned_around(access: Access, pk: int) -> tuple[dict[int, Line], int | None]:
    """The assigned notes around a note, and the note that `next_note` would give, unless it is this one.

    Reads a few rows of the index `assignment_work_list` for each state and direction, whatever the project's size.
    """
    found: dict[int, Line] = {}
    following: int | None = None
    for state in (AssignmentState.OPEN, AssignmentState.DONE):
        for query in _ASSIGNED:
            rows = query.all(pk, *flaggers(access), access.project.pk, access.user.pk, state.value)
            found |= {note: (name, state.value, bool(flagged)) for note, name, flagged in rows}
        if state == AssignmentState.OPEN:
            following = min((note for note in found if note > pk), default=None) or next_note(access)
    return _nearest(found, pk), following if following != pk else None


def _project_around(access: Access, pk: int) -> dict[int, Line]:
    rows = [row for query in _IN_PROJECT for row in query.all(pk, *flaggers(access), access.project.pk)]
    return {note: (name, "", bool(flagged)) for note, name, flagged in rows}


def _nearest(found: dict[int, Line], pk: int) -> dict[int, Line]:
    """The nearest AROUND notes on each side: farther away, a note of the other state may be missing."""
    before = sorted((note for note in found if note < pk), reverse=True)[:AROUND]
    after = sorted(note for note in found if note >= pk)[: AROUND + 1]
    return {note: found[note] for note in [*before, *after]}


_OPEN_AFTER = PreparedRead(
    lambda project, user, pk: (
        _assigned(project, user)
        .filter(state=AssignmentState.OPEN, document_id__gt=pk)
        .order_by("document_id")
        .values_list("document_id")[:1]
    ),
    int,
    int,
    int,
)


def next_note(access: Access, after: int | None = None) -> int | None:
    """The person's next open note after `after`, else their first open one; None when nothing is left."""
    person = access.project.pk, access.user.pk
    row = _OPEN_AFTER.first(*person, after) if after else None
    row = row or _OPEN_AFTER.first(*person, 0)
    return row[0] if row else None
