"""Notes as input of the network: numbers for each token, in groups of sentences."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotations.domain.bio import decode
from annotations.domain.spans import Span
from models_runtime.backends.bilstm_crf.vocabulary import Rows, Vocabulary, rows
from models_runtime.backends.neural.tags import Tags
from models_runtime.backends.notes.grouping import groups
from models_runtime.backends.notes.note import Note, read
from models_runtime.backends.notes.rule_tags import rule_tags
from models_runtime.backends.rules import RulesBackend


@dataclass(frozen=True)
class Item:
    """One sequence: the tokens `first` to `past` (exclusive) of its note."""

    first: int
    past: int
    rows: Rows

    def __len__(self) -> int:
        return self.past - self.first


Context = Callable[[Note], Any]
"""A function that gives each token a vector [tokens, values] from a language model."""


def no_context(note: Note) -> Any:
    return np.zeros((len(note.tokens), 0), dtype=np.float16)


class NoteEncoder:
    """Turns notes into items. `lexicon`: header fields of each word; `grouped`: number of sentences in an item."""

    def __init__(
        self, rules: RulesBackend, lexicon: Mapping[str, Sequence[str]], grouped: int, context: Context = no_context
    ) -> None:
        self._rules = rules
        self._lexicon = lexicon
        self._grouped = grouped
        self._context = context

    def rule_tags(self, text: str) -> tuple[Note, list[str]]:
        """The note of a text, and the tags of the rules for its tokens."""
        note = read(text)
        return note, rule_tags(note, self._rules.predict([text])[0])

    def items(self, note: Note, tags: Sequence[str], vocabulary: Vocabulary) -> list[Item]:
        whole = rows(note, tags, self._lexicon, vocabulary, self._context(note))
        return [Item(first, past, whole.part(first, past)) for first, past in groups(note, self._grouped)]


def spans_of(note: Note, items: Sequence[Item], paths: Sequence[Sequence[int]], tags: Tags) -> list[Span]:
    """The spans of the tag paths, one path per item. A span never continues from one item into the next."""
    found: list[Span] = []
    for item, path in zip(items, paths, strict=True):
        found += decode(note.tokens[item.first : item.past], [tags.names[tag] for tag in path])
    return found
