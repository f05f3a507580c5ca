"""Notes as input of the network: numbers for each token, in groups of sentences."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from annotations.text.bio import decode
from annotations.text.characters import trim
from annotations.text.spans import Bounds, Span
from annotations.text.tokens import Token, covered
from models_runtime.backends.bilstm_crf.vocabulary import Forms, Rows, Vocabulary, rows
from models_runtime.backends.neural.tags import Tags
from models_runtime.backends.notes.grouping import groups
from models_runtime.backends.notes.note import Note, read
from models_runtime.backends.notes.pieces import sure_pieces
from models_runtime.backends.notes.rule_tags import FeatureRules, rule_tags

# Decimal places of a confidence. Further places depend on the other items of the batch.
DECIMALS: Final = 3


@dataclass(frozen=True)
class Item:
    """One sequence: the tokens `first` to `past` (exclusive) of its note."""

    first: int
    past: int
    rows: Rows

    def __len__(self) -> int:
        return self.past - self.first


Vectors = Callable[[Note, Sequence[tuple[int, int]]], Any]
"""A function that gives each token of a note its fixed vector [tokens, values]: see Stack.vectors."""


def no_vectors(note: Note, groups: Sequence[tuple[int, int]]) -> Any:
    return np.zeros((len(note.tokens), 0), dtype=np.float16)


class NoteEncoder:
    """Turns notes into items. `grouped`: number of sentences in an item.

    `rules`: those whose tags are features; None for a model without features. `lexicon`: header fields of each word.
    """

    def __init__(
        self,
        rules: FeatureRules | None,
        lexicon: Mapping[str, Sequence[str]],
        grouped: int,
        vectors: Vectors = no_vectors,
    ) -> None:
        self._rules = rules
        self._lexicon = lexicon
        self._grouped = grouped
        self._vectors = vectors
        self._forms: Forms | None = None

    def rule_tags(self, text: str) -> tuple[Note, list[str]]:
        """The note of a text, and the tags of the rules for its tokens; none without features."""
        note = read(text)
        return note, rule_tags(note, self._rules.predict([text])[0]) if self._rules else []

    def items(
        self, note: Note, tags: Sequence[str], vocabulary: Vocabulary | None, sure: Sequence[Bounds] | None = None
    ) -> list[Item]:
        """The items of a note. `sure`: only what lies in these stretches of the text."""
        bounds = groups(note, self._grouped)
        if vocabulary is None:
            whole = Rows(self._vectors(note, bounds))
        else:
            if self._forms is None or self._forms.vocabulary is not vocabulary:
                self._forms = Forms(vocabulary, self._lexicon)
            whole = rows(note, tags, self._forms, self._vectors(note, ()))
        if sure is not None:
            parts = list(sure_pieces(note, sure))
            bounds = [
                (max(first, start), min(past, end))
                for first, past in bounds
                for start, end in parts
                if first < end and start < past
            ]
        return [Item(first, past, whole.part(first, past)) for first, past in bounds]


def spans_of(tokens: Sequence[Token], items: Sequence[Item], paths: Sequence[Sequence[int]], tags: Tags) -> list[Span]:
    """The spans of the tag paths in a note, one path per item. A span never continues from one item into the next."""
    found: list[Span] = []
    for item, path in zip(items, paths, strict=True):
        found += decode(tokens[item.first : item.past], [tags.names[tag] for tag in path])
    return found


def confident_spans(
    text: str,
    tokens: Sequence[Token],
    items: Sequence[Item],
    paths: Sequence[Sequence[int]],
    probabilities: Sequence[float],
    tags: Tags,
    source: str,
) -> list[Span]:
    """The spans of the tag paths in a note, trimmed and sorted.

    Confidence: the lowest probability of the tags of a span's tokens. `probabilities` has one for each token of the
    note.
    """
    found = []
    for span in spans_of(tokens, items, paths, tags):
        least = min(probabilities[slice(*covered(tokens, span.start, span.end))])
        start, end = trim(text, span.start, span.end)
        if start < end:
            found.append(Span(start, end, span.label, round(min(max(least, 0.0), 1.0), DECIMALS), source))
    return sorted(found)
