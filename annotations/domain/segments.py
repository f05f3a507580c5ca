"""Text to lines, and lines to segments that can be drawn; `static/js/text/segments.js` is the twin.

A segment is a stretch of one line over which the set of covering spans doesn't change. Offsets are code points,
end-exclusive.
"""

import re
from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from annotations.domain.spans import Span, check_bounds

BREAK: Final = re.compile(r"\r\n|\n|\r")
"""What ends a line: CR LF, LF or CR. Not U+0085, U+2028 and their like, which are characters of the line."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line: `text[start:end]` without its break, which is `text[end:break_end]` (empty on the last line)."""

    number: int
    start: int
    end: int
    break_end: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of one line, never empty, with the spans that cover it, as indexes into the spans given.

    `spans` has the longest first, then the earliest, then the first given. `starts` and `ends` are those of them whose
    first and whose last segment this is.
    """

    start: int
    end: int
    spans: tuple[int, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]


def lines(text: str) -> list[Line]:
    """The lines of a text: one more than it has breaks, so that a text that ends in a break has an empty last line."""
    out: list[Line] = []
    start = 0
    for number, match in enumerate(BREAK.finditer(text), 1):
        end, break_end = match.span()
        out.append(Line(number, start, end, break_end))
        start = break_end
    out.append(Line(len(out) + 1, start, len(text), len(text)))
    return out


def segment_lines(text: str, spans: Sequence[Span]) -> list[tuple[Line, list[Segment]]]:
    """Every line of the text with the segments that make it up, in order; an empty line has none.

    Spans may overlap, nest, touch and run over line breaks. Raises SpanError if one is empty or leaves the text. Takes
    O(n log n) for n spans, besides the size of what is returned.
    """
    for span in spans:
        check_bounds(span, len(text))
    found = lines(text)
    return list(zip(found, segment_stretches([(line.start, line.end) for line in found], spans), strict=True))


def segment_stretches(stretches: Sequence[tuple[int, int]], spans: Sequence[Span]) -> list[list[Segment]]:
    """The segments of each stretch of a text, given as (start, end) from left to right: whole lines or parts of them.

    A span's first and last segments are those among the stretches. Spans must be stretches of the text.
    """
    rows: list[list[tuple[int, int, tuple[int, ...]]]] = []
    first: dict[int, tuple[int, int]] = {}  # span -> where its first segment lies: (row, place in it)
    last: dict[int, tuple[int, int]] = {}
    cover = _Cover(spans)
    for row, (begin, past) in enumerate(stretches):
        pieces: list[tuple[int, int, tuple[int, ...]]] = []
        for start, end, active in cover.pieces(begin, past):
            place = (row, len(pieces))
            for index in active:
                first.setdefault(index, place)
                last[index] = place
            pieces.append((start, end, active))
        rows.append(pieces)
    out = []
    for row, pieces in enumerate(rows):
        segments = []
        for at, (start, end, active) in enumerate(pieces):
            place = (row, at)
            starts = tuple(index for index in active if first[index] == place)
            ends = tuple(index for index in active if last[index] == place)
            segments.append(Segment(start, end, active, starts, ends))
        out.append(segments)
    return out


class _Cover:
    """Walks the ends of the spans from left to right, and knows which spans are open."""

    def __init__(self, spans: Sequence[Span]) -> None:
        ranked = sorted(
            range(len(spans)), key=lambda index: (spans[index].start - spans[index].end, spans[index].start, index)
        )
        self._index_at = ranked  # rank -> index; ranks keep the open spans in drawing order
        rank_of = {index: rank for rank, index in enumerate(ranked)}
        events = [(span.start, True, rank_of[index]) for index, span in enumerate(spans)]
        events += [(span.end, False, rank_of[index]) for index, span in enumerate(spans)]
        self._events = sorted(events)
        self._at = 0
        self._open: list[int] = []
        self._active: tuple[int, ...] = ()

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """The stretches of `start`-`end` and the open spans of each. Calls must go from left to right."""
        while start < end:
            self._move_to(start)
            edge = min(self._next_edge(end), end)
            yield start, edge, self._active
            start = edge

    def _next_edge(self, otherwise: int) -> int:
        return self._events[self._at][0] if self._at < len(self._events) else otherwise

    def _move_to(self, position: int) -> None:
        """Open and close all spans whose ends lie at or before the position."""
        before = self._at
        while self._at < len(self._events) and self._events[self._at][0] <= position:
            _, opens, rank = self._events[self._at]
            if opens:
                insort(self._open, rank)
            else:
                self._open.remove(rank)
            self._at += 1
        if self._at != before:
            self._active = tuple(self._index_at[rank] for rank in self._open)
