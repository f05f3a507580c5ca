"""Emission scores of tokens: for each tag, the sum of the weights of a token's features.

crfsuite looks up every feature of every token by its name. Here the weights of all features of a key are summed once,
and the scores of a note are added up from these sums.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Final

import numpy as np

from models_runtime.backends.crf.features import Column, Family
from models_runtime.backends.crf.model import Floats, Weights

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
