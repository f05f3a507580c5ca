"""The list of a person's notes around the one that is open."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from statistics import median
from typing import Any, NamedTuple

from django.db.models import Count, Exists, OuterRef, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations import models
from annotations.annotate.events import NOTE_FETCHED, SET_SUBMITTED
from annotations.core.access import Access, Can
from annotations.models.prepared import PreparedRead
from annotations.notes.selectors.comments import flaggers, open_flags
from annotations.projects.selectors.projects import own_work

# How many notes the list shows before and after the open one.
AROUND = 15


class NoteItem(NamedTuple):
    """A line of the list of notes.

    `state` is open, done, or empty where the note isn't assigned to this person. `flagged` counts the flags that this
    person may see.
    """

    id: int
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


def work_list(access: Access, note: models.Document) -> WorkList:
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


def _is_flagged(access: Access, note: models.Document) -> bool:
    return open_flags(access).filter(document_id=note.pk).exists()


def _assigned(project_id: int, user_id: int) -> QuerySet[models.Assignment]:
    return models.Assignment.objects.filter(project_id=project_id, user_id=user_id)


def _walk(rows: Callable[..., QuerySet[Any, Any]], key: str, kinds: Sequence[type]) -> list[PreparedRead]:
    """Two queries: the notes from one on, and the nearest before it, each with whether one of `flaggers` flagged it.

    Names and flags are read in an outer query for the few notes found: a join could make the database read all notes.
    """

    def from_here(pk: int, low: int, high: int, *values: Any) -> QuerySet[Any, Any]:
        return named(rows(*values).filter(**{f"{key}__gte": pk}).order_by(key).values(key)[: AROUND + 1], low, high)

    def before(pk: int, low: int, high: int, *values: Any) -> QuerySet[Any, Any]:
        return named(rows(*values).filter(**{f"{key}__lt": pk}).order_by(f"-{key}").values(key)[:AROUND], low, high)

    def named(few: QuerySet[Any, Any], low: int, high: int) -> QuerySet[Any, Any]:
        flags = models.Flag.objects.filter(
            document=OuterRef("pk"), cleared_at__isnull=True, user__gte=low, user__lte=high
        )
        return models.Document.objects.filter(pk__in=few).order_by().values_list("pk", "name", Exists(flags))

    return [PreparedRead(each, int, int, int, *kinds) for each in (from_here, before)]


_ASSIGNED = _walk(
    lambda project, user, state: _assigned(project, user).filter(state=state), "document_id", [int, int, str]
)


_IN_PROJECT = _walk(lambda project: models.Document.objects.filter(project_id=project), "pk", [int])


def _assigned_around(access: Access, pk: int) -> tuple[dict[int, Line], int | None]:
    """The assigned notes around a note, and the note that `next_note` would give, unless it is this one.

    Reads a few rows of the index `assignment_work_list` for each state and direction, whatever the project's size.
    """
    found: dict[int, Line] = {}
    following: int | None = None
    for state in (models.AssignmentState.OPEN, models.AssignmentState.DONE):
        for query in _ASSIGNED:
            rows = query.all(pk, *flaggers(access), access.project.pk, access.user.pk, state.value)
            found |= {note: (name, state.value, bool(flagged)) for note, name, flagged in rows}
        if state == models.AssignmentState.OPEN:
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
        .filter(state=models.AssignmentState.OPEN, document_id__gt=pk)
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


# Counts of notes that annotators have submitted, from the index of annotation sets, which begins with the author.


def submitted_sets(project: models.Project) -> QuerySet[models.AnnotationSet]:
    """Query the submitted annotation sets of annotators."""
    annotators = models.Author.objects.filter(project=project, kind=models.AuthorKind.ANNOTATOR).order_by()
    return models.AnnotationSet.objects.filter(
        author__in=annotators, state=models.AnnotationSetState.SUBMITTED
    ).order_by()


def submitted_notes(project: models.Project) -> int:
    """Count the notes that at least one annotator has submitted.

    These have a comparison, unless their sets changed since then. So few sets are read, instead of all.
    """
    compared = models.Comparison.objects.filter(project=project).order_by()
    changed = models.Stale.objects.order_by().values("document_id")
    again = submitted_sets(project).filter(document_id__in=changed)
    return (
        compared.count()
        - compared.filter(document_id__in=changed).count()
        + again.values("document_id").distinct().count()
    )


def shared_notes(project: models.Project) -> QuerySet[Any, Any]:
    """Query the notes that at least two annotators have submitted, as rows with `document_id`."""
    notes = submitted_sets(project).values("document_id").annotate(annotators=Count("*"))
    return notes.filter(annotators__gte=2).values("document_id")


# A person's own pace of work. Only this person sees it, and never next to anybody else's.


# A longer time without events is a break.
IDLE = timedelta(minutes=5)
# How many events are read; from how many notes on the median is shown, and of how many it is taken at most.
EVENTS, ENOUGH, NOTES = 300, 3, 15
MOST_TODAY = 1000

Seen = tuple[int | None, str, datetime]
"""A note's id, the event's verb and its time."""

_LATEST = PreparedRead(
    lambda user, project: (
        models.Event.objects.filter(actor_id=user, project_id=project)
        .exclude(verb=NOTE_FETCHED)
        .order_by("-at")  # By id, PostgreSQL would search the events of all people.
        .values_list("document_id", "verb", "at")[:EVENTS]
    ),
    int,
    int,
)


def _submitted(user: int, project: int, since: datetime) -> "QuerySet[models.AnnotationSet, tuple[int]]":
    kind = models.AuthorKind.ANNOTATOR
    mine = models.AnnotationSet.objects.filter(author__user_id=user, author__project_id=project, author__kind=kind)
    return mine.filter(submitted_at__gte=since).order_by().values_list("pk")[:MOST_TODAY]


_TODAY = PreparedRead(_submitted, int, int, datetime)


def pace(access: Access, done: int) -> str:
    """This person's pace in the project as a line of text: notes submitted since midnight, and the minutes per note.

    Empty where both are unknown. Two short reads along indexes, whatever the size of the log. `done`: how many of
    their notes the person has done.
    """
    person = access.user.pk, access.project.pk
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    submitted = _TODAY.all(*person, midnight)
    today, minutes = len(submitted), _minutes(*person, midnight, tuple(submitted), done)
    parts = [_("%(n)s today") % {"n": f"{today:,}"}] if today else []
    if minutes is not None and minutes < 0.75:
        parts.append(_("less than a minute per note"))
    elif minutes is not None:
        whole = max(1, round(minutes))
        parts.append(ngettext("about %(n)d minute per note", "about %(n)d minutes per note", whole) % {"n": whole})
    return " · ".join(parts)


@lru_cache(maxsize=256)
def _minutes(user: int, project: int, day: datetime, submitted: tuple[Any, ...], done: int) -> float | None:
    """The minutes per note, computed anew only after a note was submitted or reopened, and each day."""
    rows = _LATEST.all(user, project)
    return typical_minutes([(note, verb, _moment(at)) for note, verb, at in reversed(rows)], whole=len(rows) < EVENTS)


def _moment(value: object) -> datetime:
    """A time as the database gave it: SQLite gives text."""
    return value if isinstance(value, datetime) else datetime.fromisoformat(str(value))


def typical_minutes(seen: Iterable[Seen], *, whole: bool = True) -> float | None:
    """The median of the minutes that the latest submitted notes took, without breaks; None below ENOUGH notes.

    `seen` is in order of time. The time between two events counts for the note of the first one. Unless `seen` is the
    `whole` log, the first note doesn't count, because the person may have begun it earlier.
    """
    spent: dict[int, timedelta] = {}
    submitted: dict[int, timedelta] = {}
    before: Seen | None = None
    first: int | None = None
    for document, verb, at in seen:
        if before is None:
            first = document
        elif before[0] is not None and at - before[2] <= IDLE:
            spent[before[0]] = spent.get(before[0], timedelta()) + (at - before[2])
        if verb == SET_SUBMITTED and document is not None:
            submitted.pop(document, None)  # A note that is submitted again moves to the latest.
            submitted[document] = timedelta()
        before = (document, verb, at)
    notes = [spent.get(note, timedelta()) for note in submitted if whole or note != first]
    if len(notes) < ENOUGH:
        return None
    return median(time.total_seconds() for time in notes[-NOTES:]) / 60
