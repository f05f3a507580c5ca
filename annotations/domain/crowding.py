"""How many spans one annotation set may hold on a note, and how many may lie over one character.

What a page of a note costs grows with both: a span is drawn anew wherever another one begins or ends inside it.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Final

MOST_SPANS: Final = 10_000
"""Spans in one annotation set. A note of 100,000 characters usually has some 2,000."""
DEEPEST: Final = 10
"""Spans of one annotation set over one character."""

Bounds = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Crowd:
    """What is too many: `count` spans, in all (`at` is None) or over the character at offset `at`."""

    count: int
    at: int | None = None


def has_room(spans: Collection[Bounds], place: Bounds) -> bool:
    """Whether one more span may lie at `place`, beside `spans`."""
    if len(spans) >= MOST_SPANS:
        return False
    near = [(start, end) for start, end in spans if start < place[1] and place[0] < end]
    return len(near) < DEEPEST or crowd_over([*near, place], [place]) is None


def crowd_in(spans: Iterable[Bounds]) -> Crowd | None:
    """The first thing that is too many in these spans, (start, end) in code points; None where there is room."""
    held = list(spans)
    return Crowd(len(held)) if len(held) > MOST_SPANS else crowd_over(held, held)


def crowd_over(spans: Iterable[Bounds], places: Iterable[Bounds]) -> Crowd | None:
    """The first character inside one of `places` that too many of `spans` cover; None where there is none."""
    steps = [step for start, end in spans for step in ((start, 1, 0), (end, -1, 0))]
    steps += [step for start, end in places for step in ((start, 0, 1), (end, 0, -1))]
    steps.sort()
    deep = watched = 0
    # All that begins and ends at one offset is counted before the stretch that begins there is judged.
    for offset, here in groupby(steps, key=itemgetter(0)):
        for _, covers, watches in here:
            deep += covers
            watched += watches
        if watched and deep > DEEPEST:
            return Crowd(deep, offset)
    return None
