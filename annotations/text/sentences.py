"""Sentences, by one simple rule: for showing a span in its context, and as the denominator of the leak score.

A line break ends a sentence. So does `.`, `!`, `?`, `…` or an ideographic full stop, with any closing quotes and
brackets after it, if white space follows that is not followed by a lower-case letter. A full stop doesn't end a
sentence after a single letter, after a number at the start of a line, or after a common abbreviation in the languages
of the notes. Sentences don't start or end with white space. Offsets are code points, end-exclusive.
"""

import re
from typing import Final

from annotations.text.segments import BREAK

# A match can only begin where a run of these signs does: from within a run, a long one would be read again and again.
_END: Final = re.compile(r"""(?<![.!?…。！？])[.!?…。！？]+["'”’»)\]]*(?=\s)""")
_VISIBLE: Final = re.compile(r"\S")
_BREAKS: Final = re.compile(r"[\r\n]+")
_WORD_BEFORE: Final = re.compile(r"(\w+)$")
_ABBREVIATIONS: Final = frozenset([
    "dr", "dra", "dott", "drssa", "prof", "profssa", "sig", "sigra", "sr", "sra", "srta", "mr", "mrs", "ms", "st",
    "av", "avda", "pza", "num", "tel", "ca", "vs", "cf", "es", "ecc", "etc", "art", "pag", "fig", "no", "vol",
    "approx", "dipl", "ing", "lic", "fdo", "nac", "reg", "ref", "ext", "int", "ud", "sto", "sta", "san",
])  # fmt: skip
_LONGEST_WORD: Final = 24

CONTEXT: Final = 160
"""The most characters of context on either side of a span in a very long sentence."""


def sentences(text: str) -> list[tuple[int, int]]:
    """Start and end of every sentence that isn't white space only; sentences don't overlap."""
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
        return _VISIBLE.search(text, start, word.start()) is not None
    return (len(word[1]) > 1 or not word[1].isalpha()) and word[1].lower() not in _ABBREVIATIONS


def around(text: str, start: int, end: int) -> tuple[int, int]:
    """Start and end of the sentence or sentences around `start`-`end`, at most CONTEXT characters on either side."""
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
