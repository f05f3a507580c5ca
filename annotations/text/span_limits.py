"""Limits on the spans of one annotation set: how many it may hold, and how many may cover one character.

The cost of drawing a note grows with both, because a span is split wherever another span starts or ends inside it.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Final

from annotations.text.spans import Bounds

MOST_SPANS: Final = 10_000
"""Most spans in one annotation set. A note of 100,000 characters usually has about 2,000."""
DEEPEST: Final = 10
"""Most spans of one annotation set that may cover one character."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """Too many spans: `count` of them in all (`at` is None), or over the character at offset `at`."""

    count: int
    at: int | None = None


def has_room(spans: Collection[Bounds], bounds: Bounds) -> bool:
    """Whether one more span, at `bounds`, may be added to `spans`."""
    if len(spans) >= MOST_SPANS:
        return False
    near = [(start, end) for start, end in spans if start < bounds[1] and bounds[0] < end]
    return len(near) < DEEPEST or crowd_over([*near, bounds], [bounds]) is None


def crowd_in(spans: Iterable[Bounds]) -> Crowd | None:
    """The first limit that these spans exceed; None if they exceed none."""
    held = sorted(spans)
    if len(held) > MOST_SPANS:
        return Crowd(len(held))
    if all(end <= start for (_, end), (start, _) in pairwise(held)):
        return None  # the usual case: no two spans overlap
    return crowd_over(held, held)


def crowd_over(spans: Iterable[Bounds], inside: Iterable[Bounds]) -> Crowd | None:
    """The first character in one of the bounds in `inside` that too many of `spans` cover; None if there is none."""
    steps = [step for start, end in spans for step in ((start, 1, 0), (end, -1, 0))]
    steps += [step for start, end in inside for step in ((start, 0, 1), (end, 0, -1))]
    steps.sort()
    deep = watched = 0
    # All starts and ends at one offset are counted before the text that follows the offset is judged.
    for offset, here in groupby(steps, key=itemgetter(0)):
        for _, covers, watches in here:
            deep += covers
            watched += watches
        if watched and deep > DEEPEST:
            return Crowd(deep, offset)
    return None
