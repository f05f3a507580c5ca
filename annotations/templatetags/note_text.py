"""The text of a note as markup, with its spans: everything of the note is escaped here.

Each line is a `.line-text` whose text is the line and nothing else, so that a place in the page can be counted back to
an offset of the note. Line breaks aren't in the page (HTML would turn CR LF into LF). Spans that cover a stretch are
nested, the longest outside. `static/js/workbench/render.js` draws changed lines in the same way.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from annotations.domain.lanes import lanes
from annotations.domain.segments import Line, Segment, segment_lines
from annotations.domain.spans import Span
from annotations.selectors.workbench import LabelItem, SpanItem

register = template.Library()


class Look(NamedTuple):
    """What one span looks like wherever a piece of it is drawn."""

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
    rows = (
        (line.number, line.number, line.start, line.end, _pieces(text, line, segments, looks))
        for line, segments in segment_lines(text, plain)
    )
    return format_html_join(
        "\n",
        '<div class="line" id="L{}"><span class="gutter" aria-hidden="true">{}</span>'
        '<div class="line-text" dir="auto" data-start="{}" data-end="{}">{}</div></div>',
        rows,
    )


def _look(span: SpanItem, labels: Mapping[int, LabelItem], lane: int) -> Look:
    label = labels.get(span["label"])
    hue, underline = (label["hue"], label["underline"]) if label else (0, 0)
    classes = f"span hue-{hue} underline-{underline} lane-{lane}"
    return Look(classes, span["id"], label["name"] if label else "?")


def _pieces(text: str, line: Line, segments: Sequence[Segment], looks: Sequence[Look]) -> SafeString:
    """One line: pieces of spans that go on from one segment to the next stay one element."""
    open_spans: list[int] = []
    parts: list[SafeString] = []
    for at, segment in enumerate(segments):
        shared = _shared(open_spans, segment.spans)
        parts += [CLOSE] * (len(open_spans) - shared)
        for depth in range(shared, len(segment.spans)):
            index = segment.spans[depth]
            parts.append(_opening(looks[index], index, segments[at:], segment.spans[: depth + 1]))
        parts.append(format_html("{}", text[segment.start : segment.end]))
        open_spans = list(segment.spans)
    parts += [CLOSE] * len(open_spans)
    return format_html_join("", "{}", ((part,) for part in parts))


CLOSE = SafeString("</span>")


def _shared(before: Sequence[int], now: Sequence[int]) -> int:
    count = 0
    while count < min(len(before), len(now)) and before[count] == now[count]:
        count += 1
    return count


def _opening(look: Look, index: int, following: Sequence[Segment], chain: tuple[int, ...]) -> SafeString:
    """The start of a piece. The chip and the words for screen readers sit on the span's last and first piece."""
    first = index in following[0].starts
    last = any(index in segment.ends for segment in _same_piece(following, chain))
    return format_html(
        '<span class="{}" role="group" aria-label="{}" data-span="{}"{}>',
        look.classes if last else f"{look.classes} is-continued",
        look.name if first else f"{look.name}, continued",
        look.pk,
        format_html(' data-label="{}"', look.name) if last else "",
    )


def _same_piece(following: Sequence[Segment], chain: tuple[int, ...]) -> Iterator[Segment]:
    """The segments that lie in the element opened for the last span of `chain`."""
    for segment in following:
        if segment.spans[: len(chain)] != chain:
            return
        yield segment
