"""How a file counts offsets, where its format leaves that open or programs differ: found by the texts it quotes."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from enum import StrEnum
from itertools import accumulate

from annotations.formats.taking import same_quote
from annotations.text.characters import WHITE_SPACE
from annotations.text.spans import Bounds
from annotations.text.tokens import Parts
from annotations.text.utf16 import Utf16


class OffsetUnit(StrEnum):
    """What an offset counts."""

    POINTS = "characters (code points)"
    UTF16 = "UTF-16 code units"
    BYTES = "bytes of UTF-8"


Points = Callable[[int], int | None]
"""The offset in code points for an offset in a unit; None inside a character or outside the text."""


def points_of(text: str, unit: OffsetUnit) -> Points:
    """The conversion of the offsets of one text."""
    if unit is OffsetUnit.UTF16:
        return Utf16(text).points
    if unit is OffsetUnit.BYTES and not text.isascii():
        ends = [0, *accumulate(len(character.encode("utf-8", "surrogatepass")) for character in text)]

        def points(count: int) -> int | None:
            at = bisect_left(ends, count)
            return at if at < len(ends) and ends[at] == count else None

        return points
    length = len(text)
    return lambda count: count if 0 <= count <= length else None


def misfits(text: str, unit: OffsetUnit, quoted: Iterable[tuple[int, int, str]]) -> int:
    """The number of quotes that don't stand at their offsets (start, end) in a text, counted in a unit."""
    points = points_of(text, unit)
    wrong = 0
    for first, past, quote in quoted:
        start, end = points(first), points(past)
        wrong += start is None or end is None or not same_quote(text[start:end], quote)
    return wrong


def counts_utf16(text: str, quoted: Iterable[tuple[int, int, str]]) -> bool:
    """Whether offsets count UTF-16 code units: more quotes stand there than if they count code points."""
    if text.isascii() or max(text) <= "\uffff":
        return False
    given = list(quoted)
    return misfits(text, OffsetUnit.UTF16, given) < misfits(text, OffsetUnit.POINTS, given)


def likely_unit(text: str, bounds: Iterable[Bounds], unit: OffsetUnit) -> tuple[OffsetUnit, int]:
    """The unit that offsets without quotes count, and the number of spans that don't begin and end with words in it.

    It is `unit`, unless all spans begin and end with words in another one.
    """
    given = list(bounds)
    if text[: max((past for _first, past in given), default=0)].isascii():
        return unit, 0
    words = Parts(text)

    def misplaced(unit: OffsetUnit) -> int:
        points = points_of(text, unit)
        wrong = 0
        for first, past in given:
            start, end = points(first), points(past)
            wrong += (
                start is None
                or end is None
                or start >= end
                or any(map(words.inside_token, (start, end)))
                or any(text[at] in WHITE_SPACE for at in (start, end - 1))
            )
        return wrong

    wrong = misplaced(unit)
    other = next((each for each in OffsetUnit if not misplaced(each)), None) if wrong else None
    return (unit, wrong) if other is None else (other, 0)


def size(text: str, unit: OffsetUnit) -> int:
    """The length of a text in a unit."""
    if unit is OffsetUnit.POINTS or text.isascii():
        return len(text)
    return Utf16(text).length if unit is OffsetUnit.UTF16 else len(text.encode("utf-8", "surrogatepass"))
