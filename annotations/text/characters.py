"""Which code points are letters or marks, and which are decimal digits (Unicode 17.0).

`static/js/text/characters.js` has the same tables. Both are frozen, so that Python and the browser make the same tokens
whatever Unicode version either was built with. Source: general categories L*, M* and Nd of the Unicode Character
Database, taken from ICU.

`data/characters.txt` has the table of letters and marks and, after an empty line, that of digits. Each table is a list
of half-open ranges, as pairs of base-36 numbers: the gap after the previous range, and the length.
"""

import re
from bisect import bisect_left, bisect_right
from pathlib import Path
from typing import Final


def _bounds(packed: str) -> list[int]:
    """The edges of the ranges, ascending: a code point is in a range if an odd number of edges are at or below it."""
    bounds, edge = [], 0
    for step in packed.split():
        edge += int(step, 36)
        bounds.append(edge)
    return bounds


_TABLES = Path(__file__).with_name("data") / "characters.txt"
_WORD_BOUNDS, _DIGIT_BOUNDS = map(_bounds, _TABLES.read_text(encoding="ascii").split("\n\n"))


def is_word(code_point: int) -> bool:
    """True for a letter or a mark (general category L* or M*)."""
    return bisect_right(_WORD_BOUNDS, code_point) % 2 == 1


def is_digit(code_point: int) -> bool:
    """True for a decimal digit (general category Nd)."""
    return bisect_right(_DIGIT_BOUNDS, code_point) % 2 == 1


def word_ranges() -> list[tuple[int, int]]:
    """The half-open ranges of code points for which `is_word` is true."""
    return list(zip(_WORD_BOUNDS[::2], _WORD_BOUNDS[1::2], strict=True))


def digit_ranges() -> list[tuple[int, int]]:
    """The half-open ranges of code points for which `is_digit` is true."""
    return list(zip(_DIGIT_BOUNDS[::2], _DIGIT_BOUNDS[1::2], strict=True))


# White space for spans and tokens; `static/js/text/characters.js` has the same list.


WHITE_SPACE: Final[frozenset[str]] = frozenset(
    "\t\n\x0b\x0c\r \x85\xa0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
    "\u200b\ufeff"
)
"""Unicode `White_Space` plus U+200B (zero-width space) and U+FEFF (byte order mark). `str.isspace` differs from it."""


# Offsets in UTF-16 code units, in which Java and JavaScript count: the conversion from and to code points.
#
# A character above U+FFFF (an emoji, for example) is one code point and two code units. Offsets of notes count code
# points.


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
