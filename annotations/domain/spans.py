"""A labelled span of a note, and the one rule that says when two of them overlap."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from annotations.domain.whitespace import trim


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A labelled stretch of a note: `text[start:end]`, in code points, end-exclusive.

    `confidence` and `source` belong to proposals; two spans with the same place and label are equal whatever these say.
    """

    start: int
    end: int
    label: str
    confidence: float | None = field(default=None, compare=False)
    source: str = field(default="", compare=False)


class SpanError(ValueError):
    """A span that can't stand. The message names offsets, never the text of a note.

    `code` is `empty` (start not before end), `outside` (leaves the text), `quote` (the text there is another one) or
    `white` (nothing but white space).
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Stretch(Protocol):
    """Whatever lies from `start` to `end` (code points, end-exclusive): a span, a token."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


def overlaps(a: Stretch, b: Stretch) -> bool:
    """The one overlap rule: half-open intervals intersect. Touching is not overlapping."""
    return a.start < b.end and b.start < a.end


def overlap_length(a: Stretch, b: Stretch) -> int:
    """How many code points two of them share; 0 if they don't overlap."""
    return max(0, min(a.end, b.end) - max(a.start, b.start))


def check_bounds(span: Span, length: int) -> None:
    """Raise SpanError (`empty` or `outside`) unless the span is a stretch of a text of `length` code points."""
    if span.start >= span.end:
        raise SpanError("empty", f"the span {span.start}-{span.end} is empty")
    if span.start < 0 or span.end > length:
        raise SpanError("outside", f"the span {span.start}-{span.end} leaves the text, which has {length} characters")


def checked(text: str, span: Span, quote: str | None = None) -> Span:
    """The span with white space trimmed from its ends, once it is known to fit the text.

    `quote`, where given, must be `text[start:end]` as it was before trimming. Raises SpanError.
    """
    check_bounds(span, len(text))
    start, end = span.start, span.end
    if quote is not None and text[start:end] != quote:
        raise SpanError("quote", f"the text at {start}-{end} is not the text that the span names")
    start, end = trim(text, start, end)
    if start == end:
        raise SpanError("white", f"the span {span.start}-{span.end} holds nothing but white space")
    if (start, end) == (span.start, span.end):
        return span
    return replace(span, start=start, end=end)


def renamed(spans: Iterable[Span], codes: Mapping[str, str]) -> list[Span]:
    """The spans with the labels that `codes` gives for theirs; those that it doesn't name keep their own."""
    return [
        replace(span, label=codes[span.label]) if codes.get(span.label, span.label) != span.label else span
        for span in spans
    ]
