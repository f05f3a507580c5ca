"""The effect of a review decision on gold, in the form that the log stores and undo reverses."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext

from annotations.annotate.selectors.worklist import IDLE
from annotations.core.changes import backwards, to_revert
from annotations.core.services import NOTE_READ, ServiceError
from annotations.core.stored_figures import FigureKind, cache_value, cached_value, key_of
from annotations.models import AnnotationSet, Author, Decision, Event, Project, Span, User
from annotations.notes.events import NOTES_SEARCHED
from annotations.review import events as review_events
from annotations.review.selectors.suggestions import CurrentDecision
from annotations.text.spans import LabeledBounds

DECISIONS = [review_events.REVIEW_DECIDED, review_events.REVIEW_UNDONE]


class Act(StrEnum):
    """The acts of a reviewer: on a suggestion, on the text, or on the last decision."""

    ACCEPT = "accept"
    REJECT = "reject"
    CORRECT = "correct"
    ADD = "add"
    REMOVE = "remove"
    ATTRIBUTE = "attribute"
    UNDO = "undo"
    REDO = "redo"


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a decision. The opposite effect swaps `before` with `after`, and `added` with `removed`.

    `added` and `removed` are gold rows. `beside`: other suggestions that the same act decides, each
    with its state before and after. `removal`: the proposed removal that it decides, with its verdicts.
    """

    suggestion: int | None = None
    before: review_events.DecisionState | None = None
    after: review_events.DecisionState | None = None
    added: list[review_events.GoldRow] = field(default_factory=list)
    removed: list[review_events.GoldRow] = field(default_factory=list)
    beside: list[review_events.Beside] = field(default_factory=list)
    removal: review_events.RemovalStep | None = None

    def data(self) -> review_events.ReviewDecided:
        known: review_events.ReviewDecided = {
            "suggestion": self.suggestion,
            "before": self.before,
            "after": self.after,
            "added": self.added,
            "removed": self.removed,
        }
        if self.beside:
            known["beside"] = self.beside
        if self.removal is not None:
            known["removal"] = self.removal
        return known

    @property
    def sets_attributes(self) -> bool:
        """Whether the effect only gives other attributes to gold spans."""
        alone = self.suggestion is None and self.removal is None
        same = [row[:3] for row in self.added] == [row[:3] for row in self.removed]
        return alone and bool(self.added) and same

    @property
    def decided(self) -> list[int]:
        """The ids of the suggestions that the effect decides."""
        return [pk for pk in (self.suggestion, *(row[0] for row in self.beside)) if pk is not None]

    def opposite(self) -> "Effect":
        beside = [(suggestion, after, before) for suggestion, before, after in self.beside]
        removal = self.removal and (self.removal[0], self.removal[2], self.removal[1])
        return Effect(self.suggestion, self.after, self.before, self.removed, self.added, beside, removal)


def row_of(span: Span) -> review_events.GoldRow:
    return span.start, span.end, span.label_id, span.confidence, span.source, span.provenance, span.attributes


def whole_row(row: Sequence[Any]) -> review_events.GoldRow:
    """A row of the log, which may be from before spans had attributes."""
    start, end, label, confidence, source, provenance, attributes = [*row, None][:7]
    return start, end, label, confidence, source, provenance, attributes


def state_of(decision: Decision | CurrentDecision | None) -> review_events.DecisionState | None:
    """A decision in the form of the log; None for an open suggestion."""
    if decision is None:
        return None
    bounds = None
    if decision.start is not None and decision.end is not None and decision.label_id is not None:
        bounds = [decision.start, decision.end, decision.label_id]
    state: review_events.DecisionState = {"verdict": decision.verdict, "bounds": bounds}
    if decision.cause_id:
        state["cause"] = str(decision.cause_id)
    return state


def accepted_bounds(state: review_events.DecisionState | None) -> LabeledBounds | None:
    """The start, end and label id of the accepted span; None for a rejected or open suggestion."""
    bounds = state["bounds"] if state else None
    return None if bounds is None else (bounds[0], bounds[1], bounds[2])


def effect_of(event: Event) -> Effect:
    # The round trip through JSON gives the same types for fresh events and for events read from either database.
    data: review_events.ReviewDecided = json.loads(json.dumps(event.data))
    added, removed = ([whole_row(row) for row in data[key]] for key in ("added", "removed"))
    beside, removal = data.get("beside", []), data.get("removal")
    return Effect(data["suggestion"], data["before"], data["after"], added, removed, beside, removal)


def last_decision(gold: AnnotationSet, author: Author, user: User, *, redo: bool) -> Event:
    """The event that an undo or redo of this person reverts: their last decision on this run, or their last undo.

    Decisions of bulk acts are left out, because they are undone with the act. So are decisions that follow from marking
    a planted leak. Raises ServiceError `nothing`.
    """
    events = Event.objects.filter(annotation_set_id=gold.pk, actor=user, verb__in=DECISIONS, data__run=author.pk)
    single = (event for event in backwards(events) if not (event.data.get("cause") or event.data.get("planted")))
    event = to_revert(single, key="act", redo=redo)
    if event is None:
        raise ServiceError(
            gettext("There is nothing to redo.") if redo else gettext("There is nothing to undo."), code="nothing"
        )
    return event


# The effort of review between two events (acts, notes, spans, seconds), computed from the event log alone.
#
# One act is a decision, an added span, an undo, or the finishing or reopening of a review. A bulk act is one act,
# however many suggestions it decided. Moving between suggestions and selecting text are not logged, so the number of
# acts is a lower bound of the effort.


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
    found = cached_value(project, EFFORT, key) if upto is not None else None
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
        cache_value(project, EFFORT, key, asdict(effort))
    return effort
