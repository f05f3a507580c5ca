"""How often proposals are right, from what was decided so far."""

import math
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
