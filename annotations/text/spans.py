"""A labeled span of a note, and the one rule for when two spans overlap."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from annotations.text.characters import trim

Bounds = tuple[int, int]
"""Start and end, in code points, end-exclusive."""


@dataclass(frozen=True, slots=True)
class Span:
    """A labeled stretch of a note: `text[start:end]`, in code points, end-exclusive.

    `confidence` and `source` belong to suggestions; they don't count when spans are compared. Nor do `attributes`,
    which are pairs of a name and a choice, or of a name and True, sorted by name.
    """

    start: int
    end: int
    label: str
    confidence: float | None = field(default=None, compare=False)
    source: str = field(default="", compare=False)
    attributes: tuple[tuple[str, str | bool], ...] = field(default=(), compare=False, kw_only=True)

    # The order of a dataclass would refuse to compare a span with a doubtful one.
    def __lt__(self, other: "Span") -> bool:
        return (self.start, self.end, self.label) < (other.start, other.end, other.label)


class SpanError(ValueError):
    """An invalid span. The message is a sentence that names offsets, never the text of a note.

    `code` is `empty` (start not before end), `outside` (not inside the text), `quote` (the text there differs from the
    quote) or `white` (white space only).
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Stretch(Protocol):
    """Anything with a `start` and an `end` (code points, end-exclusive), for example a span or a token."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


def overlaps(a: Stretch, b: Stretch) -> bool:
    """Whether two half-open intervals share a character. Touching is not overlapping."""
    return a.start < b.end and b.start < a.end


def overlap_length(a: Stretch, b: Stretch) -> int:
    """How many code points the two share; 0 if they don't overlap."""
    return max(0, min(a.end, b.end) - max(a.start, b.start))


def check_bounds(span: Span, length: int) -> None:
    """Raise SpanError (`empty` or `outside`) unless the span lies inside a text of `length` code points."""
    if span.start >= span.end:
        raise SpanError("empty", f"The span {span.start}-{span.end} is empty.")
    if span.start < 0 or span.end > length:
        raise SpanError(
            "outside", f"The span {span.start}-{span.end} is not inside the text, which has {length} characters."
        )


def checked(text: str, span: Span, quote: str | None = None) -> Span:
    """Check that the span fits the text, and return it without white space at its ends.

    `quote`, if given, must be equal to `text[start:end]` before trimming. Raises SpanError.
    """
    check_bounds(span, len(text))
    start, end = span.start, span.end
    if quote is not None and text[start:end] != quote:
        raise SpanError("quote", f"The text at {start}-{end} differs from the text of the span. Reload the note.")
    start, end = trim(text, start, end)
    if start == end:
        raise SpanError("white", f"The span {span.start}-{span.end} contains only white space.")
    if (start, end) == (span.start, span.end):
        return span
    return replace(span, start=start, end=end)


def renamed(spans: Iterable[Span], codes: Mapping[str, str]) -> list[Span]:
    """The spans with their labels replaced as in `codes`; labels that it doesn't name stay."""
    return [
        replace(span, label=codes[span.label]) if codes.get(span.label, span.label) != span.label else span
        for span in spans
    ]
