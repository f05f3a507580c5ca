"""A labeled span of a note, and the one rule for when two spans overlap."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import groupby, pairwise
from operator import attrgetter, itemgetter
from typing import Final, NamedTuple, Protocol

from annotations.text.characters import WHITE_SPACE, digit_ranges, is_digit, is_word, word_ranges
from annotations.text.wording import WordedError

Bounds = tuple[int, int]
"""Start and end, in code points, end-exclusive."""

LabeledBounds = tuple[int, int, int]
"""Start and end, in code points, end-exclusive, and label id."""


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


class SpanError(WordedError, ValueError):
    """An invalid span. The message is a sentence that names offsets, never the text of a note.

    `code` is `empty` (start not before end), `outside` (not inside the text), `quote` (the text there differs from the
    quote) or `white` (white space only).
    """

    def __init__(self, code: str, sentence: str, *values: object) -> None:
        super().__init__(sentence, *values)
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
        raise SpanError("empty", "The span {start}-{end} is empty.", span.start, span.end)
    if span.start < 0 or span.end > length:
        raise SpanError(
            "outside",
            "The span {start}-{end} is not inside the text, which has {length} characters.",
            *(span.start, span.end, length),
        )


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Move both ends of `text[start:end]` inwards over white space. The result may have `start == end`.

    Offsets are code points, end-exclusive, and must lie inside the text (`0 <= start <= end <= len(text)`).
    """
    while start < end and text[start] in WHITE_SPACE:
        start += 1
    while end > start and text[end - 1] in WHITE_SPACE:
        end -= 1
    return start, end


def checked(text: str, span: Span, quote: str | None = None) -> Span:
    """Check that the span fits the text, and return it without white space at its ends.

    `quote`, if given, must be equal to `text[start:end]` before trimming. Raises SpanError.
    """
    start, end = span.start, span.end
    if not 0 <= start < end <= len(text):
        check_bounds(span, len(text))
    if quote is not None and text[start:end] != quote:
        raise SpanError(
            "quote", "The text at {start}-{end} differs from the text of the span. Reload the note.", start, end
        )
    # Most spans begin and end with a word.
    if text[start] not in WHITE_SPACE and text[end - 1] not in WHITE_SPACE:
        return span
    start, end = trim(text, start, end)
    if start == end:
        raise SpanError("white", "The span {start}-{end} contains only white space.", span.start, span.end)
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
    return replaced(text, ((start, end, placeholder_of[label]) for start, end, label in stretches(spans)))


