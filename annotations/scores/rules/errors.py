"""Knots, and the errors in them: missed, spurious, wrong label, wrong bounds, or both.

A knot is a group of gold and predicted spans that are connected by overlaps. No pair of overlapping spans belongs to
two knots (touching is not overlapping), so a note can be scored knot by knot. Most knots are a single span, or a gold
span and an equal prediction.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from annotations.text.matching import match
from annotations.text.spans import Span
from annotations.text.wording import NamedValue, gettext_noop

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


class ErrorType(NamedValue):
    """How a gold span and its paired prediction differ; `missed` and `spurious` spans have no partner."""

    MISSED = "missed", gettext_noop("Missed")
    SPURIOUS = "spurious", gettext_noop("Spurious")
    LABEL = "label", gettext_noop("Different label")
    BOUNDARY = "boundary", gettext_noop("Different bounds")
    BOTH = "both", gettext_noop("Different label and bounds")


class Error(NamedTuple):
    """One error. `gold` is None for a spurious prediction, `predicted` is None for a missed gold span."""

    kind: ErrorType
    gold: LabeledBounds | None
    predicted: LabeledBounds | None

    @property
    def start(self) -> int:
        return min(bounds[0] for bounds in (self.gold, self.predicted) if bounds)

    @property
    def end(self) -> int:
        return max(bounds[1] for bounds in (self.gold, self.predicted) if bounds)

    @property
    def labels(self) -> frozenset[str]:
        return frozenset(bounds[2] for bounds in (self.gold, self.predicted) if bounds)


def pairs_of(knot: Knot) -> tuple[list[tuple[LabeledBounds, LabeledBounds]], list[LabeledBounds], list[LabeledBounds]]:
    """Gold and predicted spans paired one to one by `text.matching`; unpaired gold; unpaired predictions."""
    same = set(knot.gold).intersection(knot.predicted)
    gold = [bounds for bounds in knot.gold if bounds not in same]
    predicted = [bounds for bounds in knot.predicted if bounds not in same]
    pairs = [(bounds, bounds) for bounds in sorted(same)]
    if gold and predicted:
        found = match([Span(*bounds) for bounds in predicted], [Span(*bounds) for bounds in gold])
        pairs += [(gold[g], predicted[p]) for p, g in found]
        left_p, left_g = {p for p, _ in found}, {g for _, g in found}
        gold = [bounds for at, bounds in enumerate(gold) if at not in left_g]
        predicted = [bounds for at, bounds in enumerate(predicted) if at not in left_p]
    return pairs, gold, predicted


def errors_of(
    pairs: Sequence[tuple[LabeledBounds, LabeledBounds]],
    missed: Sequence[LabeledBounds],
    spurious: Sequence[LabeledBounds],
) -> list[Error]:
    """The errors among these pairs and unpaired spans, in text order."""
    found = [Error(_kind(g, p), g, p) for g, p in pairs if g != p]
    found += [Error(ErrorType.MISSED, g, None) for g in missed]
    found += [Error(ErrorType.SPURIOUS, None, p) for p in spurious]
    return sorted(found, key=lambda error: (error.start, error.end))


def _kind(gold: LabeledBounds, predicted: LabeledBounds) -> ErrorType:
    if gold[:2] == predicted[:2]:
        return ErrorType.LABEL
    return ErrorType.BOUNDARY if gold[2] == predicted[2] else ErrorType.BOTH
