"""How a file counts offsets, where its format leaves that open or programs differ: found by the texts it quotes."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from enum import StrEnum
from itertools import accumulate

from annotations.domain.formats.taking import same_quote
from annotations.domain.utf16 import Utf16


class Unit(StrEnum):
    """What an offset counts."""

    POINTS = "characters (code points)"
    UTF16 = "UTF-16 code units"
    BYTES = "bytes of UTF-8"


Points = Callable[[int], int | None]
"""The offset in code points for an offset in a unit; None inside a character or outside the text."""


def points_of(text: str, unit: Unit) -> Points:
    """The conversion of the offsets of one text."""
    if unit is Unit.UTF16:
        return Utf16(text).points
    if unit is Unit.BYTES and not text.isascii():
        ends = [0, *accumulate(len(character.encode("utf-8", "surrogatepass")) for character in text)]

        def points(count: int) -> int | None:
            at = bisect_left(ends, count)
            return at if at < len(ends) and ends[at] == count else None

        return points
    length = len(text)
    return lambda count: count if 0 <= count <= length else None


def fits(text: str, unit: Unit, quoted: Iterable[tuple[int, int, str]]) -> bool:
    """Whether all quotes stand at their offsets (start, end) in a text, counted in a unit."""
    points = points_of(text, unit)
    for first, past, quote in quoted:
        start, end = points(first), points(past)
        if start is None or end is None or not same_quote(text[start:end], quote):
            return False
    return True
