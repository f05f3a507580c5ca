"""How a person's work goes: for themselves only, and never beside anybody else's."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.core.access import Access
from annotations.models import AnnotationSet, Author, Event, Verb
from annotations.models.prepared import PreparedRead

# A longer silence is a break.
IDLE = timedelta(minutes=5)
# How far back the log is read, how many notes make a typical one, and how many of those are looked at.
EVENTS, ENOUGH, NOTES = 300, 3, 15
MOST_TODAY = 1000

Seen = tuple[int | None, str, datetime]
"""A note's id, what was done, and when."""

_LATEST = PreparedRead(
    lambda user, project: (
        Event.objects.filter(actor_id=user, project_id=project)
        .exclude(verb=Verb.NOTE_FETCHED)
        .order_by("-id")
        .values_list("document_id", "verb", "at")[:EVENTS]
    ),
    int,
    int,
)


def _submitted(user: int, project: int, since: datetime) -> "QuerySet[AnnotationSet, tuple[int]]":
    mine = Author.objects.filter(user_id=user, project_id=project, kind=Author.Kind.ANNOTATOR).order_by().values("pk")
    return (
        AnnotationSet.objects.filter(author_id__in=mine, submitted_at__gte=since)
        .order_by()
        .values_list("pk")[:MOST_TODAY]
    )


_TODAY = PreparedRead(_submitted, int, int, datetime)


@dataclass(frozen=True)
class Pace:
    """Notes submitted since midnight, and the minutes that a note typically takes; None while too little is known."""

    today: int
    minutes: float | None

    @property
    def words(self) -> str:
        """Empty where there is nothing to say."""
        parts = [_("%(n)s today") % {"n": f"{self.today:,}"}] if self.today else []
        if self.minutes is not None:
            parts.append(_a_note(self.minutes))
        return " · ".join(parts)


def _a_note(minutes: float) -> str:
    if minutes < 0.75:
        return _("less than a minute a note")
    whole = max(1, round(minutes))
    return ngettext("about %(n)d minute a note", "about %(n)d minutes a note", whole) % {"n": whole}


def pace(access: Access) -> Pace:
    """Two short reads along indexes, whatever the log's size."""
    person = access.user.pk, access.project.pk
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    rows = _LATEST.all(*person)
    seen = [(document, verb, _moment(at)) for document, verb, at in reversed(rows)]
    return Pace(len(_TODAY.all(*person, midnight)), typical_minutes(seen, whole=len(rows) < EVENTS))


def _moment(value: object) -> datetime:
    """SQLite has no type for points in time."""
    return value if isinstance(value, datetime) else datetime.fromisoformat(str(value))


def typical_minutes(seen: Iterable[Seen], *, whole: bool = True) -> float | None:
    """The median over the latest submitted notes of the time between events, breaks left out.

    `seen` is in order of time; the time up to the next event belongs to the note of the one before. Without the `whole`
    log its first note may have been begun earlier, and doesn't count. None with fewer than ENOUGH notes.
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
        if verb == Verb.SET_SUBMITTED and document is not None:
            submitted.pop(document, None)  # submitted once more: now it is among the latest
            submitted[document] = timedelta()
        before = (document, verb, at)
    notes = [spent.get(note, timedelta()) for note in submitted if whole or note != first]
    if len(notes) < ENOUGH:
        return None
    return median(time.total_seconds() for time in notes[-NOTES:]) / 60
