"""Tokens: one rule for snapping, BIO, agreement and scoring; `static/js/text/tokens.js` implements the same rule.

A token is a maximal run of letters and marks, a maximal run of decimal digits, or any other single character that isn't
white space. White space is never part of a token. Offsets are code points, end-exclusive.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from operator import attrgetter
from typing import Final, NamedTuple, Protocol

from annotations.text.characters import WHITE_SPACE, digit_ranges, is_digit, is_word, word_ranges


class Token(NamedTuple):
    """A token, `text[start:end]`, in code points, end-exclusive; never empty."""

    start: int
    end: int


class Tokenizer(Protocol):
    """A function that returns the tokens of a text in order; no token is empty, and tokens don't overlap."""

    def __call__(self, text: str) -> list[Token]: ...


class TokenizerError(ValueError):
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


def tokenize_inside(text: str, regions: Sequence[tuple[int, int]]) -> tuple[list[Token], int]:
    """The tokens inside the regions, and the number of tokens outside, after splitting at the ends of the regions.

    `regions` are in order and don't touch. Equivalent to `split_at` on all tokens, without creating those outside.
    """
    parts = Parts(text)
    inside = [token for region in regions for token in parts.inside(*region)]
    return inside, parts.whole(edge for region in regions for edge in region) - len(inside)


def _count(kinds: str) -> int:
    """The number of tokens: single characters, and starts of runs."""
    runs = sum(kinds.count(change) for change in (" W", "OW", "DW", " D", "OD", "WD"))
    return kinds.count("O") + runs + (kinds[:1] in ("W", "D"))


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
        return _count(kinds) + sum(kinds[at - 1 : at + 1] in ("WW", "DD") for at in set(cuts))


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
