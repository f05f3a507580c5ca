"""A person's own pace of work. Only this person sees it, and never next to anybody else's."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.annotate.events import NOTE_FETCHED, SET_SUBMITTED
from annotations.core.access import Access
from annotations.models import AnnotationSet, Author, AuthorKind, Event
from annotations.models.prepared import PreparedRead

# A longer time without events is a break.
IDLE = timedelta(minutes=5)
# How many events are read; from how many notes on the median is shown, and of how many it is taken at most.
EVENTS, ENOUGH, NOTES = 300, 3, 15
MOST_TODAY = 1000

Seen = tuple[int | None, str, datetime]
"""A note's id, the event's verb and its time."""

_LATEST = PreparedRead(
    lambda user, project: (
        Event.objects.filter(actor_id=user, project_id=project)
        .exclude(verb=NOTE_FETCHED)
        .order_by("-id")
        .values_list("document_id", "verb", "at")[:EVENTS]
    ),
    int,
    int,
)


def _submitted(user: int, project: int, since: datetime) -> "QuerySet[AnnotationSet, tuple[int]]":
    mine = Author.objects.filter(user_id=user, project_id=project, kind=AuthorKind.ANNOTATOR).order_by().values("pk")
    return (
        AnnotationSet.objects.filter(author_id__in=mine, submitted_at__gte=since)
        .order_by()
        .values_list("pk")[:MOST_TODAY]
    )


_TODAY = PreparedRead(_submitted, int, int, datetime)


@dataclass(frozen=True)
class Pace:
    """Notes submitted since midnight, and the median of minutes per note; None below ENOUGH notes."""

    today: int
    minutes: float | None

    @property
    def text(self) -> str:
        """The pace as a line of text; empty where nothing was submitted today and the median isn't known."""
        parts = [_("%(n)s today") % {"n": f"{self.today:,}"}] if self.today else []
        if self.minutes is not None:
            parts.append(_a_note(self.minutes))
        return " · ".join(parts)


def _a_note(minutes: float) -> str:
    if minutes < 0.75:
        return _("less than a minute per note")
    whole = max(1, round(minutes))
    return ngettext("about %(n)d minute per note", "about %(n)d minutes per note", whole) % {"n": whole}


def pace(access: Access) -> Pace:
    """This person's pace in the project, by two short reads along indexes, whatever the size of the log."""
    person = access.user.pk, access.project.pk
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    rows = _LATEST.all(*person)
    seen = [(document, verb, _moment(at)) for document, verb, at in reversed(rows)]
    return Pace(len(_TODAY.all(*person, midnight)), typical_minutes(seen, whole=len(rows) < EVENTS))


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
