"""Find the text that an annotation quotes near offsets where it doesn't stand.

Source of the idea: the error corrector for i2b2 files (Catelli 2021, section 3.1.1). A place is taken only if nothing
else nearby could be meant.
"""

import re
from enum import StrEnum
from typing import Final

from annotations.domain.characters import is_digit
from annotations.domain.spans import Bounds
from annotations.domain.tokens import Parts
from annotations.domain.whitespace import WHITE_SPACE

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
