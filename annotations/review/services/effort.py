"""What review cost between two moments: acts, notes, spans, seconds. From the log of events alone.

An act is what the log has of it (DOMAIN, section 10): a decision, an addition, a step back, a note closed or reopened
is one; a bulk act is one, however many proposals it decided. Going from place to place and selecting words leave
nothing in the log, so that the figure is the least that it can have been.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from annotations.annotate.selectors.pace import IDLE
from annotations.core.kept import keep, kept, key_of
from annotations.models import Event, Project, Verb

REVISION = 1
CHUNK = 5_000
ACTS = frozenset(
    {
        Verb.REVIEW_DECIDED, Verb.REVIEW_UNDONE, Verb.REVIEW_CLOSED, Verb.REVIEW_REOPENED, Verb.REVIEW_BULK_DONE,
        Verb.REVIEW_BULK_UNDONE, Verb.REVIEW_HANDED, Verb.REVIEW_TAKEN_BACK, Verb.REVIEW_COMPARED,
    }
)  # fmt: skip
BULK = frozenset({Verb.REVIEW_BULK_DONE, Verb.REVIEW_BULK_UNDONE})
# The time before an act is the act's; looking at a note and at strings is part of it.
LOOKED_AT = frozenset({*ACTS, Verb.NOTE_READ, Verb.NOTES_SEARCHED})

Seen = tuple[int | None, int | None, str, dict[str, Any], datetime]
"""Who, which note, what, the event's data, when."""


@dataclass(frozen=True, slots=True)
class Effort:
    """`notes` were closed, with `spans` gold spans in them; `bulk` of the `acts` were bulk acts; breaks don't count."""

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


def effort_of(events: Iterable[Seen]) -> Effort:
    """Of events in order. The time from a person's event to their next act counts, unless it was a break."""
    acts = bulk = 0
    seconds = 0.0
    closed: dict[int | None, int] = {}
    last: dict[int | None, datetime] = {}
    for actor, document, verb, data, at in events:
        if verb in ACTS:
            acts += 1
            bulk += verb in BULK
            if actor in last and at - last[actor] <= IDLE:
                seconds += (at - last[actor]).total_seconds()
        if verb == Verb.REVIEW_CLOSED:
            closed[document] = int(data.get("spans", 0))
        elif verb == Verb.REVIEW_REOPENED:
            closed.pop(document, None)
        last[actor] = at
    return Effort(acts, bulk, len(closed), sum(closed.values()), round(seconds, 1))


def effort_between(project: Project, after: int, upto: int | None) -> Effort:
    """Of the project's events after one and up to another, by their ids; None: up to now.

    What is over doesn't change any more, and is kept.
    """
    key = key_of(REVISION, after, upto)
    found = kept(project, "effort", key) if upto is not None else None
    if found is not None:
        return Effort(**found)
    events = Event.objects.filter(project_id=project.pk, pk__gt=after, verb__in=LOOKED_AT)
    if upto is not None:
        events = events.filter(pk__lte=upto)
    # What a bulk act decided is told by the act's own event; what was accepted by closing a note, and a comparison of
    # two reviewers that ended it, by that. A planted leak that was found cost what marking it did.
    rows = events.exclude(data__has_any_keys=["cause", "rest", "ended", "planted"]).order_by("pk")
    columns = ("actor_id", "document_id", "verb", "data", "at")
    effort = effort_of(rows.values_list(*columns).iterator(chunk_size=CHUNK))
    if upto is not None:
        keep(project, "effort", key, asdict(effort))
    return effort
