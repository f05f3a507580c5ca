"""A note as input of trained backends: tokens with their properties, lines, header fields, document memory."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from annotations.domain.tokens import Token, tokenize

# Only short lines are header lines: in a paragraph, a colon says little about words far behind it.
FIELD_LINE: Final = 40
FIELD_WORDS: Final = 3
_DIGIT: Final = re.compile(r"\d")


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


@dataclass(slots=True)
class Note:
    """The tokens of a text. `edges`: the first and the past-the-last token of each line that has tokens."""

    text: str
    tokens: list[Token]
    words: list[Word]
    positions: list[Position]
    edges: list[tuple[int, int]]
    memory: dict[str, tuple[str, ...]]


def read(text: str) -> Note:
    """Split a text into tokens and lines. Lines end at LF, CR or CR LF."""
    tokens = tokenize(text)
    forms = [text[token.start : token.end] for token in tokens]
    words = [word(form) for form in forms]
    edges = _edges(text, tokens)
    positions = [position for line, edge in enumerate(edges) for position in _positions(forms, words, line, edge)]
    return Note(text, tokens, words, positions, edges, _memory(forms, words, positions, edges))


def _edges(text: str, tokens: Sequence[Token]) -> list[tuple[int, int]]:
    breaks = [match.start() for match in re.finditer(r"[\r\n]", text)]
    edges, first, at = [], 0, 0
    for index, token in enumerate(tokens):
        crossed = False
        while at < len(breaks) and breaks[at] < token.start:
            at, crossed = at + 1, True
        if crossed and index > first:
            edges.append((first, index))
            first = index
    return [*edges, (first, len(tokens))] if tokens else []


def _positions(forms: Sequence[str], words: Sequence[Word], line: int, edge: tuple[int, int]) -> list[Position]:
    first, past = edge
    field, since, found = "", first, []
    for at in range(first, past):
        found.append(Position(line, at - first, field, min(at - since, 9)))
        if forms[at] == ":" and at > first and forms[at - 1][0].isalpha():
            field, since = _field(forms, words, first, at), at
    return found


def _field(forms: Sequence[str], words: Sequence[Word], first: int, colon: int) -> str:
    """The last words before a colon, such as `localidad / provincia`."""
    at = colon
    while at > first and colon - at < FIELD_WORDS + 1 and (forms[at - 1][0].isalpha() or forms[at - 1] in "/.º"):
        at -= 1
    return " ".join(each.lower for each in words[max(at, colon - FIELD_WORDS) : colon])


def _memory(
    forms: Sequence[str], words: Sequence[Word], positions: Sequence[Position], edges: Sequence[tuple[int, int]]
) -> dict[str, tuple[str, ...]]:
    """For each capitalized word of a header line, the fields in which it occurs. The whole note uses this memory."""
    found: dict[str, set[str]] = defaultdict(set)
    for first, past in edges:
        if past - first > FIELD_LINE:
            continue
        for at in range(first, past):
            if positions[at].field and len(forms[at]) > 2 and forms[at][0].isupper():
                found[words[at].lower].add(positions[at].field)
    return {lower: tuple(sorted(fields)) for lower, fields in found.items()}
