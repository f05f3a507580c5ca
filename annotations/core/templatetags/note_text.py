"""The text of a note as HTML, with its spans. This module escapes the note's text.

Each line is a `.line-text` element that contains exactly the text of the line, so that a position in the page can be
converted to an offset in the note. Line breaks are not in the page, because HTML would turn CR LF into LF. Overlapping
spans are nested, the longest outside. Lines are grouped into blocks, which the browser lays out and paints only when
they come near the window. `static/js/editor/render.js` draws changed lines in the same way.

The HTML is joined from strings, ten times as fast as format_html. Most spans overlap no other span and lie in one line:
these are written directly, and only the others are cut into segments.

A span is cut wherever a longer span that crosses it ends, so ten spans over each character can make ten pieces each.
With more than MOST_PIECES pieces, only the innermost span of each segment is written, and the page says so; the
annotate page's script then draws all spans from the page's data (`static/js/annotate/visit.js`).
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Final, NamedTuple

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from annotations.core.labels import LabelItem
from annotations.core.spans import SpanItem, attribute_words
from annotations.text.segments import Line, Segment, lanes, lines, segment_stretches
from annotations.text.spans import Span, check_bounds

register = template.Library()

BLOCK_LINES, BLOCK_CHARACTERS = 24, 3000
"""A block ends after the line with which it reaches one of these lengths, in lines or in code points."""
MOST_PIECES: Final = 20_000
"""Pieces per page, of about 130 bytes each. A span that crosses no other has one piece per line that it touches."""
# The characters that escape() replaces.
_MARKUP = re.compile("[&<>\"']")


class Look(NamedTuple):
    """The classes and name of spans of one label in one lane, and their name for screen readers; names are escaped."""

    classes: str
    name: str
    spoken: str


class LinePiece(NamedTuple):
    """HTML for `text[start:end]`, which lies in one line."""

    start: int
    end: int
    markup: str


class Run(NamedTuple):
    """A group of spans that are connected by overlaps; `reach` is the greatest end.

    `rows` holds the segments of each line; it is empty for a single span within one line.
    """

    spans: Sequence[SpanItem]
    reach: int
    rows: Sequence[Sequence[Segment]]


@register.simple_tag
def note_text(text: str, spans: Sequence[SpanItem], labels: Sequence[LabelItem]) -> SafeString:
    """Show the lines of `text` with `spans` in their labels' hues and underlines. Raises SpanError for bad bounds."""
    drawing = Drawing(text, labels)
    pieces = drawing.pieces(spans)
    piece = next(pieces, None)
    written = drawing.written
    out: list[str] = [_crowded()] if drawing.crowded else []
    out.append('<div class="lines">')
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
    # Every text in it went through escape(); numbers and class names need no escaping.
    return SafeString("".join(out))


