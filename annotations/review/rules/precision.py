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
        return _wilson(self.right / self.decided, self.decided, _Z)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share over notes with its 95% interval: `right` of `counted` spans. None if nothing was counted."""

    share: float | None
    low: float
    high: float
    notes: int
    counted: int
    right: int = 0

    @property
    def few(self) -> bool:
        return self.notes < FEW


def by_notes(counts: Sequence[tuple[int, int]]) -> Estimate:
    """The ratio estimate (Cochran 1977, section 2.11) over a sample of notes, each given as (right, all).

    The notes are the sampling units, because spans in one note resemble each other. The interval is the score interval
    (Wilson 1927) for the effective number of spans n / d, with Student's t for notes - 1 degrees of freedom in place of
    the normal quantile (Dean and Pagano 2015). The design effect d is the variance of the ratio estimate
    over the variance of as many independent spans, at least 1 (Kish 1965). Unless two notes or more have a right span,
    and two or more a wrong one, d can't be estimated. It is then so large that each note counts as one span. A single
    note says nothing about the variation between notes, so its interval is from 0 to 1.
    """
    right, counted, notes = sum(r for r, _ in counts), sum(n for _, n in counts), len(counts)
    if not counted:
        return Estimate(None, 0.0, 1.0, notes, 0)
    share, filled = right / counted, sum(n > 0 for _, n in counts)
    if filled < 2:
        return Estimate(share, 0.0, 1.0, notes, counted, right)
    effective = float(filled)
    if min(sum(r > 0 for r, _ in counts), sum(r < n for r, n in counts)) >= 2:
        spread = sum((r - share * n) ** 2 for r, n in counts) * filled / (filled - 1)
        effective = counted / max(1.0, spread / (share * (1 - share) * counted))
    return Estimate(share, *_wilson(share, effective, _t(filled - 1)), notes, counted, right)


def _wilson(share: float, n: float, z: float) -> tuple[float, float]:
    """The score interval of a share of `n` independent trials; `z` is the quantile."""
    middle = share + z**2 / (2 * n)
    reach = z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    scale = 1 + z**2 / n
    return max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)


# The 97.5% quantiles of Student's t for 1, 2, … degrees of freedom; `_t` computes the others.
_T = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281)


def _t(freedom: int) -> float:
    """The 97.5% quantile of Student's t: by Fisher's expansion (Abramowitz and Stegun 1964, 26.7.5) above the table."""
    if freedom <= len(_T):
        return _T[freedom - 1]
    z = _Z
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


def likely_right(rate: Rate, confidence: float | None) -> float:
    """The expected share of right suggestions, with a suggestion's confidence (0.5 if it has none) as the prior."""
    prior = 0.5 if confidence is None else confidence
    return (rate.right + _PRIOR * prior) / (rate.decided + _PRIOR)


BANDS = ((0.0, 0.5), (0.5, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 0.95), (0.95, 1.0))
"""Bands of confidence: from (inclusive) to (exclusive); the last band includes 1."""
