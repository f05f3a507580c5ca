"""How one annotator's spans fared in the adjudicated set of the same note."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from annotations.text.matching import match
from annotations.text.spans import Span


class Fate(StrEnum):
    """What happened to a span. `missed`: it is in the adjudicated set, but the annotator didn't mark it."""

    KEPT = "kept"
    CHANGED = "changed"
    LEFT_OUT = "left-out"
    MISSED = "missed"


@dataclass(frozen=True, slots=True)
class Fated:
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


def outcome(own: Sequence[Span], adjudicated: Sequence[Span]) -> list[Fated]:
    """Every span of both sets once, in text order; overlapping spans are matched one to one."""
    pairs = match(own, adjudicated)
    found = [
        Fated(Fate.KEPT if own[at] == adjudicated[to] else Fate.CHANGED, own[at], adjudicated[to]) for at, to in pairs
    ]
    mine, theirs = {at for at, _ in pairs}, {to for _, to in pairs}
    found += [Fated(Fate.LEFT_OUT, span, None) for at, span in enumerate(own) if at not in mine]
    found += [Fated(Fate.MISSED, None, span) for to, span in enumerate(adjudicated) if to not in theirs]
    return sorted(found, key=lambda each: (each.start, each.fate))
