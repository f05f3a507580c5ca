"""Precision of suggestions, from the review decisions so far."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# With fewer decisions than this, pages say that the figure is uncertain.
FEW = 20
# The 97.5% quantile of the normal distribution gives a two-sided 95% interval.
_Z = 1.959963984540054
# The weight of a suggestion's own confidence, in decisions on similar suggestions.
_PRIOR = 4.0


@dataclass(frozen=True, slots=True)
class Rate:
    """`right` of `decided` suggestions were accepted exactly as suggested."""

    right: int
    decided: int

    @property
    def share(self) -> float | None:
        return self.right / self.decided if self.decided else None

    @property
    def few(self) -> bool:
        return self.decided < FEW

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% score interval (Wilson 1927), which is valid for few decisions and for shares near 0 and 1, too."""
        if not self.decided:
            return None
        n, share = self.decided, self.right / self.decided
        middle = share + _Z**2 / (2 * n)
        reach = _Z * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
        scale = 1 + _Z**2 / n
        return max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share over whole notes with its 95% interval; None if nothing was counted."""

    share: float | None
    low: float
    high: float
    notes: int
    counted: int

    @property
    def few(self) -> bool:
        return self.notes < FEW


def by_notes(counts: Sequence[tuple[int, int]]) -> Estimate:
    """The ratio estimate (Cochran 1977, section 2.11) over a sample of notes, each given as (right, all).

    The notes are the sampling units, because spans in one note resemble each other. The interval is never narrower than
    `Rate.interval` of the same counts, which is also valid if every decision is right.
    """
    right, counted, notes = sum(r for r, _ in counts), sum(n for _, n in counts), len(counts)
    whole = Rate(right, counted)
    if whole.share is None or whole.interval is None:
        return Estimate(None, 0.0, 1.0, notes, 0)
    low, high = whole.interval
    if notes > 1:
        spread = sum((r - whole.share * n) ** 2 for r, n in counts) * notes / (notes - 1)
        reach = _Z * math.sqrt(spread) / counted
        low, high = min(low, max(0.0, whole.share - reach)), max(high, min(1.0, whole.share + reach))
    return Estimate(whole.share, low, high, notes, counted)


def likely_right(rate: Rate, confidence: float | None) -> float:
    """The expected share of right suggestions, with a suggestion's confidence (0.5 if it has none) as the prior."""
    prior = 0.5 if confidence is None else confidence
    return (rate.right + _PRIOR * prior) / (rate.decided + _PRIOR)


def uncertainty(confidence: float | None) -> float:
    """The uncertainty from 0 (confidence 0 or 1) to 1 (confidence 0.5, or no confidence)."""
    return 1.0 if confidence is None else 1 - 2 * abs(min(max(confidence, 0.0), 1.0) - 0.5)


BANDS = ((0.0, 0.5), (0.5, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 0.95), (0.95, 1.0))
"""Bands of confidence: from (inclusive) to (exclusive); the last band includes 1."""
