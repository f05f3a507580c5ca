"""White space for spans and tokens; `static/js/text/characters.js` has the same list."""

from typing import Final

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
