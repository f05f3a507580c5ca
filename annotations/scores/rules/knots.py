"""Knots: groups of gold and predicted spans that are connected by overlaps.

No pair of overlapping spans belongs to two knots (touching is not overlapping), so a note can be scored knot by knot.
Most knots are a single span, or a gold span and an equal prediction.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

LabeledBounds = tuple[int, int, str]
"""Start, end (code points, end-exclusive) and label."""


@dataclass(slots=True)
class Knot:
    """The spans of one knot, and its start and end."""

    start: int
    end: int
    gold: list[LabeledBounds] = field(default_factory=list)
    predicted: list[LabeledBounds] = field(default_factory=list)


def knots(gold: Sequence[LabeledBounds], predicted: Sequence[LabeledBounds]) -> Iterator[Knot]:
    """The knots of a note in order. Both inputs must be sorted."""
    ours, theirs = iter([*gold, _AFTER]), iter([*predicted, _AFTER])
    g, p = next(ours), next(theirs)
    while g is not _AFTER or p is not _AFTER:
        first = g if g <= p else p
        knot = Knot(first[0], first[1])
        while True:
            if g[0] < knot.end:
                knot.gold.append(g)
                knot.end = max(knot.end, g[1])
                g = next(ours)
            elif p[0] < knot.end:
                knot.predicted.append(p)
                knot.end = max(knot.end, p[1])
                p = next(theirs)
            else:
                break
        yield knot


_AFTER: LabeledBounds = (1 << 62, 1 << 62, "")
