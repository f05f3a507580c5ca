"""A note as learned backends see it: tokens and what each tells, lines, header fields, the note's own memory."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from annotations.domain.tokens import Token, tokenize

# A header line is short; in a paragraph a colon says little about what comes fifty words later.
FIELD_LINE: Final = 40
FIELD_WORDS: Final = 3
_DIGIT: Final = re.compile(r"\d")


@dataclass(frozen=True, slots=True, eq=False)
class Word:
    """What a token tells by itself. `own` are its features, ready to be used. A form is one object (`word`), so that it
    serves as a key without being compared."""

    lower: str
    norm: str
    shape: str
    short: str
    own: tuple[str, ...]


@lru_cache(maxsize=1 << 17)
def word(form: str) -> Word:
    """The facts of one form; digits of numbers longer than two are all 0, so that dates and ids look alike."""
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


class Place(NamedTuple):
    """Where a token stands: its line, how far into it, and the header field that it follows (`nombre`), if any."""

    line: int
    into: int
    field: str
    since: int


@dataclass(slots=True)
class Note:
    """The tokens of a text. `edges` are the first and the past-the-last token of each line that has tokens."""

    text: str
    tokens: list[Token]
    words: list[Word]
    places: list[Place]
    edges: list[tuple[int, int]]
    memory: dict[str, tuple[str, ...]]


def read(text: str) -> Note:
    """Take a text apart. Lines end at LF, CR or CR LF."""
    tokens = tokenize(text)
    forms = [text[token.start : token.end] for token in tokens]
    words = [word(form) for form in forms]
    edges = _edges(text, tokens)
    places = [place for number, edge in enumerate(edges) for place in _places(forms, words, number, edge)]
    return Note(text, tokens, words, places, edges, _memory(forms, words, places, edges))


def _edges(text: str, tokens: Sequence[Token]) -> list[tuple[int, int]]:
    breaks = [match.start() for match in re.finditer(r"[\r\n]", text)]
    edges, first, at = [], 0, 0
    for place, token in enumerate(tokens):
        crossed = False
        while at < len(breaks) and breaks[at] < token.start:
            at, crossed = at + 1, True
        if crossed and place > first:
            edges.append((first, place))
            first = place
    return [*edges, (first, len(tokens))] if tokens else []


def _places(forms: Sequence[str], words: Sequence[Word], line: int, edge: tuple[int, int]) -> list[Place]:
    first, past = edge
    field, since, found = "", first, []
    for at in range(first, past):
        found.append(Place(line, at - first, field, min(at - since, 9)))
        if forms[at] == ":" and at > first and forms[at - 1][0].isalpha():
            field, since = _field(forms, words, first, at), at
    return found


def _field(forms: Sequence[str], words: Sequence[Word], first: int, colon: int) -> str:
    """The last words before a colon: `localidad / provincia`."""
    at = colon
    while at > first and colon - at < FIELD_WORDS + 1 and (forms[at - 1][0].isalpha() or forms[at - 1] in "/.º"):
        at -= 1
    return " ".join(each.lower for each in words[max(at, colon - FIELD_WORDS) : colon])


def _memory(
    forms: Sequence[str], words: Sequence[Word], places: Sequence[Place], edges: Sequence[tuple[int, int]]
) -> dict[str, tuple[str, ...]]:
    """For each capitalised word of a header line the fields it stands in: seen there, it counts in the whole note."""
    found: dict[str, set[str]] = defaultdict(set)
    for first, past in edges:
        if past - first > FIELD_LINE:
            continue
        for at in range(first, past):
            if places[at].field and len(forms[at]) > 2 and forms[at][0].isupper():
                found[words[at].lower].add(places[at].field)
    return {lower: tuple(sorted(fields)) for lower, fields in found.items()}
