"""A note as input of trained backends: tokens, lines, header fields, tags of the rules, and sequences."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final, NamedTuple

import numpy as np

from annotations.text.segments import sentences
from annotations.text.spans import Bounds, Token, covered, tokenize

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


@dataclass(frozen=True, slots=True)
class Note:
    """The tokens of a text. `edges`: the first and the past-the-last token of each line that has tokens.

    `words`: see `word`. `memory`: see `_memory`.
    """

    text: str
    tokens: list[Token]
    forms: list[str]
    words: list[Word]
    edges: list[tuple[int, int]]
    positions: list[Position]
    memory: dict[str, tuple[str, ...]]


def read(text: str) -> Note:
    """Split a text into tokens and lines. Lines end at LF, CR or CR LF."""
    tokens = tokenize(text)
    forms = [text[start:end] for start, end in tokens]
    words = list(map(word, forms))
    edges = _edges(text, tokens)
    positions = list(_positions(forms, words, edges))
    return Note(text, tokens, forms, words, edges, positions, _memory(forms, words, edges, positions))


def _edges(text: str, tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """A line without tokens has no edges."""
    edges, first = [], 0
    for found in _BREAK.finditer(text):
        past = bisect_left(tokens, found.start(), first, key=_start)
        if past > first:
            edges.append((first, past))
            first = past
    return [*edges, (first, len(tokens))] if first < len(tokens) else edges


def _positions(forms: Sequence[str], words: Sequence[Word], edges: Sequence[tuple[int, int]]) -> Iterator[Position]:
    """The position of each token. A token before the first field of its line is as far from its begin."""
    for line, (first, past) in enumerate(edges):
        field, since = "", first
        for at in range(first, past):
            yield Position(line, at - first, field, min(at - since, FURTHEST))
            if forms[at] == ":" and at > first and forms[at - 1][0].isalpha():
                field, since = _field(forms, words, first, at), at


def _field(forms: Sequence[str], words: Sequence[Word], first: int, colon: int) -> str:
    """The last words before a colon, such as `localidad / provincia`."""
    at = colon
    while at > first and colon - at < FIELD_WORDS + 1 and (forms[at - 1][0].isalpha() or forms[at - 1] in "/.º"):
        at -= 1
    return " ".join(each.lower for each in words[max(at, colon - FIELD_WORDS) : colon])


def _memory(
    forms: Sequence[str], words: Sequence[Word], edges: Sequence[tuple[int, int]], positions: Iterable[Position]
) -> dict[str, tuple[str, ...]]:
    """For each capitalized word of a header line, the fields in which it occurs. The whole note uses this memory."""
    found: dict[str, set[str]] = defaultdict(set)
    for form, each, position in zip(forms, words, positions, strict=True):
        first, past = edges[position.line]
        if position.field and past - first <= FIELD_LINE and len(form) > 2 and form[0].isupper():
            found[each.lower].add(position.field)
    return {lower: tuple(sorted(fields)) for lower, fields in found.items()}


def touching(tokens: Sequence[Token]) -> Any:
    """Whether each token directly follows the one before it, with one more value for the end [tokens + 1]."""
    found = np.zeros(len(tokens) + 1, dtype=bool)
    found[1:-1] = [before.end == token.start for before, token in pairwise(tokens)]
    return found


# Group sentences, to give the network context (sentence grouping factor 1 to 32, Catelli 2021).


# Limit of the tokens in one sequence, however few its sentences.
MOST_IN_GROUP = 512


def groups(text: str, tokens: Sequence[Token], factor: int, most: int = MOST_IN_GROUP) -> list[tuple[int, int]]:
    """First and past-the-last token of each group of `factor` sentences, cut after `most` tokens.

    Every token is in exactly one group.
    """
    found: list[tuple[int, int]] = []
    first = 0
    for number, (start, end) in enumerate(sentences(text), start=1):
        past = covered(tokens, start, end)[1]
        if number % factor == 0 or past - first >= most:
            found += _grouped(first, past, most)
            first = past
    return found + _grouped(first, len(tokens), most)


def _grouped(first: int, past: int, most: int) -> list[tuple[int, int]]:
    return [(at, min(at + most, past)) for at in range(first, past, most)]


# A lexicon learned from notes without labels: the header fields in which a word occurs, and how often.


LEAST: Final = 2
FIELDS: Final = 3
QUARTERS: Final = 4


def learn(texts: Iterable[str]) -> dict[str, list[str]]:
    """For each word found at least twice in a header field: up to three fields, each with its share in quarters."""
    inside: dict[str, Counter[str]] = defaultdict(Counter)
    uses: Counter[str] = Counter()
    for text in texts:
        note = read(text)
        for (first, past), at in ((edge, at) for edge in note.edges for at in range(*edge)):
            lower, position = note.words[at].lower, note.positions[at]
            uses[lower] += 1
            if (
                position.field
                and past - first <= FIELD_LINE
                and note.words[at].short.startswith("X")
                and len(lower) > 2
            ):
                inside[lower][position.field] += 1
    return {
        lower: [f"{field}/{min(QUARTERS * times // uses[lower], QUARTERS - 1)}" for field, times in found]
        for lower, fields in sorted(inside.items())
        if (found := [(field, times) for field, times in fields.most_common(FIELDS) if times >= LEAST])
    }


# Split a note into sequences of a bounded number of tokens.


# A longer note is cut at line ends where possible, so that memory stays bounded.
MOST: Final = 2000


def pieces(note: Note, most: int = MOST) -> Iterator[tuple[int, int]]:
    """First and past-the-last token of each sequence of at most `most` tokens."""
    first = 0
    for start, past in note.edges:
        if past - first > most and start > first:
            yield first, start
            first = start
        while past - first > most:
            yield first, first + most
            first += most
    if first < len(note.tokens):
        yield first, len(note.tokens)


def sure_pieces(note: Note, sure: Sequence[Bounds], most: int = MOST) -> Iterator[tuple[int, int]]:
    """First and past-the-last token of each sequence of at most `most` tokens in the stretches `sure` of the text."""
    for start, end in sure:
        first, past = covered(note.tokens, start, end)
        for at in range(first, past, most):
            yield at, min(at + most, past)
