"""An interval for a share, where only some notes were looked at."""

from math import sqrt
from typing import Final

_Z95: Final = 1.959963984540054


def wilson(hits: int, of: int) -> tuple[float, float] | None:
    """The 95 % interval of a share (E. B. Wilson, JASA 22, 1927); None of nothing.

    It never leaves 0 to 1, and says something where no hit or nothing but hits was seen. Trials count as independent.
    """
    if not of:
        return None
    share, z2 = hits / of, _Z95 * _Z95
    middle = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = _Z95 / (1 + z2 / of) * sqrt(share * (1 - share) / of + z2 / (4 * of * of))
    return (0.0 if hits == 0 else max(0.0, middle - half)), (1.0 if hits == of else min(1.0, middle + half))
