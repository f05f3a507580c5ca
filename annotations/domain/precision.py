"""How often proposals are right, from what was decided so far."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Fewer decisions than these say little; the pages then say so in words.
FEW = 20
# 97.5 % point of the normal distribution: a two-sided interval of 95 %.
_Z = 1.959963984540054
# A proposal's own confidence counts as much as this many decisions on proposals like it.
_PRIOR = 4.0


@dataclass(frozen=True, slots=True)
class Rate:
    """`right` of `decided` proposals were accepted exactly as proposed."""

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
        """The score interval of 95 % (Wilson 1927): it holds for few decisions and for shares near 0 and 1 too."""
        if not self.decided:
            return None
        n, share = self.decided, self.right / self.decided
        middle = share + _Z**2 / (2 * n)
        reach = _Z * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
        scale = 1 + _Z**2 / n
        return max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share over whole notes with its interval of 95 %; None where nothing was counted. `few` notes say little."""

    share: float | None
    low: float
    high: float
    notes: int
    counted: int

    @property
    def few(self) -> bool:
        return self.notes < FEW


def by_notes(counts: Sequence[tuple[int, int]]) -> Estimate:
    """Of (right, all) in each note of a sample of notes: the ratio estimate (Cochran 1977, section 2.11).

    What stands in one note is alike, so that the notes are what is counted by; the interval is never narrower than that
    of as many single decisions (`Rate.interval`), which also holds where every one is right.
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
    """The share of right ones expected, where a proposal's confidence (0.5 where it has none) is the prior."""
    prior = 0.5 if confidence is None else confidence
    return (rate.right + _PRIOR * prior) / (rate.decided + _PRIOR)


def uncertainty(confidence: float | None) -> float:
    """From 0 (sure) to 1 (no idea: a confidence of one half). Without a confidence nothing is known: 1."""
    return 1.0 if confidence is None else 1 - 2 * abs(min(max(confidence, 0.0), 1.0) - 0.5)


BANDS = ((0.0, 0.5), (0.5, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 0.95), (0.95, 1.0))
"""Bands of confidence: from, inclusive, to, exclusive; the last takes 1 as well."""


def band_of(confidence: float | None) -> tuple[float, float] | None:
    """The band that a confidence lies in; None where there is none."""
    if confidence is None:
        return None
    return next((band for band in BANDS if confidence < band[1]), BANDS[-1])
