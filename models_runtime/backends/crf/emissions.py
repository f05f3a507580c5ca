"""Emission scores of tokens: for each tag, the sum of the weights of a token's features.

crfsuite looks up every feature of every token by its name. Here the weights of all features of a key are summed once,
and the scores of a note are added up from these sums, column by column.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Final

import numpy as np

from models_runtime.backends.crf.features import Column, Family
from models_runtime.backends.crf.weights import Floats, Weights

# When a family has more sums or keys, its cache is cleared. This bounds memory.
MOST_SUMS: Final = 1 << 13
MOST_KEYS: Final = 1 << 16
_FIRST: Final = 64


class Emissions:
    """Computes the emission scores of one model."""

    def __init__(self, families: Iterable[Family], weights: Weights) -> None:
        self._tags = len(weights.tags)
        self._sums = [_Sums(family, weights) for family in families]

    def of(self, columns: Sequence[Column], size: int) -> Floats:
        """Scores [tokens, tags] of a sequence of `size` tokens."""
        scores, spare = np.zeros((2, size, self._tags))
        for sums, column in zip(self._sums, columns, strict=True):
            sums.add(column, scores, spare)
        return scores


class _Sums(dict[Hashable, int]):
    """The index of each key's sums; 0 for a key without features in the model."""

    def __init__(self, family: Family, weights: Weights) -> None:
        super().__init__()
        self._family, self._weights = family, weights
        # Indexed by shift, number of the key, tag.
        self._sums = np.zeros((len(family.shifts), _FIRST, len(weights.tags)))
        self._past = 1

    def add(self, column: Column, scores: Floats, spare: Floats) -> None:
        """Add the family's scores to `scores`; `spare` is a buffer of the same size."""
        if self._past > MOST_SUMS or len(self) > MOST_KEYS:
            self.clear()
            self._past = 1
        size, shifts = len(scores), self._family.shifts
        numbers = np.array([self[key] for key in self._family.reach(column, size)])
        for sums, shift in zip(self._sums, shifts, strict=True):
            first = shift - shifts[0]
            np.take(sums, numbers[first : first + size], axis=0, out=spare, mode="clip")
            scores += spare

    def __missing__(self, key: Hashable) -> int:
        known = [self._weights.numbers(features) for features in self._family.spell(key)]
        if not any(known):
            self[key] = 0
            return 0
        if self._past == self._sums.shape[1]:
            self._sums = np.concatenate([self._sums, np.zeros_like(self._sums)], axis=1)
        self._sums[:, self._past] = [self._weights.sums(numbers) for numbers in known]
        self[key] = number = self._past
        self._past += 1
        return number
