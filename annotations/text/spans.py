"""A labeled span of a note, and the one rule for when two spans overlap."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Final, Protocol

from annotations.text.characters import WHITE_SPACE, trim

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
    start, end = span.start, span.end
    if not 0 <= start < end <= len(text):
        check_bounds(span, len(text))
    if quote is not None and text[start:end] != quote:
        raise SpanError("quote", f"The text at {start}-{end} differs from the text of the span. Reload the note.")
    # Most spans begin and end with a word.
    if text[start] not in WHITE_SPACE and text[end - 1] not in WHITE_SPACE:
        return span
    start, end = trim(text, start, end)
    if start == end:
        raise SpanError("white", f"The span {span.start}-{span.end} contains only white space.")
    return replace(span, start=start, end=end)


def renamed(spans: Iterable[Span], codes: Mapping[str, str]) -> list[Span]:
    """The spans with their labels replaced as in `codes`; labels that it doesn't name stay."""
    return [
        replace(span, label=codes[span.label]) if codes.get(span.label, span.label) != span.label else span
        for span in spans
    ]


# Limits on the spans of one annotation set: how many it may hold, and how many may cover one character.
#
# The cost of drawing a note grows with both, because a span is split wherever another span starts or ends inside it.


MOST_SPANS: Final = 10_000
"""Most spans in one annotation set. A note of 100,000 characters usually has about 2,000."""
DEEPEST: Final = 10
"""Most spans of one annotation set that may cover one character."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """Too many spans: `count` of them in all (`at` is None), or over the character at offset `at`."""

    count: int
    at: int | None = None


def has_room(spans: Collection[Bounds], bounds: Bounds) -> bool:
    """Whether one more span, at `bounds`, may be added to `spans`."""
    if len(spans) >= MOST_SPANS:
        return False
    near = [(start, end) for start, end in spans if start < bounds[1] and bounds[0] < end]
    return len(near) < DEEPEST or crowd_over([*near, bounds], [bounds]) is None


def crowd_in(spans: Iterable[Bounds]) -> Crowd | None:
    """The first limit that these spans exceed; None if they exceed none."""
    held = sorted(spans)
    if len(held) > MOST_SPANS:
        return Crowd(len(held))
    if all(end <= start for (_, end), (start, _) in pairwise(held)):
        return None  # the usual case: no two spans overlap
    return crowd_over(held, held)


def crowd_over(spans: Iterable[Bounds], inside: Iterable[Bounds]) -> Crowd | None:
    """The first character in one of the bounds in `inside` that too many of `spans` cover; None if there is none."""
    steps = [step for start, end in spans for step in ((start, 1, 0), (end, -1, 0))]
    steps += [step for start, end in inside for step in ((start, 0, 1), (end, 0, -1))]
    steps.sort()
    deep = watched = 0
    # All starts and ends at one offset are counted before the text that follows the offset is judged.
    for offset, here in groupby(steps, key=itemgetter(0)):
        for _, covers, watches in here:
            deep += covers
            watched += watches
        if watched and deep > DEEPEST:
            return Crowd(deep, offset)
    return None


# Text with placeholders in place of labeled spans. Offsets are code points, end-exclusive.


def stretches(spans: Iterable[Span]) -> list[tuple[int, int, str]]:
    """Join overlapping spans, and give each stretch the label of its longest, then earliest span; in order."""
    found: list[tuple[int, int, str]] = []
    longest = 0
    for span in sorted(spans):
        if found and span.start < found[-1][1]:
            start, end, label = found[-1]
            if span.end - span.start > longest:
                longest, label = span.end - span.start, span.label
            found[-1] = (start, max(end, span.end), label)
        else:
            found.append((span.start, span.end, span.label))
            longest = span.end - span.start
    return found


def masked(text: str, spans: Iterable[Span], placeholder_of: Mapping[str, str]) -> str:
    """The text with every stretch replaced by its label's placeholder."""
    parts: list[str] = []
    done = 0
    for start, end, label in stretches(spans):
        parts += [text[done:start], placeholder_of[label]]
        done = end
    return "".join([*parts, text[done:]])
