"""By how many days dates move: those of a text, and birth dates in codes."""

from typing import Final

LEAST_DAYS: Final = 31
MOST_DAYS: Final = 334
"""The smallest and the largest offset of dates, either way. A month becomes another month: with fewer days many would
stay as they are written, and with more than 334 so would those that name no year. No age or calendar year moves by more
than one.
"""
_COUNT: Final = MOST_DAYS - LEAST_DAYS + 1


def offset_of(number: int) -> int:
    """The offset in days that a random number stands for: LEAST_DAYS to MOST_DAYS, forward or back."""
    back, days = divmod(number % (2 * _COUNT), _COUNT)
    return -(LEAST_DAYS + days) if back else LEAST_DAYS + days
