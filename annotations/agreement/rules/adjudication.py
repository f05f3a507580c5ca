"""Adjudication of one note: which locations are open, decided, or changed since they were decided.

Decisions are stored by location. When an annotation set changes, the decision stays until an adjudicator changes it;
its location is `changed` where an annotator's spans or their attributes differ from those that the decision was based
on. Offsets are code points, end-exclusive.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from annotations.agreement.rules.disagreement import Location, Version, attributes_in, locations
from annotations.text.matching import match
from annotations.text.spans import Span, overlaps


class LocationState(StrEnum):
    """The state of a location.

    `agreed`: all annotators marked the same spans with the same attributes, and nobody has accepted them yet.
    """

    OPEN = "open"
    AGREED = "agreed"
    DECIDED = "decided"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class AdjudicatedLocation:
    """The adjudicated spans between `start` and `end`; none of them reaches outside.

    `heard` holds each annotator's spans there at the time of the decision, by author id.
    """

    start: int
    end: int
    spans: Version
    heard: Mapping[str, Version]


@dataclass(frozen=True, slots=True)
class Item:
    """A location with its decisions and its state.

    A location has more than one decision where a new annotation set joins two locations into one.
    """

    location: Location
    decisions: tuple[AdjudicatedLocation, ...]
    state: LocationState

    @property
    def start(self) -> int:
        return self.location.start

    @property
    def end(self) -> int:
        return self.location.end

    @property
    def outcome(self) -> Version:
        """The adjudicated spans, in order."""
        return tuple(sorted(span for decision in self.decisions for span in decision.spans))


def items(
    annotation_sets: Mapping[str, Sequence[Span]],
    decisions: Sequence[AdjudicatedLocation],
    *,
    besides: Iterable[tuple[int, int]] = (),
) -> list[Item]:
    """All locations of the note in order: those of the annotation sets (by author id), and those with a decision."""
    found = locations(annotation_sets, besides=[*((d.start, d.end) for d in decisions), *besides])
    waiting = sorted(decisions, key=lambda decision: decision.start)
    out = []
    at = 0
    for location in found:
        own = []
        while at < len(waiting) and waiting[at].start < location.end:
            own.append(waiting[at])
            at += 1
        out.append(Item(location, tuple(own), _state(location, own)))
    return out


def _state(location: Location, decisions: Sequence[AdjudicatedLocation]) -> LocationState:
    if not decisions:
        return LocationState.AGREED if location.unanimous else LocationState.OPEN
    if len(decisions) > 1 or (decisions[0].start, decisions[0].end) != (location.start, location.end):
        return LocationState.CHANGED
    decision = decisions[0]
    for annotator, now in location.versions.items():
        # An annotator who submitted after the decision changes its state only if their spans differ from the outcome.
        then = decision.heard.get(annotator, decision.spans)
        if then != now or attributes_in(then) != attributes_in(now):
            return LocationState.CHANGED
    # An annotator who has reopened the note has no submitted set; until they submit again the decision stands.
    return LocationState.DECIDED


def touched(found: Sequence[Item], start: int, end: int) -> list[Item]:
    """The locations that share a character with `start`-`end`."""
    return [item for item in found if item.start < end and start < item.end]


def with_own(found: Sequence[Item], span: Span) -> tuple[int, int, Version]:
    """The start and end that an adjudicator's own span decides, and the adjudicated spans there afterwards.

    The decision covers every location that the span overlaps. Adjudicated spans that overlap the new span are replaced;
    the others stay.
    """
    parts = touched(found, span.start, span.end)
    start = min([span.start, *(item.start for item in parts)])
    end = max([span.end, *(item.end for item in parts)])
    kept = {old for item in parts for old in item.outcome if not overlaps(old, span)}
    return start, end, tuple(sorted(kept | {span}))


def without(item: Item, span: Span) -> Version:
    """The adjudicated spans of a location without one of them."""
    return tuple(old for old in item.outcome if old != span)


# ── How one annotator's spans fared in the adjudicated set of the same note ───────────────────────────────────────────


class Fate(StrEnum):
    """What happened to a span. `missed`: it is in the adjudicated set, but the annotator didn't mark it."""

    KEPT = "kept"
    CHANGED = "changed"
    LEFT_OUT = "left-out"
    MISSED = "missed"


@dataclass(frozen=True, slots=True)
class SpanOutcome:
    """One row of the comparison: the annotator's span (`own`) and the adjudicated one (`now`); one may be None."""

    fate: Fate
    own: Span | None
    now: Span | None

    @property
    def start(self) -> int:
        return (self.own or self.now or Span(0, 0, "")).start

    @property
    def relabeled(self) -> bool:
        return self.own is not None and self.now is not None and self.own.label != self.now.label

    @property
    def moved(self) -> bool:
        return (
            self.own is not None
            and self.now is not None
            and (self.own.start, self.own.end) != (self.now.start, self.now.end)
        )


def outcome(own: Sequence[Span], adjudicated: Sequence[Span]) -> list[SpanOutcome]:
    """Every span of both sets once, in text order; overlapping spans are matched one to one."""
    pairs = match(own, adjudicated)
    found = [
        SpanOutcome(Fate.KEPT if own[at] == adjudicated[to] else Fate.CHANGED, own[at], adjudicated[to])
        for at, to in pairs
    ]
    mine, theirs = {at for at, _ in pairs}, {to for _, to in pairs}
    found += [SpanOutcome(Fate.LEFT_OUT, span, None) for at, span in enumerate(own) if at not in mine]
    found += [SpanOutcome(Fate.MISSED, None, span) for to, span in enumerate(adjudicated) if to not in theirs]
    return sorted(found, key=lambda each: (each.start, each.fate))