class Drawing:
    """Builds the pieces of one note. `written` escapes its text."""

    def __init__(self, text: str, labels: Sequence[LabelItem]) -> None:
        self.text = text
        self.lines = lines(text)
        self.written: Callable[[str], str] = escape if _MARKUP.search(text) else str
        self._starts = [line.start for line in self.lines]
        self._labels: Mapping[int, LabelItem] = {label["id"]: label for label in labels}
        self._looks: dict[tuple[int, int], Look] = {}
        self.crowded = False

    def pieces(self, spans: Sequence[SpanItem]) -> Iterator[LinePiece]:
        """Yield pieces from left to right, without overlaps. Sets `crowded` where only innermost spans are drawn."""
        runs = list(self._runs(spans))
        self.crowded = sum(_pieces_in(run.rows) for run in runs) > MOST_PIECES
        for run in runs:
            yield from self._drawn(run)

    def _runs(self, spans: Sequence[SpanItem]) -> Iterator[Run]:
        # The script uses the same order, which decides the nesting of spans with equal bounds.
        ordered = sorted(spans, key=lambda span: (span["start"], -span["end"], span["label"]))
        run: list[SpanItem] = []
        reach = 0
        for span in ordered:
            check_bounds(Span(span["start"], span["end"], ""), len(self.text))
            if run and span["start"] >= reach:
                yield self._run(run, reach)
                run = []
            reach = max(reach, span["end"])
            run.append(span)
        if run:
            yield self._run(run, reach)

    def _run(self, run: Sequence[SpanItem], reach: int) -> Run:
        start = run[0]["start"]
        row = bisect_right(self._starts, start) - 1
        if len(run) == 1 and reach <= self.lines[row].end:
            return Run(run, reach, ())
        past = bisect_right(self._starts, reach - 1)
        stretches = [_within(line, start, reach) for line in self.lines[row:past]]
        return Run(run, reach, segment_stretches(stretches, [Span(each["start"], each["end"], "") for each in run]))

    def _drawn(self, run: Run) -> Iterator[LinePiece]:
        if not run.rows:
            span = run.spans[0]
            look, start = self._look(span, 0), span["start"]
            inside = self.written(self.text[start : run.reach])
            yield LinePiece(start, run.reach, f"{_opening(*look, span['id'], True)}{inside}</span>")
            return
        placed = lanes([(span["start"], span["end"], span["label"]) for span in run.spans])
        looks = [self._look(span, lane) for span, lane in zip(run.spans, placed, strict=True)]
        for row in run.rows:
            if row:
                segments = [_innermost(segment) for segment in row] if self.crowded else row
                yield LinePiece(row[0].start, row[-1].end, "".join(self._nested(run.spans, looks, segments)))

    def _nested(
        self, run: Sequence[SpanItem], looks: Sequence[Look], segments: Sequence[Segment]
    ) -> Iterator[str]:  # fmt: skip
        """Yield the markup of one line. A span that continues into the next segment stays in one element."""
        before: tuple[int, ...] = ()
        for segment in segments:
            shared = _shared(before, segment.spans)
            yield "</span>" * (len(before) - shared)
            for depth in range(shared, len(segment.spans)):
                index = segment.spans[depth]
                first = index in segment.starts
                yield _opening(*looks[index], run[index]["id"], first, stacked=depth > shared)
            yield self.written(self.text[segment.start : segment.end])
            before = segment.spans
        yield "</span>" * len(before)

    def _look(self, span: SpanItem, lane: int) -> Look:
        label = span["label"]
        found = self._looks.get((label, lane))
        if found is None:
            item = self._labels.get(label)
            hue, underline = (item["hue"], item["underline"]) if item else (0, 0)
            classes = f"span hue-{hue:d} underline-{underline:d} lane-{lane:d}"
            name = escape(item["name"] if item else "?")
            found = self._looks[label, lane] = Look(classes, name, name)
        attributes = span.get("attributes")
        if not attributes:
            return found
        spoken = ", ".join([found.name, *map(escape, attribute_words(attributes))])
        return Look(f"{found.classes} has-attributes", found.name, spoken)


def _within(line: Line, start: int, end: int) -> tuple[int, int]:
    return max(line.start, start), min(line.end, end)


def _pieces_in(rows: Sequence[Sequence[Segment]]) -> int:
    """Count the pieces of a group: in each segment, the spans that open a new element there."""
    if not rows:
        return 1
    count = 0
    for segments in rows:
        before: tuple[int, ...] = ()
        for segment in segments:
            count += len(segment.spans) - _shared(before, segment.spans)
            before = segment.spans
    return count


def _innermost(segment: Segment) -> Segment:
    return replace(segment, spans=segment.spans[-1:])


def _crowded() -> str:
    message = gettext("Too many spans overlap in this note. Each character shows only its innermost span.")
    return f'<p class="notice note-crowded">{escape(message)}</p>'


def _continued(name: str) -> str:
    """Return the name of a span's later pieces for screen readers; `name` is already escaped."""
    return escape(gettext("%(label)s, continued")) % {"label": name}


def _opening(classes: str, name: str, spoken: str, pk: int, first: bool, *, stacked: bool = False) -> str:
    """Return the opening tag of a piece. The chip and the full name belong to the span's first piece.

    A stacked piece starts where the piece around it starts.
    """
    return (
        f'<span class="{classes}{" is-stacked" if stacked else ""}" role="group" '
        f'aria-label="{spoken if first else _continued(spoken)}" data-span="{pk:d}"'
        + (f' data-label="{name}">' if first else ">")
    )


def _shared(before: Sequence[int], now: Sequence[int]) -> int:
    count = 0
    while count < min(len(before), len(now)) and before[count] == now[count]:
        count += 1
    return count
