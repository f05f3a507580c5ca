"""Tokens: the one rule for snapping, BIO, agreement and scoring; `static/js/text/tokens.js` is its twin.

A token is a maximal run of letters and marks, a maximal run of decimal digits, or any other single character that isn't
white space. White space is never part of a token. Offsets are code points, end-exclusive.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, Protocol

from annotations.domain.characters import is_digit, is_word
from annotations.domain.whitespace import WHITE_SPACE


@dataclass(frozen=True, slots=True)
class Token:
    """`text[start:end]`, in code points, end-exclusive; never empty."""

    start: int
    end: int


class Tokenizer(Protocol):
    """Gives the tokens of a text in order: none empty, none overlapping."""

    def __call__(self, text: str) -> list[Token]: ...


_CACHE_LIMIT: Final = 1 << 16


class _Kinds(dict[int, str]):
    """The kind of each code point, for `str.translate`: W (word), D (digit), O (other), blank; filled when met."""

    def __missing__(self, code_point: int) -> str:
        if chr(code_point) in WHITE_SPACE:
            kind = " "
        elif is_word(code_point):
            kind = "W"
        elif is_digit(code_point):
            kind = "D"
        else:
            kind = "O"
        if len(self) < _CACHE_LIMIT:  # a hostile text may hold every code point there is
            self[code_point] = kind
        return kind


_KINDS: Final = _Kinds()
_TOKEN: Final = re.compile("W+|D+|O")
_start = attrgetter("start")
_end = attrgetter("end")


def tokenize(text: str) -> list[Token]:
    """The tokens of a text by the default rule, in order."""
    return [Token(*match.span()) for match in _TOKEN.finditer(text.translate(_KINDS))]


def estimated(length: int) -> int:
    """About how many tokens a text of `length` code points has, rather too many: for sizes, never for figures.

    Clinical notes have 4.1 (short, Italian) to 5.3 (case reports, Spanish) code points a token, white space included.
    """
    return length // 4 + 1


def tokenize_inside(text: str, regions: Sequence[tuple[int, int]]) -> tuple[list[Token], int]:
    """The tokens inside the regions, and how many lie outside them, by the default rule on the text cut at every end.

    `regions` are in order and apart. The same as cutting all tokens at those ends, without making those outside.
    """
    kinds = text.translate(_KINDS)
    inside: list[Token] = []
    cuts: set[int] = set()
    for start, end in regions:
        inside += [Token(*match.span()) for match in _TOKEN.finditer(kinds, start, end)]
        cuts.update(at for at in (start, end) if kinds[at - 1 : at + 1] in ("WW", "DD"))
    return inside, _count(kinds) + len(cuts) - len(inside)


def _count(kinds: str) -> int:
    """How many tokens there are: single ones, and the beginnings of runs."""
    runs = sum(kinds.count(change) for change in (" W", "OW", "DW", " D", "OD", "WD"))
    return kinds.count("O") + runs + (kinds[:1] in ("W", "D"))


class Parts:
    """Tokens of parts of one text by the default rule, the text cut at the ends of each part that is asked for.

    The text is classified once, so that many looks at small parts cost no more than the parts.
    """

    def __init__(self, text: str) -> None:
        self._kinds = text.translate(_KINDS)

    def inside(self, start: int, end: int) -> list[Token]:
        """The tokens of the part, in order."""
        return [Token(*match.span()) for match in _TOKEN.finditer(self._kinds, start, end)]

    def count(self, start: int, end: int) -> int:
        """How many tokens the part has, without making them."""
        return len(_TOKEN.findall(self._kinds, start, end))

    def inside_token(self, at: int) -> bool:
        """Whether a cut at this place would go through a token."""
        return at > 0 and self._kinds[at - 1 : at + 1] in ("WW", "DD")

    def whole(self, cuts: Iterable[int]) -> int:
        """How many tokens the text has when it is cut at these places."""
        kinds = self._kinds
        return _count(kinds) + sum(kinds[at - 1 : at + 1] in ("WW", "DD") for at in set(cuts))


def split_at(tokens: Sequence[Token], boundaries: Iterable[int]) -> list[Token]:
    """The tokens, each cut wherever a boundary falls inside it. Boundaries may come in any order, and repeated."""
    cuts = sorted(set(boundaries))
    out: list[Token] = []
    at, last = 0, len(cuts)
    for token in tokens:
        while at < last and cuts[at] <= token.start:
            at += 1
        if at == last or cuts[at] >= token.end:
            out.append(token)
            continue
        start = token.start
        while at < last and cuts[at] < token.end:
            out.append(Token(start, cuts[at]))
            start = cuts[at]
            at += 1
        out.append(Token(start, token.end))
    return out


def covered(tokens: Sequence[Token], start: int, end: int) -> tuple[int, int]:
    """The half-open range of indexes of the tokens that share at least one character with `start`-`end`."""
    return bisect_right(tokens, start, key=_end), bisect_left(tokens, end, key=_start)


def snap(tokens: Sequence[Token], start: int, end: int) -> tuple[int, int] | None:
    """Widen a selection to the ends of the tokens that it shares a character with; None if there is none.

    An empty selection (a caret) takes the token that the character after it belongs to.
    """
    first, past = covered(tokens, start, max(end, start + 1))
    if first >= past:
        return None
    return tokens[first].start, tokens[past - 1].end
