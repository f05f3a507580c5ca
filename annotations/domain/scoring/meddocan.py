"""Sensitive spans as the MEDDOCAN shared task counts them (IberLEF 2019, sub-track 2), and its leak score.

* strict: places (start, end) that both sides have, whatever the label.
* merged: neighbouring spans of one side with nothing alphanumeric between them become one. What both sides have,
  strictly or merged, is right; a strict span that lies inside of something right is neither missed nor spurious.
* leak score: missed entities (place and label) for each sentence. The task counted FreeLing's sentences, which are not
  to be had here; ours are those of `domain.sentences`.

One thing differs from the task's script: merging a span with one that ends earlier keeps the later end (the script
takes the second span's end). Its corpus has no such spans.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

from annotations.domain.scoring.rates import Rates

Place = tuple[int, int]
_ALPHANUMERIC: Final = re.compile(r"[^\W_]")


def merged(text: str, places: Iterable[Place]) -> list[Place]:
    """The places with neighbours joined where nothing alphanumeric (in the sense of str.isalnum) lies between them."""
    out: list[Place] = []
    for start, end in sorted(places):
        if out and (start <= out[-1][1] or not _ALPHANUMERIC.search(text, out[-1][1], start)):
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def merged_rates(text: str, gold: set[Place], predicted: set[Place]) -> Rates:
    """The merged score of one note. `right` holds strict and merged spans, as the task counts them."""
    if gold == predicted:
        right = len(gold.union(merged(text, gold)))
        return Rates.paired(right, right, right)
    agreed = gold & predicted
    agreed.update(set(merged(text, gold)).intersection(merged(text, predicted)))
    inside = _Inside(sorted(agreed))
    spurious = sum(not inside(place) for place in predicted - gold)
    missed = sum(not inside(place) for place in gold - predicted)
    return Rates.paired(len(agreed), len(agreed) + spurious, len(agreed) + missed)


class _Inside:
    """Says whether a place lies inside of one of the given ones."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._starts = [start for start, _ in places]
        self._reach = list(accumulate((end for _, end in places), max))

    def __call__(self, place: Place) -> bool:
        at = bisect_right(self._starts, place[0])
        return at > 0 and self._reach[at - 1] >= place[1]
