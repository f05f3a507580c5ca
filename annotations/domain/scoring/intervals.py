"""Confidence interval of a share."""

from math import sqrt
from typing import Final

_Z95: Final = 1.959963984540054


def wilson(hits: int, of: int) -> tuple[float, float] | None:
    """The 95 % score interval of a share (Wilson 1927), for independent trials; None without trials.

    It lies within 0 to 1, and is also valid if there are no hits or only hits.
    """
    if not of:
        return None
    share, z2 = hits / of, _Z95 * _Z95
    middle = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = _Z95 / (1 + z2 / of) * sqrt(share * (1 - share) / of + z2 / (4 * of * of))
    return (0.0 if hits == 0 else max(0.0, middle - half)), (1.0 if hits == of else min(1.0, middle + half))
