"""Lanes for the underlines of spans: overlapping spans get underlines at different heights.

`static/js/editor/lanes.js` implements the same rule.
"""

from collections.abc import Sequence
from typing import Final

LANES: Final = 4
"""How many underlines fit between two lines of text."""


def lanes(spans: Sequence[tuple[int, int, int]]) -> list[int]:
    """A lane, from 0, for each span (start, end, label): the lowest that is free at its start.

    Spans are placed in the order of their start, then the longest first, then by label. When all lanes are taken, spans
    share the last one.
    """
    order = sorted(range(len(spans)), key=lambda at: (spans[at][0], -spans[at][1], spans[at][2]))
    free_from: list[int] = []
    out = [0] * len(spans)
    for at in order:
        start, end, _ = spans[at]
        lane = next((lane for lane, taken_to in enumerate(free_from) if taken_to <= start), len(free_from))
        if lane < min(len(free_from), LANES):
            free_from[lane] = end
        elif lane < LANES:
            free_from.append(end)
        else:
            lane = LANES - 1
            free_from[lane] = max(free_from[lane], end)
        out[at] = lane
    return out
