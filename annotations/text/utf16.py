"""Offsets in UTF-16 code units, in which Java and JavaScript count: the conversion from and to code points.

A character above U+FFFF (an emoji, for example) is one code point and two code units. Offsets of notes count code
points.
"""

import re
from bisect import bisect_left, bisect_right
from typing import Final

_WIDE: Final = re.compile("[\U00010000-\U0010ffff]")


class Utf16:
    """The offsets of one text."""

    def __init__(self, text: str) -> None:
        self._length = len(text)
        # The code points of characters with two units, and the units at which these characters begin.
        self._wide = [] if text.isascii() else [match.start() for match in _WIDE.finditer(text)]
        self._units = [at + number for number, at in enumerate(self._wide)]

    @property
    def length(self) -> int:
        """The number of code units of the text."""
        return self._length + len(self._wide)

    def units(self, points: int) -> int:
        """The offset in code units for an offset in code points."""
        return points + bisect_left(self._wide, points)

    def points(self, units: int) -> int | None:
        """The offset in code points for an offset in code units; None inside a character or outside the text."""
        if not 0 <= units <= self.length:
            return None
        before = bisect_right(self._units, units - 1)
        if before and self._units[before - 1] == units - 1:
            return None
        return units - before
