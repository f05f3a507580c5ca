"""What a model makes of each token by itself: the sums of the weights of its features, for each tag.

crfsuite looks every feature of every token up by its name. Here the weights of all that a key stands for are added up
once, and the notes are put together from these sums, column by column.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Final

import numpy as np

from models_runtime.backends.crf.features import Column, Family
from models_runtime.backends.crf.weights import Floats, Weights

# Sums of a family, and keys of a family, before it begins anew: bounds on memory, whatever notes hold.
MOST_SUMS: Final = 1 << 13
MOST_KEYS: Final = 1 << 16
_FIRST: Final = 64


class Emissions:
    """Those of one model."""

    def __init__(self, families: Iterable[Family], weights: Weights) -> None:
        self._tags = len(weights.tags)
        self._sums = [_Sums(family, weights) for family in families]

    def of(self, columns: Sequence[Column], size: int) -> Floats:
        """[tokens, tags] of a stretch of `size` tokens."""
        scores, spare = np.zeros((2, size, self._tags))
        for sums, column in zip(self._sums, columns, strict=True):
            sums.add(column, scores, spare)
        return scores


class _Sums(dict[Hashable, int]):
    """For each key the number of its sums; 0 for what the model doesn't know at all."""

    def __init__(self, family: Family, weights: Weights) -> None:
        super().__init__()
        self._family, self._weights = family, weights
        # By shift, number, tag.
        self._sums = np.zeros((len(family.shifts), _FIRST, len(weights.tags)))
        self._past = 1

    def add(self, column: Column, scores: Floats, spare: Floats) -> None:
        """Add what the family says of each token to its `scores`; `spare` is room of the same size."""
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
