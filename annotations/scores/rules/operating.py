"""Masking at several thresholds, on held-out notes: recall and precision of characters, and leak-free notes."""

from collections.abc import Iterable, Sequence
from typing import Final

from typing_extensions import TypedDict

from annotations.scores.rules.rates import NOTHING, Rates, covered_characters
from annotations.text.spans import Span

# The thresholds of a curve. The lowest mask most.
THRESHOLDS: Final = (
    0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5,
)  # fmt: skip
DIGITS: Final = 6


class OperatingPoint(TypedDict):
    """Figures at a threshold; None as the threshold: without one.

    `recall` and `precision` are of characters, whatever the labels; `leak_free` is the share of notes of which every
    gold character is masked. Each is None where it is undefined.
    """

    threshold: float | None
    recall: float | None
    precision: float | None
    leak_free: float | None


class _Count:
    def __init__(self) -> None:
        self.characters: Rates = NOTHING
        self.leak_free = 0


class OperatingCurve:
    """Counts notes at each of the thresholds, which are THRESHOLDS by default."""

    def __init__(self, thresholds: Sequence[float] = THRESHOLDS) -> None:
        self.thresholds: list[float | None] = [None, *sorted(thresholds, reverse=True)]
        self._counts = [_Count() for _ in self.thresholds]
        self._notes = 0

    def add(self, gold: Sequence[Span], found: Iterable[Sequence[Span]]) -> None:
        """Count a note: the spans found at each of `self.thresholds`, in their order."""
        self._notes += 1
        for count, spans in zip(self._counts, found, strict=True):
            masked = covered_characters(gold, spans)
            count.characters += masked
            count.leak_free += masked.found == masked.gold

    def points(self) -> list[OperatingPoint]:
        """The figures without a threshold, then at each threshold, the lowest last."""
        return [
            OperatingPoint(
                threshold=threshold,
                recall=_rounded(count.characters.recall),
                precision=_rounded(count.characters.precision),
                leak_free=_rounded(count.leak_free / self._notes if self._notes else None),
            )
            for threshold, count in zip(self.thresholds, self._counts, strict=True)
        ]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def for_recall(points: Iterable[OperatingPoint], wanted: float) -> OperatingPoint | None:
    """The point with the highest threshold whose recall is at least `wanted`; None if there is none."""
    fit = [each for each in points if each["threshold"] and (each["recall"] or 0.0) >= wanted]
    return max(fit, key=lambda each: each["threshold"] or 0.0, default=None)


def for_precision(points: Iterable[OperatingPoint], wanted: float) -> OperatingPoint | None:
    """The point with the lowest threshold from which on upwards the precision is at least `wanted`, or None."""
    found = None
    for each in sorted((each for each in points if each["threshold"]), key=lambda each: -(each["threshold"] or 0.0)):
        if (each["precision"] or 0.0) < wanted:
            break
        found = each
    return found


def nearest(points: Iterable[OperatingPoint], threshold: float) -> OperatingPoint | None:
    """The point whose threshold is nearest to this one; of two, the lower."""
    known = sorted((each for each in points if each["threshold"]), key=lambda each: each["threshold"] or 0.0)
    return min(known, key=lambda each: abs((each["threshold"] or 0.0) - threshold), default=None)
