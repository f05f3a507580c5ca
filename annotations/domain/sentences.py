"""Sentences, by one plain rule: for showing a span in its context, and for the leak score's denominator.

A line break ends a sentence. So does `.`, `!`, `?`, `…` or an ideographic full stop, with the closing quotes and
brackets behind it, where white space follows and then anything but a lower-case letter; not a full stop behind a
single letter, a number at the line's beginning, or a usual abbreviation of the notes' languages. It is no tokenizer's
model of sentences, but it is the same everywhere and has no white space in it to surprise offsets (code points,
end-exclusive).
"""

import re
from typing import Final

from annotations.domain.segments import BREAK

_END: Final = re.compile(r"""[.!?…。！？]+["'”’»)\]]*(?=\s)""")
_BREAKS: Final = re.compile(r"[\r\n]+")
_WORD_BEFORE: Final = re.compile(r"(\w+)$")
_ABBREVIATIONS: Final = frozenset([
    "dr", "dra", "dott", "drssa", "prof", "profssa", "sig", "sigra", "sr", "sra", "srta", "mr", "mrs", "ms", "st",
    "av", "avda", "pza", "num", "tel", "ca", "vs", "cf", "es", "ecc", "etc", "art", "pag", "fig", "no", "vol",
    "approx", "dipl", "ing", "lic", "fdo", "nac", "reg", "ref", "ext", "int", "ud", "sto", "sta", "san",
])  # fmt: skip
_LONGEST_WORD: Final = 24

CONTEXT: Final = 160
"""How many characters of a very long sentence are shown on either side."""


def sentences(text: str) -> list[tuple[int, int]]:
    """Start and end of every sentence that holds anything but white space; none overlaps another."""
    found: list[tuple[int, int]] = []
    line = 0
    for match in _BREAKS.finditer(text):
        _add_line(text, line, match.start(), found)
        line = match.end()
    _add_line(text, line, len(text), found)
    return found


def _add_line(text: str, start: int, end: int, found: list[tuple[int, int]]) -> None:
    at = start
    for match in _END.finditer(text, start, end):
        if _ends(text, match, start, end):
            _add(text, at, match.end(), found)
            at = match.end()
    _add(text, at, end, found)


def _add(text: str, start: int, end: int, found: list[tuple[int, int]]) -> None:
    piece = text[start:end]
    bare = piece.strip()
    if bare:
        start += len(piece) - len(piece.lstrip())
        found.append((start, start + len(bare)))


def _ends(text: str, match: "re.Match[str]", start: int, end: int) -> bool:
    if text[match.end() : min(end, match.end() + 40)].lstrip()[:1].islower():
        return False
    if match[0][0] != ".":
        return True
    word = _WORD_BEFORE.search(text, max(start, match.start() - _LONGEST_WORD), match.start())
    if word is None:
        return True
    if word[1].isdecimal():
        return bool(text[start : word.start()].strip())
    return (len(word[1]) > 1 or not word[1].isalpha()) and word[1].lower() not in _ABBREVIATIONS


def around(text: str, start: int, end: int) -> tuple[int, int]:
    """The sentence or sentences that a stretch lies in, cut to CONTEXT characters on either side of it."""
    low, high = max(0, start - 4 * CONTEXT), min(len(text), end + 4 * CONTEXT)
    breaks_before = [match.end() for match in BREAK.finditer(text, low, start)]
    after = BREAK.search(text, end, high)
    low = breaks_before[-1] if breaks_before else low
    high = after.start() if after else high
    for match in _END.finditer(text, low, high):
        if match.end() <= start and _ends(text, match, low, high):
            low = match.end()
        elif match.end() >= end and _ends(text, match, low, high):
            high = match.end()
            break
    low, high = max(low, start - CONTEXT), min(high, end + CONTEXT)
    while low < start and text[low].isspace():
        low += 1
    while high > end and text[high - 1].isspace():
        high -= 1
    return low, high
