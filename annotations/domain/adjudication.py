"""Adjudication of one note: which places are open, decided, or to be looked at again.

Decisions are kept by place. When readings change, a decision stands until an adjudicator changes it, and its place is
shown for a second look where an annotator now says something else than what the decision heard. Offsets are code
points, end-exclusive.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from annotations.domain.disagreement import Place, Version, places
from annotations.domain.spans import Span, overlaps


class Standing(StrEnum):
    """Where a place stands. `agreed`: all annotators say the same, and nobody has accepted it yet."""

    OPEN = "open"
    AGREED = "agreed"
    DECIDED = "decided"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided for the stretch `start`-`end`: the spans that hold there, all inside it.

    `heard` is what each annotator said there at that moment, by author id.
    """

    start: int
    end: int
    spans: Version
    heard: Mapping[str, Version]


@dataclass(frozen=True, slots=True)
class Item:
    """A place, the decisions that lie in it (more than one where a reading now joins two places), and its standing."""

    place: Place[str]
    decisions: tuple[Decision, ...]
    standing: Standing

    @property
    def start(self) -> int:
        return self.place.start

    @property
    def end(self) -> int:
        return self.place.end

    @property
    def outcome(self) -> Version:
        """The spans that stand there now."""
        return tuple(sorted(span for decision in self.decisions for span in decision.spans))


def items(
    readings: Mapping[str, Sequence[Span]],
    decisions: Sequence[Decision],
    *,
    besides: Iterable[tuple[int, int]] = (),
) -> list[Item]:
    """All places of the note in order: of the readings (by author id), and where something was decided."""
    found = places(readings, besides=[*((d.start, d.end) for d in decisions), *besides])
    waiting = sorted(decisions, key=lambda decision: decision.start)
    out = []
    at = 0
    for place in found:
        own = []
        while at < len(waiting) and waiting[at].start < place.end:
            own.append(waiting[at])
            at += 1
        out.append(Item(place, tuple(own), _standing(place, own)))
    return out


def _standing(place: Place[str], decisions: Sequence[Decision]) -> Standing:
    if not decisions:
        return Standing.AGREED if place.agreed else Standing.OPEN
    if len(decisions) > 1 or (decisions[0].start, decisions[0].end) != (place.start, place.end):
        return Standing.CHANGED
    decision = decisions[0]
    for reader, now in place.versions.items():
        # Who handed the note in after the decision matters only where they say something else than was decided.
        if decision.heard.get(reader, decision.spans) != now:
            return Standing.CHANGED
    # An annotator who was heard and has reopened the note says nothing now; the decision stands meanwhile.
    return Standing.DECIDED


def touched(found: Sequence[Item], start: int, end: int) -> list[Item]:
    """The places that share a character with a stretch."""
    return [item for item in found if item.start < end and start < item.end]


def with_own(found: Sequence[Item], span: Span) -> tuple[int, int, Version]:
    """The stretch that an adjudicator's own span decides, and the spans that then hold there.

    The stretch takes in every place that the span overlaps. The new span takes the place of what it overlaps of the
    spans decided there before; what was decided beside it stays.
    """
    parts = touched(found, span.start, span.end)
    start = min([span.start, *(item.start for item in parts)])
    end = max([span.end, *(item.end for item in parts)])
    kept = {old for item in parts for old in item.outcome if not overlaps(old, span)}
    return start, end, tuple(sorted(kept | {span}))


def without(item: Item, span: Span) -> Version:
    """What stands in a place once one of its spans is taken out."""
    return tuple(old for old in item.outcome if old != span)
