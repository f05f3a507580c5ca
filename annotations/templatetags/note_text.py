"""The text of a note as markup, with its spans: everything of the note is escaped here.

Each line is a `.line-text` whose text is the line and nothing else, so that a place in the page can be counted back to
an offset of the note. Line breaks aren't in the page (HTML would turn CR LF into LF). Spans that cover a stretch are
nested, the longest outside. Joined from strings, which takes a tenth of what format_html would.
`static/js/workbench/render.js` draws changed lines in the same way.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString

from annotations.domain.lanes import lanes
from annotations.domain.segments import Segment, segment_lines
from annotations.domain.spans import Span
from annotations.selectors.workbench import LabelItem, SpanItem

register = template.Library()


class Look(NamedTuple):
    """What one span looks like wherever a piece of it is drawn. `name` is escaped already."""

    classes: str
    pk: int
    name: str


@register.simple_tag
def note_text(text: str, spans: Sequence[SpanItem], labels: Sequence[LabelItem]) -> SafeString:
    """The lines of `text`, with `spans` drawn by the labels' hues and underlines."""
    # In the order in which the script draws them, which decides between spans that lie exactly on each other.
    spans = sorted(spans, key=lambda span: (span["start"], -span["end"], span["label"]))
    by_id = {label["id"]: label for label in labels}
    plain = [Span(span["start"], span["end"], str(span["label"])) for span in spans]
    placed = lanes([(span["start"], span["end"], span["label"]) for span in spans])
    looks = [_look(span, by_id, lane) for span, lane in zip(spans, placed, strict=True)]
    out: list[str] = []
    for line, segments in segment_lines(text, plain):
        out.append(
            f'<div class="line" id="L{line.number}"><span class="gutter" aria-hidden="true">{line.number}</span>'
            f'<div class="line-text" dir="auto" data-start="{line.start}" data-end="{line.end}">'
        )
        _add_pieces(out, text, segments, looks)
        out.append("</div></div>\n")
    # Every string in it went through escape(); numbers and our own class names need none.
    return SafeString("".join(out))


def _look(span: SpanItem, labels: Mapping[int, LabelItem], lane: int) -> Look:
    label = labels.get(span["label"])
    hue, underline = (label["hue"], label["underline"]) if label else (0, 0)
    return Look(
        classes=f"span hue-{hue:d} underline-{underline:d} lane-{lane:d}",
        pk=span["id"],
        name=escape(label["name"] if label else "?"),
    )


def _add_pieces(out: list[str], text: str, segments: Sequence[Segment], looks: Sequence[Look]) -> None:
    """One line: pieces of spans that go on from one segment to the next stay one element."""
    before: tuple[int, ...] = ()
    for at, segment in enumerate(segments):
        shared = _shared(before, segment.spans)
        out.append("</span>" * (len(before) - shared))
        for depth in range(shared, len(segment.spans)):
            index = segment.spans[depth]
            out.append(_opening(looks[index], index, segments[at:], segment.spans[: depth + 1]))
        out.append(escape(text[segment.start : segment.end]))
        before = segment.spans
    out.append("</span>" * len(before))


def _shared(before: Sequence[int], now: Sequence[int]) -> int:
    count = 0
    while count < min(len(before), len(now)) and before[count] == now[count]:
        count += 1
    return count


def _opening(look: Look, index: int, following: Sequence[Segment], chain: tuple[int, ...]) -> str:
    """The start of a piece. The chip and the words for screen readers sit on the span's last and first piece."""
    first = index in following[0].starts
    last = any(index in segment.ends for segment in _same_piece(following, chain))
    return (
        f'<span class="{look.classes}{"" if last else " is-continued"}" role="group" '
        f'aria-label="{look.name}{"" if first else ", continued"}" data-span="{look.pk:d}"'
        + (f' data-label="{look.name}">' if last else ">")
    )


def _same_piece(following: Sequence[Segment], chain: tuple[int, ...]) -> Iterator[Segment]:
    """The segments that lie in the element opened for the last span of `chain`."""
    for segment in following:
        if segment.spans[: len(chain)] != chain:
            return
        yield segment
