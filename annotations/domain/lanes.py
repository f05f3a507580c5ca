"""Which of the stacked underlines each span gets, so that spans that overlap never share one.

`static/js/editor/lanes.js` is the twin.
"""

from collections.abc import Sequence
from typing import Final

LANES: Final = 4
"""How many there is room for between two lines of text."""


def lanes(places: Sequence[tuple[int, int, int]]) -> list[int]:
    """A lane from 0 for each span, given as (start, end, label): the lowest that no earlier one still holds.

    Earlier means: starts first, then longer, then by label, whatever the order given. The last lane is shared where
    all are taken.
    """
    order = sorted(range(len(places)), key=lambda at: (places[at][0], -places[at][1], places[at][2]))
    free_from: list[int] = []
    out = [0] * len(places)
    for at in order:
        start, end, _ = places[at]
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
