"""What the network knows of each token: one hashed value a column, embedded by a table of its own.

spaCy's own columns (norm, prefix, suffix, shape; M. Honnibal, "Embed, encode, attend, predict", 2016) and what notes
add to them: header fields, the line, the note's memory, the lexicon, what the rules say. So much of a note lies in its
lines that a network which sees four tokens to either side is told of them here.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
from spacy.strings import get_string_id

from annotations.domain.spans import Span
from models_runtime.backends.notes.note import Note
from models_runtime.backends.notes.said import rule_tags

Lexicon = Mapping[str, Sequence[str]]

# Rows of each column's table.
COLUMNS: Final[dict[str, int]] = {
    "norm": 6000,
    "prefix": 2000,
    "suffix": 3000,
    "shape": 1500,
    "short": 1000,
    "field": 1500,
    "since": 2000,
    "start": 2500,
    "before": 2500,
    "place": 1000,
    "memory": 2000,
    "lexicon": 2000,
    "rules": 1000,
}


@lru_cache(maxsize=1 << 17)
def _hashed(column: str, value: str) -> int:
    return int(get_string_id(f"{column}={value}"))


def columns_of(note: Note, said: Sequence[Span], lexicon: Lexicon) -> Any:
    """An array of uint64: a row for each token of the note, a column for each of COLUMNS."""
    starts = [" ".join(word.lower for word in note.words[first : min(past, first + 2)]) for first, past in note.edges]
    tags = rule_tags(note, said)
    rows = [list(map(_hashed, COLUMNS, _values(note, at, starts, tags, lexicon))) for at in range(len(note.tokens))]
    return np.array(rows, dtype="uint64").reshape(len(rows), len(COLUMNS))


def _values(note: Note, at: int, starts: Sequence[str], tags: Sequence[str], lexicon: Lexicon) -> tuple[str, ...]:
    word, place = note.words[at], note.places[at]
    return (
        word.norm,
        word.lower[:3],
        word.lower[-3:],
        word.shape,
        word.short,
        place.field,
        f"{place.since}|{place.field}" if place.field else "",
        starts[place.line],
        starts[place.line - 1] if place.line else "",
        _place(note, at),
        "|".join(note.memory.get(word.lower, ())),
        "|".join(lexicon.get(word.lower, ())),
        tags[at],
    )


def _place(note: Note, at: int) -> str:
    """Where in its line and in the note, and whether it is glued to its neighbours."""
    place = note.places[at]
    first, past = note.edges[place.line]
    end = "first" if at == first else "last" if at == past - 1 else ""
    top, bottom = min(place.line, 20), min(len(note.edges) - 1 - place.line, 6)
    length = min((past - first) // 5, 6)
    where = f"top{top}" if top < 20 else f"bottom{bottom}"
    return f"{end}|{min(place.into, 4)}|{where}|{length}|{_glued(note, at)}{_glued(note, at + 1)}"


def _glued(note: Note, at: int) -> int:
    tokens = note.tokens
    return int(0 < at < len(tokens) and tokens[at - 1].end == tokens[at].start)
