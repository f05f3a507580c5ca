"""The CRF backend: predicts spans with a trained model."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

from annotations.text.spans import Span, overlaps
from models_runtime.backends.base import blocks
from models_runtime.backends.crf.features import Column, Family, Features, families
from models_runtime.backends.crf.model import Floats, Model, Weights, load_model
from models_runtime.backends.crf.paths import Path as TagPath
from models_runtime.backends.crf.paths import PathBackend, PieceNote, best_paths
from models_runtime.backends.notes import pieces, read
from models_runtime.backends.rule_tags import rules_of

# A table with more sums, bytes or keys is cleared before the next sequence. This bounds memory.
MOST_SUMS: Final = 1 << 14
MOST_BYTES: Final = 64 << 20
MOST_KEYS: Final = 1 << 16
_FIRST: Final = 64


class Sums(dict[Hashable, int]):
    """The row of each key of a family in `sums` [shifts, rows, tags]; row 0 for a key without features in the model."""

    def __init__(self, family: Family, weights: Weights) -> None:
        super().__init__()
        self._family, self._weights = family, weights
        self.clear()

    def clear(self) -> None:
        super().clear()
        self.sums = np.zeros((len(self._family.shifts), _FIRST, len(self._weights.tags)))
        self._past = 1

    def add(self, column: Column, scores: Floats) -> None:
        """Add to `scores` [tokens, tags] what the features of the keys that each token sees say about its tag."""
        if self._past > MOST_SUMS or self.sums[:, : self._past].nbytes > MOST_BYTES or len(self) > MOST_KEYS:
            self.clear()
        keys, shifts = self._family.reach(column, len(scores)), self._family.shifts
        if new := [key for key in dict.fromkeys(keys) if key not in self]:
            self._learn(new)
        rows = np.fromiter(map(self.__getitem__, keys), np.intp, len(keys))
        for sums, shift in zip(self.sums, shifts, strict=True):
            first = shift - shifts[0]
            scores += sums.take(rows[first : first + len(scores)], axis=0)

    def _learn(self, keys: Sequence[Hashable]) -> None:
        """Sum up new keys together, which takes a fraction of the time."""
        spelled = ([self._weights.numbers(features) for features in self._family.spell(key)] for key in keys)
        known = {key: numbers for key, numbers in zip(keys, spelled, strict=True) if any(numbers)}
        first, self._past = self._past, self._past + len(known)
        if self._past > self.sums.shape[1]:
            more = np.zeros((len(self.sums), max(self._past, first), self.sums.shape[2]))
            self.sums = np.concatenate([self.sums, more], axis=1)
        numbers = [each for at_shift in zip(*known.values(), strict=True) for each in at_shift]
        rows = self.sums[:, first : self._past]
        rows[:] = self._weights.sums(numbers).reshape(rows.shape)
        self.update(dict.fromkeys(keys, 0) | dict(zip(known, range(first, self._past), strict=True)))


class Emissions:
    """Computes the emission scores of one model, whose features are those of `families`."""

    def __init__(self, families: Iterable[Family], weights: Weights) -> None:
        self._tags = len(weights.tags)
        self._sums = [Sums(family, weights) for family in families]

    def of(self, columns: Sequence[Column], size: int) -> Floats:
        """Scores [tokens, tags] of `size` tokens, given the columns of `Features.of`."""
        scores = np.zeros((size, self._tags))
        for sums, column in zip(self._sums, columns, strict=True):
            sums.add(column, scores)
        return scores


VERSION: Final = "2"
# This many notes or tokens are read together, because a step from token to token costs hardly more for many sequences
# than for one. With 41 tags, 32,000 tokens take 44 MB while their paths are computed, and more with more tags.
NOTES: Final = 64
TOKENS: Final = 32_000


class CrfBackend(PathBackend):
    """Predicts with the model at `path`. Raises BackendError (permanent) for any other file.

    If the model was trained from an earlier one, the earlier model's spans are features. Spans of the earlier model
    whose label the last training did not know are kept where they overlap no other span.
    """

    name = "crf"

    def __init__(self, path: str) -> None:
        self._read(load_model(Path(path)))

    @classmethod
    def _of(cls, model: Model) -> "CrfBackend":
        made = cls.__new__(cls)
        made._read(model)
        return made

    def _read(self, model: Model) -> None:
        self._earlier = CrfBackend._of(model.earlier) if model.earlier else None
        self._trained_labels = model.trained_labels
        self.tags, self._steps = model.weights.tags, model.weights.steps
        self._emissions = Emissions(families(model.lexicon, staged=self._earlier is not None), model.weights)
        self._rules = rules_of(model.card.rules_set)
        self.label_set = model.card.label_set
        self.labels = model.card.labels
        self._source = f"crf-{model.revision[:8]}"
        self.revision = f"{VERSION}-{model.revision}-{self._rules.revision}"
        if self._earlier is not None:
            self.revision += f"-{self._earlier.revision}"

    def tagged(self, texts: Iterable[str], *, marginals: bool = False) -> Iterator[tuple[PieceNote, list[TagPath]]]:
        """The texts, each with the best paths of its sequences, of several stages those of the last one.

        Up to NOTES texts are read together.
        """
        for some in blocks(self._read_notes(texts), NOTES, TOKENS, lambda each: len(each.note.tokens)):
            paths = self._paths(some, marginals=marginals)
            for each in some:
                yield each, list(islice(paths, len(each.pieces)))

    def _read_notes(self, texts: Iterable[str]) -> Iterator[PieceNote]:
        """The texts with the spans of the earlier stage, which reads up to NOTES texts together."""
        for some in blocks(texts, NOTES):
            before = self._earlier.predict(some) if self._earlier else [[]] * len(some)
            for text, earlier in zip(some, before, strict=True):
                note = read(text)
                yield PieceNote(note, list(pieces(note)), earlier)

    def _paths(self, notes: Iterable[PieceNote], *, marginals: bool) -> Iterator[TagPath]:
        """The best path of each sequence."""
        for some in blocks(self._scores(notes), TOKENS, TOKENS, len):
            yield from best_paths(some, self._steps, marginals=marginals)

    def _scores(self, notes: Iterable[PieceNote]) -> Iterator[Floats]:
        """The emissions of each sequence. Features are not kept: a note has about ten thousand."""
        for each in notes:
            if each.pieces:
                staged = each.earlier if self._earlier else None
                features = Features(each.note, self._rules.predict([each.note.text])[0], staged)
                yield from (self._emissions.of(features.of(*piece), piece[1] - piece[0]) for piece in each.pieces)

    def spans(self, read: PieceNote, paths: Sequence[TagPath]) -> list[Span]:
        """The note's spans, with those of the earlier stage whose labels this stage doesn't know."""
        found = super().spans(read, paths)
        kept = [
            replace(span, source=self._source)
            for span in read.earlier
            if span.label not in self._trained_labels and not any(overlaps(span, other) for other in found)
        ]
        return sorted([*found, *kept])
