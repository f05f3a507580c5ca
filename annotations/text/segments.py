"""Lines of a text, and segments of lines for drawing; `static/js/text/segments.js` implements the same rules.

A segment is a stretch of one line over which the set of covering spans doesn't change. Offsets are code points,
end-exclusive.
"""

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Final

from annotations.text.spans import Span

BREAK: Final = re.compile(r"\r\n|\n|\r")
"""A line break: CR LF, LF or CR. Other separators, such as U+0085 and U+2028, are characters of the line."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line, `text[start:end]`, and its line break, `text[end:break_end]` (empty on the last line)."""

    number: int
    start: int
    end: int
    break_end: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A non-empty stretch of one line, with the spans that cover it, as indexes into the given spans.

    `spans` has the longest first, then the earliest, then the first given. `starts` and `ends` are the spans whose
    first and last segment this is.
    """

    start: int
    end: int
    spans: tuple[int, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]


def lines(text: str) -> list[Line]:
    """The lines of a text: one more than it has line breaks, so that after a final break there is an empty line."""
    out: list[Line] = []
    start = 0
    for number, match in enumerate(BREAK.finditer(text), 1):
        end, break_end = match.span()
        out.append(Line(number, start, end, break_end))
        start = break_end
    out.append(Line(len(out) + 1, start, len(text), len(text)))
    return out


def segment_stretches(stretches: Sequence[tuple[int, int]], spans: Sequence[Span]) -> list[list[Segment]]:
    """The segments of each stretch (start, end). Stretches are lines or parts of lines, from left to right.

    A span's first and last segment are determined among these stretches. Spans must lie inside the text.
    """
    edges, covers = _covers(spans)
    pieces: list[tuple[int, int, int, tuple[int, ...]]] = []
    for row, (begin, past) in enumerate(stretches):
        at = bisect_right(edges, begin)
        cuts = [begin, *edges[at : bisect_left(edges, past)], past] if begin < past else []
        pieces += ((row, start, end, covers[number]) for number, (start, end) in enumerate(pairwise(cuts), at))
    last = {index: at for at, (_row, _start, _end, active) in enumerate(pieces) for index in active}
    begun: set[int] = set()
    out: list[list[Segment]] = [[] for _ in stretches]
    for at, (row, start, end, active) in enumerate(pieces):
        starts = tuple(index for index in active if index not in begun)
        begun.update(starts)
        out[row].append(Segment(start, end, active, starts, tuple(index for index in active if last[index] == at)))
    return out


def _covers(spans: Sequence[Span]) -> tuple[list[int], list[tuple[int, ...]]]:
    """The offsets at which spans start or end, and the covering spans before the first of them and after each."""
    ranked = sorted(range(len(spans)), key=lambda at: (spans[at].start - spans[at].end, spans[at].start, at))
    events = [(spans[index].start, True, rank) for rank, index in enumerate(ranked)]
    events += [(spans[index].end, False, rank) for rank, index in enumerate(ranked)]
    edges: list[int] = []
    covers: list[tuple[int, ...]] = [()]
    open_ranks: list[int] = []  # sorted, which is the order of drawing
    for offset, here in groupby(sorted(events), key=itemgetter(0)):
        for _, opens, rank in here:
            if opens:
                insort(open_ranks, rank)
            else:
                open_ranks.remove(rank)
        edges.append(offset)
        covers.append(tuple(ranked[rank] for rank in open_ranks))
    return edges, covers


# Lanes for the underlines of spans: overlapping spans get underlines at different heights.
#
# `static/js/editor/lanes.js` implements the same rule.


LANES: Final = 4
"""How many underlines fit between two lines of text."""


def lanes(spans: Sequence[tuple[int, int, int]]) -> list[int]:
    """A lane, from 0, for each span (start, end, label): the lowest that is free at its start.

    Spans are placed in the order of their start, then the longest first, then by label. When all lanes are taken, spans
    share the last one.
    """
    order = sorted(range(len(spans)), key=lambda at: (spans[at][0], -spans[at][1], spans[at][2]))
    free_from: list[int] = []
    out = [0] * len(spans)
    for at in order:
        start, end, _ = spans[at]
        lane = next((lane for lane, taken_to in enumerate(free_from) if taken_to <= start), len(free_from))
        if lane < min(len(free_from), LANES):
            free_from[lane] = end
        elif lane < LANES:
            free_from.append(end)
        else:
            lane = LANES - 1
            free_from[lane] = max(free_from[lane], end)
        out[at] = lane
    return out


# Sentences, by one simple rule: for showing a span in its context, and as the denominator of the leak score.
#
# A line break ends a sentence. So does `.`, `!`, `?`, `…` or an ideographic full stop, with any closing quotes and
# brackets after it, if white space follows that is not followed by a lower-case letter. A full stop doesn't end a
# sentence after a single letter, after a number at the start of a line, or after a common abbreviation in the languages
# of the notes. Sentences don't start or end with white space. Offsets are code points, end-exclusive.


# A match can only begin where a run of these signs does: from within a run, a long one would be read again and again.
_END: Final = re.compile(r"""(?<![.!?…。！？])[.!?…。！？]+["'”’»)\]]*(?=\s)""")
_VISIBLE: Final = re.compile(r"\S")
_LINE: Final = re.compile(r"[^\r\n]+")
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
    for line in _LINE.finditer(text):
        start, end = line.span()
        stops = (match.end() for match in _END.finditer(text, start, end) if _ends(text, match, start, end))
        for first, past in pairwise((start, *stops, end)):
            if bare := text[first:past].strip():
                first = text.index(bare, first)
                found.append((first, first + len(bare)))
    return found


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
