"""A note as input of trained backends: tokens with their properties, lines, header fields, document memory."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Final, NamedTuple

from annotations.text.tokens import Token, tokenize

# Only short lines are header lines: in a paragraph, a colon says little about words far behind it.
FIELD_LINE: Final = 40
FIELD_WORDS: Final = 3
# Greater distances from a header field are all the same.
FURTHEST: Final = 9
_DIGIT: Final = re.compile(r"\d")
_BREAK: Final = re.compile(r"[\r\n]+")
_start = attrgetter("start")


@dataclass(frozen=True, slots=True, eq=False)
class Word:
    """Properties of a token by itself. `own` are its CRF features. There is one object per form (see `word`), so that
    it is a key without comparing strings."""

    lower: str
    norm: str
    shape: str
    short: str
    own: tuple[str, ...]


@lru_cache(maxsize=1 << 17)
def word(form: str) -> Word:
    """The properties of a form. In `norm`, digits of numbers of three or more characters are 0, so dates are alike."""
    lower = form.lower()
    norm = _DIGIT.sub("0", lower) if len(form) > 2 and form[0].isdigit() else lower
    shape = "".join(map(_class, form))
    short = re.sub(r"(.)\1+", r"\1", shape)
    shape = shape if len(shape) <= 6 else f"{shape[:3]}~{shape[-2:]}"
    own = [f"w={norm}", f"s={shape}", f"ss={short}"]
    own += [f"p{size}={lower[:size]}" for size in range(1, 5)]
    own += [f"e{size}={lower[-size:]}" for size in range(1, 5)]
    if form.isdigit():
        own.append(f"digits={min(len(form), 9)}")
    return Word(lower, norm, shape, short, tuple(own))


def _class(character: str) -> str:
    if character.isupper():
        return "X"
    if character.islower():
        return "x"
    return "d" if character.isdigit() else character


class Position(NamedTuple):
    """A token's line, its index in the line, and the header field before it (such as `nombre`), with its distance."""

    line: int
    into: int
    field: str
    since: int


class Stretch(NamedTuple):
    """Consecutive tokens of a line with the same header field before them.

    `first` and `past`: their indexes in the note. `field` is empty before the first colon of a line. `since`: the index
    of the colon, or of the line's first token where there is none.
    """

    first: int
    past: int
    line: int
    field: str
    since: int


@dataclass(slots=True)
class Note:
    """The tokens of a text. `edges`: the first and the past-the-last token of each line that has tokens.

    `stretches`: all tokens by line and header field, in order. `words`: see `word`.
    """

    text: str
    tokens: list[Token]
    forms: list[str]
    words: list[Word]
    edges: list[tuple[int, int]]
    stretches: list[Stretch]
    memory: dict[str, tuple[str, ...]]
    _positions: list[Position] | None = None

    @property
    def positions(self) -> list[Position]:
        """The position of each token, made at the first use."""
        if self._positions is None:
            self._positions = [
                Position(line, at - self.edges[line][0], field, min(at - since, FURTHEST))
                for first, past, line, field, since in self.stretches
                for at in range(first, past)
            ]
        return self._positions


def read(text: str) -> Note:
    """Split a text into tokens and lines. Lines end at LF, CR or CR LF."""
    tokens = tokenize(text)
    forms = [text[start:end] for start, end in tokens]
    words = list(map(word, forms))
    edges = _edges(text, tokens)
    stretches = list(_stretches(forms, words, edges))
    return Note(text, tokens, forms, words, edges, stretches, _memory(forms, words, edges, stretches))


def _edges(text: str, tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """See `Note.edges`. A line without tokens has no edges."""
    edges, first = [], 0
    for found in _BREAK.finditer(text):
        past = bisect_left(tokens, found.start(), first, key=_start)
        if past > first:
            edges.append((first, past))
            first = past
    return [*edges, (first, len(tokens))] if first < len(tokens) else edges


def _stretches(forms: Sequence[str], words: Sequence[Word], edges: Sequence[tuple[int, int]]) -> Iterator[Stretch]:
    for line, (first, past) in enumerate(edges):
        field, since, begin = "", first, first
        for at in _colons(forms, first, past):
            if at > first and forms[at - 1][0].isalpha():
                yield Stretch(begin, at + 1, line, field, since)
                field, since, begin = _field(forms, words, first, at), at, at + 1
        if begin < past:
            yield Stretch(begin, past, line, field, since)


def _colons(forms: Sequence[str], first: int, past: int) -> Iterator[int]:
    """The indexes of the colons among these tokens."""
    at = first
    with suppress(ValueError):
        while True:
            at = forms.index(":", at, past)
            yield at
            at += 1


def _field(forms: Sequence[str], words: Sequence[Word], first: int, colon: int) -> str:
    """The last words before a colon, such as `localidad / provincia`."""
    at = colon
    while at > first and colon - at < FIELD_WORDS + 1 and (forms[at - 1][0].isalpha() or forms[at - 1] in "/.º"):
        at -= 1
    return " ".join(each.lower for each in words[max(at, colon - FIELD_WORDS) : colon])


def _memory(
    forms: Sequence[str], words: Sequence[Word], edges: Sequence[tuple[int, int]], stretches: Iterable[Stretch]
) -> dict[str, tuple[str, ...]]:
    """For each capitalized word of a header line, the fields in which it occurs. The whole note uses this memory."""
    found: dict[str, set[str]] = defaultdict(set)
    for first, past, line, field, _ in stretches:
        begin, end = edges[line]
        if not field or end - begin > FIELD_LINE:
            continue
        for at in range(first, past):
            if len(forms[at]) > 2 and forms[at][0].isupper():
                found[words[at].lower].add(field)
    return {lower: tuple(sorted(fields)) for lower, fields in found.items()}
