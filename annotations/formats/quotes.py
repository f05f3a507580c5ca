"""Find the text that an annotation quotes near offsets where it doesn't stand.

Source of the idea: the error corrector for i2b2 files (Catelli 2021, section 3.1.1). A place is taken only if nothing
else nearby could be meant. Offsets that count line ends or wide characters in another way are moved as a whole first.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from annotations.text.characters import WHITE_SPACE, is_digit
from annotations.text.spans import Bounds
from annotations.text.tokens import Parts
from annotations.text.utf16 import Utf16

NEAR: Final = 100
"""The most characters between the expected start and the place found."""

MOVED: Final = "moved"
"""The code of the warning for a span that was moved to its quote."""

_LONGEST: Final = 1000
_GAP: Final = f"[{re.escape(''.join(sorted(WHITE_SPACE)))}]*"
_WHITE: Final = re.compile(f"[{re.escape(''.join(sorted(WHITE_SPACE)))}]+")


class Miss(StrEnum):
    """Why no place was taken, as a sentence."""

    ABSENT = f"It was not found within {NEAR} characters."
    AMBIGUOUS = f"It occurs more than once within {NEAR} characters."


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A span whose quote doesn't stand at its offsets (code points); `keep` takes it at its place."""

    start: int
    end: int
    quote: str
    line: int | None
    keep: Callable[[int, int], None]


class ReportLine(Protocol):
    """Reports a problem or a warning: its code, its message, and its line."""

    def __call__(self, code: str, message: str, line: int | None = None) -> None: ...


def place(
    text: str, misplaced: Iterable[Misplaced], right: Iterable[int], *, warn: ReportLine, refuse: ReportLine
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
            differs = f"The text at {span.start}-{span.end} differs from the text that the file gives for this span."
            refuse("quote", f"{differs} {found}", span.line)
            continue
        start, end = found
        before, shift = span.start, start - expected
        given = f"{span.start}-{span.end}"
        warn(MOVED, f"The text of the span {given} stands at {start}-{end}; the span was moved there.", span.line)
        span.keep(start, end)


def _drift(text: str, spans: Sequence[Misplaced]) -> Callable[[int], int]:
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
