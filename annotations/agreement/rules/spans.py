"""Pairwise F1 over spans: how many spans two annotators share, exactly and by overlap. The figure is symmetric."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from annotations.agreement.rules.coefficients import NEITHER_MARKED, NOT_IN_COMMON, Value
from annotations.text.matching import match
from annotations.text.spans import Span

ValuedBounds = tuple[int, int, str]
"""Start, end (code points, end-exclusive) and the value that is compared."""


@dataclass(slots=True)
class Shared:
    """Counts of two annotators' spans in their common notes; `overlapping` counts one-to-one pairs with exact ones."""

    notes: int = 0
    ours: int = 0
    theirs: int = 0
    exact: int = 0
    overlapping: int = 0

    def f1(self, matched: int) -> Value:
        """The F1, 2 · matched / (ours + theirs). Undefined if neither annotator marked anything."""
        spans = self.ours + self.theirs
        if not self.notes:
            return Value(None, NOT_IN_COMMON)
        if not spans:
            return Value(None, NEITHER_MARKED)
        return Value(2 * matched / spans)


def share(shared: Shared, ours: set[ValuedBounds], theirs: set[ValuedBounds]) -> None:
    """Add one note's spans. Pairs overlap and have the same value: exact pairs first, then as many as possible."""
    same = len(ours & theirs)
    shared.notes += 1
    shared.ours += len(ours)
    shared.theirs += len(theirs)
    shared.exact += same
    shared.overlapping += same
    if len(ours) > same and len(theirs) > same:
        shared.overlapping += _paired(sorted(ours - theirs), sorted(theirs - ours))


def _paired(ours: Sequence[ValuedBounds], theirs: Sequence[ValuedBounds]) -> int:
    """The largest number of pairs of overlapping spans with the same value; the input has no exact pairs."""
    edges = list(_touching(ours, theirs))
    first, second = {a for a, _ in edges}, {b for _, b in edges}
    if len(edges) == len(first) == len(second):
        return len(edges)  # each span overlaps a single other one, so there is no choice
    pairs = match(
        [Span(*ours[a]) for a in sorted(first)],
        [Span(*theirs[b]) for b in sorted(second)],
        compatible=lambda p, g: p.label == g.label,
    )
    return len(pairs)


def _touching(ours: Sequence[ValuedBounds], theirs: Sequence[ValuedBounds]) -> Iterator[tuple[int, int]]:
    """Indexes of spans that overlap and have the same value; both lists are in order."""
    open_spans: list[int] = []
    at = 0
    for index, (start, end, value) in enumerate(ours):
        while at < len(theirs) and theirs[at][0] < end:
            open_spans.append(at)
            at += 1
        open_spans = [other for other in open_spans if theirs[other][1] > start]
        for other in open_spans:
            if theirs[other][2] == value and theirs[other][0] < end:
                yield index, other


class PairwiseF1:
    """The counts of every pair of annotators, collected note by note."""

    def __init__(self) -> None:
        self.pairs: dict[tuple[str, str], Shared] = defaultdict(Shared)

    def add(self, annotators: Sequence[str], spans: Iterable[set[ValuedBounds]]) -> None:
        """Add a note: its annotators, in the project's order, and the spans of each."""
        for (a, ours), (b, theirs) in combinations(zip(annotators, spans, strict=True), 2):
            share(self.pairs[a, b], ours, theirs)
