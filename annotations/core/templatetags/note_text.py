"""The text of a note as markup, with its spans: everything of the note is escaped here.

Each line is a `.line-text` whose text is the line and nothing else, so that a place in the page can be counted back to
an offset of the note. Line breaks aren't in the page (HTML would turn CR LF into LF). Spans that cover a stretch are
nested, the longest outside. Lines come in blocks, which a browser lays out and paints only when they come near the
window. `static/js/editor/render.js` draws changed lines in the same way.

Joined from strings, which takes a tenth of what format_html would. Most spans overlap no other and stay in their line:
those are written at once, and only the others are cut into segments.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import NamedTuple

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from annotations.core.labels import LabelItem
from annotations.core.spans import SpanItem
from annotations.domain.lanes import lanes
from annotations.domain.segments import Line, Segment, lines, segment_stretches
from annotations.domain.spans import Span, check_bounds

register = template.Library()

BLOCK_LINES, BLOCK_CHARACTERS = 24, 3000
"""A block ends with the line that makes it this long, in lines or in code points."""
# What escape() changes.
_MARKUP = re.compile("[&<>\"']")


class Look(NamedTuple):
    """How spans of one label in one lane are written. `name` is escaped already."""

    classes: str
    name: str


class Piece(NamedTuple):
    """Markup for `text[start:end]`, which lies in one line."""

    start: int
    end: int
    markup: str


@register.simple_tag
def note_text(text: str, spans: Sequence[SpanItem], labels: Sequence[LabelItem]) -> SafeString:
    """The lines of `text`, with `spans` drawn by the labels' hues and underlines. Raises SpanError."""
    drawing = Drawing(text, labels)
    pieces = drawing.pieces(spans)
    piece = next(pieces, None)
    written = drawing.written
    out: list[str] = ['<div class="lines">']
    first, begun = 1, 0
    for line in drawing.lines:
        if line.number - first >= BLOCK_LINES or line.start - begun >= BLOCK_CHARACTERS:
            out.append('</div><div class="lines">')
            first, begun = line.number, line.start
        out.append(
            f'<div class="line" id="L{line.number}"><span class="gutter" aria-hidden="true">{line.number}</span>'
            f'<div class="line-text" dir="auto" data-start="{line.start}" data-end="{line.end}">'
        )
        at = line.start
        while piece is not None and piece.start < line.end:
            out += (written(text[at : piece.start]), piece.markup)
            at = piece.end
            piece = next(pieces, None)
        out += (written(text[at : line.end]), "</div></div>\n")
    out.append("</div>")
    # Every string in it went through escape(); numbers and our own class names need none.
    return SafeString("".join(out))


class Drawing:
    """The pieces of one note. `written` escapes its text."""

    def __init__(self, text: str, labels: Sequence[LabelItem]) -> None:
        self.text = text
        self.lines = lines(text)
        self.written: Callable[[str], str] = escape if _MARKUP.search(text) else str
        self._starts = [line.start for line in self.lines]
        self._labels: Mapping[int, LabelItem] = {label["id"]: label for label in labels}
        self._looks: dict[tuple[int, int], Look] = {}

    def pieces(self, spans: Sequence[SpanItem]) -> Iterator[Piece]:
        """From left to right, none over another."""
        # In the order in which the script draws them, which decides between spans that lie exactly on each other.
        ordered = sorted(spans, key=lambda span: (span["start"], -span["end"], span["label"]))
        run: list[SpanItem] = []
        reach = 0
        for span in ordered:
            check_bounds(Span(span["start"], span["end"], ""), len(self.text))
            if run and span["start"] >= reach:
                yield from self._run(run, reach)
                run = []
            reach = max(reach, span["end"])
            run.append(span)
        if run:
            yield from self._run(run, reach)

    def _run(self, run: Sequence[SpanItem], reach: int) -> Iterator[Piece]:
        """Spans that hang together by overlapping, up to `reach`, where all of them have ended."""
        start = run[0]["start"]
        row = bisect_right(self._starts, start) - 1
        if len(run) == 1 and reach <= self.lines[row].end:
            (classes, name), pk = self._look(run[0]["label"], 0), run[0]["id"]
            inside = self.written(self.text[start:reach])
            yield Piece(start, reach, f"{_opening(classes, name, pk, True, True)}{inside}</span>")
        else:
            past = bisect_right(self._starts, reach - 1)
            yield from self._segmented(run, [_within(line, start, reach) for line in self.lines[row:past]])

    def _segmented(self, run: Sequence[SpanItem], stretches: Sequence[tuple[int, int]]) -> Iterator[Piece]:
        placed = lanes([(span["start"], span["end"], span["label"]) for span in run])
        looks = [self._look(span["label"], lane) for span, lane in zip(run, placed, strict=True)]
        plain = [Span(span["start"], span["end"], "") for span in run]
        for (start, end), segments in zip(stretches, segment_stretches(stretches, plain), strict=True):
            if segments:
                yield Piece(start, end, "".join(self._nested(run, looks, segments)))

    def _nested(
        self, run: Sequence[SpanItem], looks: Sequence[Look], segments: Sequence[Segment]
    ) -> Iterator[str]:  # fmt: skip
        """One line: pieces of spans that go on from one segment to the next stay one element."""
        before: tuple[int, ...] = ()
        for at, segment in enumerate(segments):
            shared = _shared(before, segment.spans)
            yield "</span>" * (len(before) - shared)
            for depth in range(shared, len(segment.spans)):
                index = segment.spans[depth]
                first = index in segment.starts
                last = any(index in each.ends for each in _same_piece(segments, at, segment.spans[: depth + 1]))
                yield _opening(*looks[index], run[index]["id"], first, last)
            yield self.written(self.text[segment.start : segment.end])
            before = segment.spans
        yield "</span>" * len(before)

    def _look(self, label: int, lane: int) -> Look:
        found = self._looks.get((label, lane))
        if found is None:
            item = self._labels.get(label)
            hue, underline = (item["hue"], item["underline"]) if item else (0, 0)
            classes = f"span hue-{hue:d} underline-{underline:d} lane-{lane:d}"
            found = self._looks[label, lane] = Look(classes, escape(item["name"] if item else "?"))
        return found


def _within(line: Line, start: int, end: int) -> tuple[int, int]:
    return max(line.start, start), min(line.end, end)


def _continued(name: str) -> str:
    """`name` is markup already."""
    return escape(gettext("%(label)s, continued")) % {"label": name}


def _opening(classes: str, name: str, pk: int, first: bool, last: bool) -> str:
    """The start of a piece. The chip and the words for screen readers sit on the span's last and first piece."""
    return (
        f'<span class="{classes}{"" if last else " is-continued"}" role="group" '
        f'aria-label="{name if first else _continued(name)}" data-span="{pk:d}"'
        + (f' data-label="{name}">' if last else ">")
    )


def _shared(before: Sequence[int], now: Sequence[int]) -> int:
    count = 0
    while count < min(len(before), len(now)) and before[count] == now[count]:
        count += 1
    return count


def _same_piece(segments: Sequence[Segment], at: int, chain: tuple[int, ...]) -> Iterator[Segment]:
    """The segments from `at` on that lie in the element opened for the last span of `chain`."""
    for segment in (segments[index] for index in range(at, len(segments))):
        if segment.spans[: len(chain)] != chain:
            return
        yield segment
