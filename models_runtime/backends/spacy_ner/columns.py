"""The network's input for each token: hashed values in columns, each column with its own embedding table.

The columns are spaCy's (norm, prefix, suffix, shape; Honnibal 2016), and others for clinical notes: header fields,
lines, document memory, lexicon, tags of the rules. They matter because the network itself sees only four tokens on
either side.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
from spacy.strings import get_string_id

from annotations.text.spans import Span
from models_runtime.backends.notes.note import Note
from models_runtime.backends.notes.rule_tags import rule_tags

Lexicon = Mapping[str, Sequence[str]]

# Number of rows of each column's embedding table. The names are part of the hashed values.
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


def columns_of(note: Note, rule_spans: Sequence[Span], lexicon: Lexicon) -> Any:
    """Hashed values [tokens, COLUMNS] of a note, uint64. `rule_spans`: the spans of the rules."""
    starts = [" ".join(word.lower for word in note.words[first : min(past, first + 2)]) for first, past in note.edges]
    tags = rule_tags(note, rule_spans)
    rows = [list(map(_hashed, COLUMNS, _values(note, at, starts, tags, lexicon))) for at in range(len(note.tokens))]
    return np.array(rows, dtype="uint64").reshape(len(rows), len(COLUMNS))


def _values(note: Note, at: int, starts: Sequence[str], tags: Sequence[str], lexicon: Lexicon) -> tuple[str, ...]:
    word, position = note.words[at], note.positions[at]
    return (
        word.norm,
        word.lower[:3],
        word.lower[-3:],
        word.shape,
        word.short,
        position.field,
        f"{position.since}|{position.field}" if position.field else "",
        starts[position.line],
        starts[position.line - 1] if position.line else "",
        _position(note, at),
        "|".join(note.memory.get(word.lower, ())),
        "|".join(lexicon.get(word.lower, ())),
        tags[at],
    )


def _position(note: Note, at: int) -> str:
    """A token's position in its line and in the note, and whether white space separates it from its neighbors."""
    position = note.positions[at]
    first, past = note.edges[position.line]
    end = "first" if at == first else "last" if at == past - 1 else ""
    top, bottom = min(position.line, 20), min(len(note.edges) - 1 - position.line, 6)
    length = min((past - first) // 5, 6)
    where = f"top{top}" if top < 20 else f"bottom{bottom}"
    return f"{end}|{min(position.into, 4)}|{where}|{length}|{_glued(note, at)}{_glued(note, at + 1)}"


def _glued(note: Note, at: int) -> int:
    tokens = note.tokens
    return int(0 < at < len(tokens) and tokens[at - 1].end == tokens[at].start)