def replaced(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """The text with another one in place of each stretch: start, end and new text, in order and without overlaps."""
    parts: list[str] = []
    done = 0
    for start, end, new in edits:
        parts += (text[done:start], new)
        done = end
    return "".join((*parts, text[done:]))


# Tokens: one rule for snapping, BIO, agreement and scoring; `static/js/text/tokens.js` implements the same rule.
#
# A token is a maximal run of letters and marks, a maximal run of decimal digits, or any other single character that
# isn't white space. White space is never part of a token. Offsets are code points, end-exclusive.


class Token(NamedTuple):
    """A token, `text[start:end]`, in code points, end-exclusive; never empty."""

    start: int
    end: int


class Tokenizer(Protocol):
    """A function that returns the tokens of a text in order; no token is empty, and tokens don't overlap."""

    def __call__(self, text: str) -> list[Token]: ...


class TokenizerError(WordedError, ValueError):
    """A tokenizer can't be had, for example for the language. The message says what to do."""


_CACHE_LIMIT: Final = 1 << 16


class _Kinds(dict[int, str]):
    """The kind of each code point, for `str.translate`: W (word), D (digit), O (other) or a space; filled on demand."""

    def __missing__(self, code_point: int) -> str:
        if chr(code_point) in WHITE_SPACE:
            kind = " "
        elif is_word(code_point):
            kind = "W"
        elif is_digit(code_point):
            kind = "D"
        else:
            kind = "O"
        if len(self) < _CACHE_LIMIT:  # a hostile text may contain every code point
            self[code_point] = kind
        return kind


_KINDS: Final = _Kinds()
_TOKEN: Final = re.compile("W+|D+|O")
_WIDE: Final = 0x10000
_start = attrgetter("start")
_end = attrgetter("end")


def tokenize(text: str) -> list[Token]:
    """The tokens of a text in order, by the default rule."""
    # A check by the length in UTF-16 takes no time beside a search for such characters.
    if text.isascii() or len(text.encode("utf-16-le", "surrogatepass")) == 2 * len(text):
        return tokens_at([match.span() for match in _narrow_token().finditer(text)])
    return tokens_at([match.span() for match in _TOKEN.finditer(text.translate(_KINDS))])


def tokens_at(bounds: Iterable[tuple[int, int]]) -> list[Token]:
    """Tokens with these bounds, without checks, in half the time that `Token` takes for each."""
    new = tuple.__new__
    return [new(Token, each) for each in bounds]


@cache
def _narrow_token() -> re.Pattern[str]:
    """A token of a text without characters above U+FFFF: the same as _TOKEN, without the translation first."""
    word, digit = (
        "".join(f"{re.escape(chr(first))}-{re.escape(chr(past - 1))}" for first, past in ranges if past <= _WIDE)
        for ranges in (word_ranges(), digit_ranges())
    )
    return re.compile(f"[{word}]+|[{digit}]+|[^{re.escape(''.join(WHITE_SPACE))}]")


def estimated(length: int) -> int:
    """Roughly how many tokens a text of `length` code points has, rounded up: for batch sizes, never for figures.

    Clinical notes have 4.1 (short, Italian) to 5.3 (case reports, Spanish) code points per token, with white space.
    """
    return length // 4 + 1


class Parts:
    """Tokens of parts of one text by the default rule, with tokens split at the ends of each part.

    The text is classified once, so that each call costs no more than the part is long.
    """

    def __init__(self, text: str) -> None:
        self._kinds = text.translate(_KINDS)

    def inside(self, start: int, end: int) -> list[Token]:
        """The tokens of the part, in order."""
        return [Token(*match.span()) for match in _TOKEN.finditer(self._kinds, start, end)]

    def count(self, start: int, end: int) -> int:
        """The number of tokens of the part, without creating them."""
        return len(_TOKEN.findall(self._kinds, start, end))

    def inside_token(self, at: int) -> bool:
        """Whether the offset lies inside a token."""
        return at > 0 and self._kinds[at - 1 : at + 1] in ("WW", "DD")

    def whole(self, cuts: Iterable[int]) -> int:
        """The number of tokens of the text when it is split at these offsets."""
        kinds = self._kinds
        runs = sum(kinds.count(change) for change in (" W", "OW", "DW", " D", "OD", "WD"))
        whole = kinds.count("O") + runs + (kinds[:1] in ("W", "D"))
        return whole + sum(kinds[at - 1 : at + 1] in ("WW", "DD") for at in set(cuts))


def split_at(tokens: Sequence[Token], boundaries: Iterable[int]) -> list[Token]:
    """The tokens, split at every boundary that lies inside one. Boundaries may be unordered and repeated."""
    inside: dict[int, list[int]] = {}
    for cut in sorted(set(boundaries)):
        at = bisect_right(tokens, cut, key=_end)
        if at < len(tokens) and tokens[at].start < cut:
            inside.setdefault(at, []).append(cut)
    out: list[Token] = []
    done = 0
    for at, cuts in inside.items():
        out += tokens[done:at]
        out += tokens_at(pairwise([tokens[at].start, *cuts, tokens[at].end]))
        done = at + 1
    return [*out, *tokens[done:]]


def covered(tokens: Sequence[Token], start: int, end: int) -> tuple[int, int]:
    """The half-open range of indexes of the tokens that share a character with `start`-`end`."""
    return bisect_right(tokens, start, key=_end), bisect_left(tokens, end, key=_start)
