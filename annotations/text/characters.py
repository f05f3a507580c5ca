"""Which code points are letters or marks, and which are decimal digits (Unicode 17.0).

`static/js/text/characters.js` has the same tables. Both are frozen, so that Python and the browser make the same tokens
whatever Unicode version either was built with. Source: general categories L*, M* and Nd of the Unicode Character
Database, taken from ICU.

Each table is a list of half-open ranges, as pairs of base-36 numbers: the gap after the previous range, and the length.
"""

import re
from bisect import bisect_left, bisect_right
from typing import Final

_WORD = (
    "1t q 6 q 1b 1 a 1 4 1 5 n 1 v 1 cq 4 c e 5 7 1 1 1 h 39 1 2 2 4 1 1 6 1 1 3 1 1 1 k 1 2b 1 3v 1 4t 1 12 2 1 "
    "6 15 8 19 1 1 1 2 1 2 1 1 8 r 4 4 t b 5 1s e 2u 1 8 2 a 1 6 a 3 2 1 g 1n 2 2t o 18 4 1 2 1 2 1a i s 4 b 5 o "
    "1 7 7 23 1 3l d j 1 8 2 2 2 m 1 7 1 1 3 4 2 9 2 2 2 4 8 1 4 2 1 5 c 2 a 1 1 1 2 3 1 6 4 2 2 m 1 7 1 2 1 2 1 "
    "2 2 1 1 5 4 2 2 3 3 1 7 4 1 1 h 6 b 3 1 9 1 3 1 m 1 7 1 2 1 5 2 a 1 3 1 3 2 1 f 4 l 7 1 3 1 8 2 2 2 m 1 7 1 "
    "2 1 5 2 9 2 2 2 3 7 3 4 2 1 5 d 1 g 2 1 6 3 3 1 4 3 2 1 1 1 2 3 2 3 3 3 c 4 5 3 3 1 4 2 1 6 1 14 d 1 3 1 n 1 "
    "g 2 9 1 3 1 4 7 2 1 3 1 2 2 4 s 4 1 8 1 3 1 n 1 a 1 5 2 9 1 3 1 4 7 2 5 3 1 4 d 3 c d 1 3 1 1f 1 3 1 5 5 4 7 "
    "5 m 6 1 3 1 i 3 o 1 9 1 1 2 7 3 1 4 6 1 1 1 8 i 2 d 1m 5 f 1e 2 1 1 1 5 1 o 1 1 1 n 2 5 1 1 1 7 d 4 w 1 n 2 "
    "r 1 1 1 1 1 4 a 1 10 4 k 1 i 1 10 9 1 1l 1s g 1s a 4 2 12 1 1 5 1 2 17 1 99 1 4 2 7 1 1 1 4 2 15 1 4 2 x 1 4 "
    "2 7 1 1 1 4 2 f 1 1l 1 4 2 1v 2 3 w g g 2e 2 6 3 h8 2 h 1 q 5 23 6 8 7 m 9 m b k c d 1 3 1 2 c 2c 3 1 4 2 19 "
    "3 1 1 g 2h 7 17 5 1y a v 1 c 4 c k u 2 5 b 18 4 q 1i s 4 1r 1 t 2 1 13 1 8 1a 2 c k 25 u 9 c 1c a 1m c 1k l "
    "3 a 10 2 b 5 17 2 3 g 3 1 13 5 eu 2 6 2 12 2 6 2 8 1 1 1 1 1 1 1 v 2 1h 1 7 1 1 3 3 1 7 3 4 2 6 4 d 5 3 1 7 "
    "38 1 d 1 g d 1f x h 1 4 1 2 a 1 1 3 5 6 1 1 1 1 1 1 4 1 b 2 4 5 5 4 1 1g 2 22j 6d 6 9 c 12 1 1 5 1 2 1k 7 1 "
    "f o 9 7 1 7 1 7 1 7 1 7 1 7 1 7 1 7 1 w 1b 1 d1 2 z 6 1 5 5 2 4 2e 2 2 2 3 1 2i 1 4 5 17 1 2m h w 1c g e8 "
    "534 1s h3h 1v 1a 2 7h 3 g a 2 k 1f 1 a 1 2v a 2 11 9 2 2v 2 2a k 1j 4 1 j 1g c 1y q o 3 1 1 3 a 10 2 10 c t "
    "3 1t e 1 g g a 5 1 1j 9 e i n 3 21 o 3 2 g 2 5 a 6 2 6 2 6 9 7 1 7 1 17 1 e 6 3f 1 2 i 8mc c n 4 1d 6is a6 2 "
    "2y 12 7 c 5 5 c 1 d 1 5 1 1 1 2 1 2 1 30 x a3 i 1s 2 1i 14 c 4 g g g 1s 5 1 3r 10 q 6 q b 2h 3 6 2 6 2 6 2 3 "
    "z c 1 q 1 j 1 2 1 f 2 e y 3f 76 1 3m t 3 1d f 1 v w d k 1 8 6 17 5 u 2 10 4 8 1c 4e i 10 4 10 4 14 8 1g c b "
    "1 f 1 7 1 2 1 b 1 f 1 7 1 2 3 1g c 8n 9 m a 8 o 6 1 16 1 9 1x 6 2 1 1 18 1 2 3 1 2 n a n 9 v 1t j 1 2 a m a "
    "q 6 q 12 1k 6 2 1s 4 1 2 5 8 1 3 1 t 2 3 4 1 w t 3 t z 8 1 u p 1i a m a j d i 32 21 1j 1f d 1f d 14 y s 3 5 "
    "1 n 6y 16 1 2 3 2 g 6 1e z a 1 8 x v m 16 l r n 9 1z 15 6 9 1o 7 1 d p n 1h f 4 8 10 2 1 9 1x 4 4 1 2 a 1 1 "
    "1 z i 1 11 6 4 1q 7 1 1 1 4 1 f 1 a 7 1n l 4 1 8 2 2 2 m 1 7 1 2 1 5 1 a 2 2 2 3 2 1 6 1 5 7 2 7 3 5 b a 1 1 "
    "2 1 1 12 1 a 1 1 2 1 1 4 1 8 d 2 t 23 j 4 u 1y 1 1 54 1i 2 9 n 6 y 1t 3 1 1n 1l 1z r 2 f k 7 55 1n 2t 1s v 8 "
    "2 1 2 8 1 2 1 u 1 2 2 9 2k 8 2 1a 2 8 1 2 r 1r 8 1 8 22 3 1 i 21 2v 8 2g x v 9 1 19 1 9 1d u 2 m 1 e 21 7 1 "
    "2 1 18 3 1 1 2 1 9 o 6 1 2 1 11 1 2 1 6 n 18 78 n 9 h 1 15 3 5 n 1 2d 1 27 pm 6e 5g 218 2p f ts g m a 32z 5 "
    "g7 5a1 1c 1cg ft 7 v h 27 h u 2 5 b 1j 9 4 v l 5 j c0 19 5v 1s w p 2 p 18 23 4 1l 7 h 1s 2 1 2 b 4 c 5p2 15 "
    "w 2p 37 6pp 4 1 7 1 2 1 83 f 1 t 3 2 1 e 4 8 b0 1s4 2z 5 d 3 9 7 a 3 2 3mp 1a 2 n f2 5 3 6 8 8 2 7 u 4 44 3 "
    "cb 2d 1 1z 1 2 2 1 2 2 2 4 1 c 1 1 1 7 1 1t 1 4 2 8 1 7 1 s 1 4 1 5 1 1 3 7 1 9g 2 p 1 p 1 v 1 p 1 v 1 p 1 v "
    "1 p 1 v 1 p 1 8 fo 1j 4 1e 8 1 e 1 m 5 1 f uo v 6 6 5x 7 1 h 2 7 1 2 1 5 5 1q x 1 34 19 3 e g 1 8x v h 1c dc "
    "w 68 x 5r v 1 m 8 2 68 7 1 4 1 2 1 f 1 5h b 7 15 24 xg 4 1 r 1 2 1 1 2 1 1 a 1 4 1 1 1 1 6 1 4 1 1 1 1 1 1 3 "
    "1 2 1 1 2 1 1 1 1 1 1 1 1 1 1 2 1 1 2 4 1 7 1 4 1 4 1 1 1 a 1 h 5 3 1 5 1 h 3es wyo w 3dq 2 4ge 2 5rl f ha "
    "1wi f2 15u 3t7 5 6ju f62u 6o"
)
_DIGIT = (
    "1c a 17q a 3q a 5i a bg a 3a a 3a a 3a a 3a a 3a a 3a a 3a a 3a a 3a a 2o a 3a a 1y a 7q a 1y a 1fq a 12 a "
    "8c a 3k a 4m a 6 a 52 a 2e a 3q a 6 a r7q a iu a 12 a 5i a m a 2e a ba a geu a 13a a 1om a 6 a m4 a 3k a 1o "
    "a 40 a 7q a 9i a 3a a ae a 2u a 6 k 24 a bq a 2u a ie a 2e a 6u a 1y a 1i a 9y a d06 a 1t2 a 2e a 3q a eu a "
    "iuu a 250 1e 1ts a bq a dy a 6v a np a 3o6 a"
)


def _bounds(packed: str) -> list[int]:
    """The edges of the ranges, ascending: a code point is in a range if an odd number of edges are at or below it."""
    bounds, edge = [], 0
    for step in packed.split():
        edge += int(step, 36)
        bounds.append(edge)
    return bounds


_WORD_BOUNDS = _bounds(_WORD)
_DIGIT_BOUNDS = _bounds(_DIGIT)


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


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Move both ends of `text[start:end]` inwards over white space. The result may have `start == end`.

    Offsets are code points, end-exclusive, and must lie inside the text (`0 <= start <= end <= len(text)`).
    """
    while start < end and text[start] in WHITE_SPACE:
        start += 1
    while end > start and text[end - 1] in WHITE_SPACE:
        end -= 1
    return start, end


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
