"""Find the text that an annotation quotes near offsets where it doesn't stand.

Source of the idea: the error corrector for i2b2 files (Catelli 2021, section 3.1.1). A place is taken only if nothing
else nearby could be meant. Offsets that count line ends or wide characters in another way are moved as a whole first.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import Final, Protocol

from annotations.text.characters import WHITE_SPACE, Utf16, is_digit
from annotations.text.segments import BREAK
from annotations.text.spans import Bounds, Parts
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop

NEAR: Final = 100
"""The most characters between the expected start and the place found."""

MOVED: Final = "moved"
"""The code of the warning for a span that was moved to its quote."""

_LONGEST: Final = 1000
_GAP: Final = f"[{re.escape(''.join(sorted(WHITE_SPACE)))}]*"
_WHITE: Final = re.compile(f"[{re.escape(''.join(sorted(WHITE_SPACE)))}]+")


class Miss(StrEnum):
    """Why no place was taken, as a sentence."""

    ABSENT = gettext_noop("It was not found within {most} characters.")
    AMBIGUOUS = gettext_noop("It occurs more than once within {most} characters.")


@dataclass(frozen=True, slots=True)
class MisplacedSpan:
    """A span whose quote doesn't stand at its offsets (code points); `keep` takes it at its place."""

    start: int
    end: int
    quote: str
    line: int | None
    keep: Callable[[int, int], object]


class ReportLine(Protocol):
    """Reports a problem or a warning: its code, its message, and its line."""

    def __call__(self, code: str, message: str, line: int | None = None) -> None: ...


def place(
    text: str, misplaced: Iterable[MisplacedSpan], right: Iterable[int], *, warn: ReportLine, refuse: ReportLine
) -> None:
    """Move misplaced spans to their quotes, in text order: offsets are often wrong by the same number.

    The number is that of the span before; after a span in its place it is 0. `right` are the starts of these spans.
    """
    spans = sorted(misplaced, key=lambda each: (each.start, each.end, each.line or 0))
    drift = _drift(text, spans)
    starts = sorted(right)
    before, shift = 0, 0
    for span in spans:
        if bisect_left(starts, before) < bisect_left(starts, span.start):
            shift = 0
        expected = drift(span.start)
        found = find_near(text, span.quote, expected + shift)
        if isinstance(found, Miss):
            differs = _(
                "The text at {start}-{end} differs from the text that the file gives for this span.",
                *(span.start, span.end),
            )
            refuse("quote", f"{differs} {_(found, NEAR)}", span.line)
            continue
        start, end = found
        before, shift = span.start, start - expected
        given = f"{span.start}-{span.end}"
        warn(
            MOVED,
            _("The text of the span {given} stands at {start}-{end}; the span was moved there.", given, start, end),
            span.line,
        )
        span.keep(start, end)


def _drift(text: str, spans: Sequence[MisplacedSpan]) -> Callable[[int], int]:
    """Where offsets lead that count line ends or wide characters otherwise: as most spans say, or nowhere else."""
    pairs = [match.start() for match in re.finditer("\r\n", text)]
    # Offsets of the line feeds if the pair counts as one character, and of those that are alone if they count as two.
    single = [at - number for number, at in enumerate(pairs)]
    double = [match.start() + number + 1 for number, match in enumerate(re.finditer("(?<!\r)\n", text))]
    wide = Utf16(text)
    ways: list[Callable[[int], int]] = [
        lambda offset: offset,
        lambda offset: offset + bisect_left(single, offset),
        lambda offset: offset - bisect_left(double, offset),
        lambda offset: offset if (found := wide.points(offset)) is None else found,
    ]
    return max(ways, key=lambda way: sum(text.startswith(span.quote, way(span.start)) for span in spans))


def find_near(text: str, quote: str, expected: int) -> Bounds | Miss:
    """The place of the quote whose start is near `expected`.

    White space in the quote may be other white space in the text, or none. A place that is exactly the quote comes
    before one that differs in white space, and a place between words before one inside a word; a number is never cut.
    Of several places, only one that starts exactly at `expected` is taken.
    """
    words = [word for word in _WHITE.split(quote) if word]
    if not words or len(quote) > _LONGEST:
        return Miss.ABSENT
    low, high = max(0, expected - NEAR), min(len(text), expected + NEAR + len(quote) + NEAR)
    piece = text[low:high]
    pattern = re.compile(f"(?=({_GAP.join(map(re.escape, words))}))")
    found = [(low + match.start(), low + match.end(1)) for match in pattern.finditer(piece)]
    found = [place for place in found if place[0] <= expected + NEAR and not _cuts_number(text, place)]
    if not found:
        return Miss.ABSENT
    found = [place for place in found if text[slice(*place)] == quote.strip()] or found
    parts = Parts(piece)
    found = [place for place in found if not any(parts.inside_token(at - low) for at in place)] or found
    if len(found) > 1:
        found = [place for place in found if place[0] == expected]
    return found[0] if found else Miss.AMBIGUOUS


def _cuts_number(text: str, place: Bounds) -> bool:
    return any(0 < at < len(text) and _digit(text[at - 1]) and _digit(text[at]) for at in place)


def _digit(character: str) -> bool:
    return is_digit(ord(character))


def same_quote(found: str, quote: str) -> bool:
    """Whether a quote is the text found; line breaks count as equal to each other and to a space."""
    if found == quote:
        return True
    # A line break has at most two characters, so that long texts need not be searched for short quotes.
    may_fit = len(found) <= 2 * len(quote)
    return may_fit and bool(BREAK.search(found)) and BREAK.sub(" ", found) == BREAK.sub(" ", quote)


# How a file counts offsets, where its format leaves that open or programs differ: found by the texts it quotes.


class OffsetUnit(StrEnum):
    """What an offset counts."""

    POINTS = gettext_noop("characters (code points)")
    UTF16 = gettext_noop("UTF-16 code units")
    BYTES = gettext_noop("bytes of UTF-8")


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
