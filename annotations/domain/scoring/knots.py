"""Knots: stretches of a note in which spans of gold and prediction overlap, directly or through others.

Nothing that is scored reaches over the end of a knot (touching is not overlapping), so a note can be scored knot by
knot; most knots are a single span, or twice the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

Place = tuple[int, int, str]
"""Start, end (code points, end-exclusive) and label."""


@dataclass(slots=True)
class Knot:
    start: int
    end: int
    gold: list[Place] = field(default_factory=list)
    predicted: list[Place] = field(default_factory=list)


def knots(gold: Sequence[Place], predicted: Sequence[Place]) -> Iterator[Knot]:
    """The knots of a note in order. Each side's places are sorted."""
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


_AFTER: Place = (1 << 62, 1 << 62, "")
