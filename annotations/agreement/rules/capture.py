"""Estimate of the spans that annotators miss, from the overlap of their annotations (capture-recapture).

The numbers of spans that were found by one, two and more annotators allow an estimate of the spans that none found.
With z_i spans that only annotator i found, and f2 spans that exactly two annotators found,

    spans found by nobody = Σ over pairs i < j of z_i · z_j / (f2 + 1)

For two annotators this is Chapman's estimator (*University of California Publications in Statistics* 1, 1951); for more
it is the bias-corrected lower bound for annotators of different thoroughness (Chao 1989). It assumes that annotators
miss spans independently of each other. Spans that are hard for everybody make the estimated recall too high.

Notes are grouped by their annotators; found and missed spans are summed over the groups.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations
from math import comb
from typing import Any

from annotations.agreement.rules.coefficients import NO_UNITS, NOTHING_MARKED, Value

COUNTS = (1, 2, 3)
"""The numbers of annotators for which recall is estimated."""


class MatchCriterion(StrEnum):
    """When two annotators found the same identifier: by any overlap, or by equal bounds. Labels don't matter."""

    OVERLAP = "overlap"
    EXACT = "exact"


@dataclass(slots=True)
class AnnotatorGroup:
    """The notes with the same annotators: their indexes, and arrays with a row for each of them.

    `found_by` counts the spans found by 1, 2, … annotators; `alone` counts for each annotator
    the spans that nobody else found; `found` counts all spans of each annotator.
    """

    annotators: tuple[str, ...]
    notes: Any
    found_by: Any
    alone: Any
    found: Any


@dataclass(slots=True)
class CaptureSums:
    """Sums over groups of notes.

    `known`: spans that anybody found. `hidden`: estimated spans that nobody found. `twice`: spans that at least two
    annotators found. `most`: the most annotators of a note. `by[j]`: the spans that j annotators, drawn at random,
    find; `of[j]`: the spans that they could find. `annotator_by`, `annotator_of`: the same for each annotator.
    """

    known: float = 0.0
    hidden: float = 0.0
    twice: float = 0.0
    most: int = 0
    by: dict[int, float] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0.0))
    of: dict[int, float] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0.0))
    annotator_by: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    annotator_of: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(
        self, annotators: Sequence[str], found_by: Sequence[float], alone: Sequence[float], found: Sequence[float]
    ) -> None:
        """Add the totals of a group."""
        known = sum(found_by)
        hidden = sum(a * b for a, b in combinations(alone, 2)) / (found_by[1] + 1)
        self.most = max(self.most, len(annotators))
        self.known += known
        self.hidden += hidden
        self.twice += sum(found_by[1:])
        for j in COUNTS:
            if j <= len(annotators):
                self.by[j] += sum(n * chance(times, len(annotators), j) for times, n in enumerate(found_by, start=1))
                self.of[j] += known + hidden
        for annotator, n in zip(annotators, found, strict=True):
            self.annotator_by[annotator] += n
            self.annotator_of[annotator] += known + hidden

    def recall(self, annotators: int) -> Value:
        """The share of spans that this many annotators find.

        If no note had as many annotators, it is projected from one and two, who are taken as independent.
        """
        if not self.most:
            return Value(None, NO_UNITS)
        if not self.known:
            return Value(None, NOTHING_MARKED)
        if not self.twice:
            return Value(None, "No span was found by two annotators, so the number of missed spans can't be estimated.")
        if not self.projected_for(annotators):
            if not self.of[annotators]:
                return Value(None, "Nobody marked anything in the notes with this many annotators.")
            return Value(self.by[annotators] / self.of[annotators])
        one, two = self.by[1] / self.of[1], self.by[2] / self.of[2]
        return Value(1 - (1 - two) * (1 - one))

    def recall_of(self, annotator: str) -> Value:
        whole = self.recall(1)
        if whole.value is None or not self.annotator_of[annotator]:
            return Value(None, whole.why or "Nobody marked anything in the notes of this annotator.")
        return Value(self.annotator_by[annotator] / self.annotator_of[annotator])

    def projected_for(self, annotators: int) -> bool:
        """Whether the figure is a projection, because no note had this many annotators."""
        return annotators > self.most


def chance(times: int, annotators: int, taken: int) -> float:
    """The probability that a sample of `taken` out of `annotators` includes one of the `times` who found a span."""
    return 1 - comb(annotators - times, taken) / comb(annotators, taken)


def found_in(groups: Mapping[tuple[str, ...], AnnotatorGroup]) -> CaptureSums:
    """The sums over all notes."""
    found = CaptureSums()
    for group in groups.values():
        totals = [rows.sum(axis=0).tolist() for rows in (group.found_by, group.alone, group.found)]
        found.add(group.annotators, *totals)
    return found
