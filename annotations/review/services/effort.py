"""The effort of review between two events (acts, notes, spans, seconds), computed from the event log alone.

One act is a decision, an added span, an undo, or the finishing or reopening of a review. A bulk act is one act, however
many suggestions it decided. Moving between suggestions and selecting text are not logged, so the number of acts is a
lower bound of the effort.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q

from annotations.annotate.selectors.worklist import IDLE
from annotations.core.services import NOTE_READ
from annotations.core.stored_figures import FigureKind, keep, kept, key_of
from annotations.models import Event, Project
from annotations.notes.events import NOTES_SEARCHED
from annotations.review import events as review_events

REVISION = 1
EFFORT: FigureKind[dict[str, Any]] = FigureKind("effort")
CHUNK = 5_000
ACTS = frozenset(
    {
        review_events.REVIEW_DECIDED, review_events.REVIEW_UNDONE, review_events.REVIEW_FINISHED,
        review_events.REVIEW_REOPENED, review_events.REVIEW_BULK_DONE, review_events.REVIEW_BULK_UNDONE,
        review_events.REVIEW_HANDED_OVER, review_events.REVIEW_HANDOVER_UNDONE, review_events.REVIEW_COMPARED,
    }
)  # fmt: skip
BULK = frozenset({review_events.REVIEW_BULK_DONE, review_events.REVIEW_BULK_UNDONE})
# The time before an act counts for the act, so opening a note or looking at strings starts the clock.
LOOKED_AT = frozenset({*ACTS, NOTE_READ, NOTES_SEARCHED})

LoggedEvent = tuple[int | None, int | None, str, dict[str, Any], datetime]
"""Actor id, document id, verb, data and time of an event."""


@dataclass(frozen=True, slots=True)
class Effort:
    """Effort in `acts`, of which `bulk` were bulk acts, and `seconds` without breaks.

    `notes` were finished and hold `spans` gold spans.
    """

    acts: int = 0
    bulk: int = 0
    notes: int = 0
    spans: int = 0
    seconds: float = 0.0

    @property
    def acts_per_span(self) -> float | None:
        return self.acts / self.spans if self.spans else None

    @property
    def seconds_per_note(self) -> float | None:
        return self.seconds / self.notes if self.notes else None


def effort_of(events: Iterable[LoggedEvent]) -> Effort:
    """The effort of ordered events. The time from a person's event to their next act counts, unless it was a break."""
    acts = bulk = 0
    seconds = 0.0
    finished: dict[int | None, int] = {}
    last: dict[int | None, datetime] = {}
    for actor, document, verb, data, at in events:
        if verb in ACTS:
            acts += 1
            bulk += verb in BULK
            if actor in last and at - last[actor] <= IDLE:
                seconds += (at - last[actor]).total_seconds()
        if verb == review_events.REVIEW_FINISHED:
            finished[document] = int(data.get("spans", 0))
        elif verb == review_events.REVIEW_REOPENED:
            finished.pop(document, None)
        last[actor] = at
    return Effort(acts, bulk, len(finished), sum(finished.values()), round(seconds, 1))


def effort_between(project: Project, after: int, upto: int | None) -> Effort:
    """The effort of the project's events with ids after `after` and up to `upto` (None: up to now).

    The result for a past stretch of events no longer changes, so it is stored.
    """
    key = key_of(REVISION, after, upto)
    found = kept(project, EFFORT, key) if upto is not None else None
    if found is not None:
        return Effort(**found)
    stretch = Event.objects.filter(project_id=project.pk, pk__gt=after)
    if upto is not None:
        stretch = stretch.filter(pk__lte=upto)
    # What people looked at who reviewed nothing adds no effort, and most of those who look at notes are annotators.
    reviewers = set(stretch.filter(verb__in=ACTS).order_by().values_list("actor_id", flat=True).distinct())
    own = Q(actor__in=reviewers - {None}) | Q(actor=None) if None in reviewers else Q(actor__in=reviewers)
    events = stretch.filter(own, verb__in=LOOKED_AT)
    # These events are part of another act: decisions of a bulk act (`cause`), decisions made by finishing a note
    # (`rest`), a comparison that ended the review (`ended`), and decisions on planted leaks, where marking them was the
    # act (`planted`).
    rows = events.exclude(data__has_any_keys=["cause", "rest", "ended", "planted"]).order_by("pk")
    columns = ("actor_id", "document_id", "verb", "data", "at")
    effort = effort_of(rows.values_list(*columns).iterator(chunk_size=CHUNK))
    if upto is not None:
        keep(project, EFFORT, key, asdict(effort))
    return effort
