"""Scores of the MEDDOCAN shared task (Marimon et al. 2019): sub-track 2 (sensitive spans) and the leak score.

* strict: a prediction is right if gold has the same bounds, whatever the label.
* merged: neighboring spans without an alphanumeric character between them are merged, in gold and in predictions. What
  both contain, strictly or merged, is right; a strict span inside something right is neither missed nor spurious.
* leak score: missed entities (bounds and label) per sentence. The task used FreeLing's sentences; this module's callers
  use those of `domain.sentences`.

There is one difference from the task's script: when a span is merged with one that ends earlier, the later end is kept
(the script takes the second span's end). The task's corpus has no such spans.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

from annotations.scores.rules.rates import Rates
from annotations.text.spans import Bounds

_ALPHANUMERIC: Final = re.compile(r"[^\W_]")


def merged(text: str, given: Iterable[Bounds]) -> list[Bounds]:
    """Join neighboring bounds without an alphanumeric character (as in `str.isalnum`) between them."""
    out: list[Bounds] = []
    for start, end in sorted(given):
        if out and (start <= out[-1][1] or not _ALPHANUMERIC.search(text, out[-1][1], start)):
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def merged_rates(text: str, gold: set[Bounds], predicted: set[Bounds]) -> Rates:
    """The merged score of one note. `right` counts strict and merged spans, as the task does."""
    if gold == predicted:
        right = len(gold.union(merged(text, gold)))
        return Rates.paired(right, right, right)
    agreed = gold & predicted
    agreed.update(set(merged(text, gold)).intersection(merged(text, predicted)))
    inside = _Inside(sorted(agreed))
    spurious = sum(not inside(bounds) for bounds in predicted - gold)
    missed = sum(not inside(bounds) for bounds in gold - predicted)
    return Rates.paired(len(agreed), len(agreed) + spurious, len(agreed) + missed)


class _Inside:
    """A test whether bounds lie inside one of the given ones, which must be sorted."""

    def __init__(self, given: Sequence[Bounds]) -> None:
        self._starts = [start for start, _ in given]
        self._reach = list(accumulate((end for _, end in given), max))

    def __call__(self, bounds: Bounds) -> bool:
        at = bisect_right(self._starts, bounds[0])
        return at > 0 and self._reach[at - 1] >= bounds[1]
