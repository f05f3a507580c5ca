"""Tables of summed weights: the scores that the features of a key add to the tags of tokens."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models_runtime.backends.crf.weights import Floats, Weights

Numbers = NDArray[np.intp]
Spell = Callable[[Any], Sequence[Sequence[str]]]
"""A function that gives the features of a key, for each of the tokens that the key is seen from."""

# A table with more sums, bytes or keys is cleared before the next sequence. This bounds memory.
MOST_SUMS: Final = 1 << 14
MOST_BYTES: Final = 64 << 20
MOST_KEYS: Final = 1 << 16
# Keys of a sequence: at most 2000 tokens, with some more around them.
SEQUENCE: Final = 1 << 11
_FIRST: Final = 64
# Bits of a number in a key that consists of several numbers. No number needs more before the tables are cleared.
_BITS: Final = 20
# Bits of a key's hash (see Recent), and a factor that mixes the bits of the key (Knuth 1998, section 6.4).
_HASH: Final = 13
_FACTOR: Final = -0x61C8864680B583EB


class Names(dict[Hashable, int]):
    """Numbers names in the order of their first use; `names` has them by number."""

    def __init__(self, *names: Hashable) -> None:
        super().__init__()
        self.names: list[Any] = []
        self.of(names)

    def __missing__(self, name: Hashable) -> int:
        self[name] = number = len(self.names)
        self.names.append(name)
        return number

    def of(self, names: Sequence[Hashable]) -> Numbers:
        """The number of each name."""
        return np.fromiter(map(self.__getitem__, names), np.intp, len(names))

    @property
    def is_full(self) -> bool:
        return len(self) > MOST_KEYS


class Recent:
    """What a table has for keys that are numbers, kept in arrays by their hashes: one key per hash, the most recent."""

    def __init__(self, table: dict[Any, int]) -> None:
        self._table = table
        self.clear()

    def clear(self) -> None:
        self._keys, self._found = np.full(1 << _HASH, -1, np.int64), np.zeros(1 << _HASH, np.intp)

    def of(self, keys: Numbers) -> Numbers:
        at = (keys * _FACTOR >> 40) & ((1 << _HASH) - 1)
        found: Numbers = self._found[at]
        missed = np.flatnonzero(self._keys[at] != keys)
        if len(missed):
            new, at = keys[missed], at[missed]
            found[missed] = values = np.fromiter(map(self._table.__getitem__, new.tolist()), np.intp, len(new))
            self._keys[at], self._found[at] = new, values
        return found


class Sums(dict[Any, int]):
    """The row of each key's sums; 0 for a key without features in the model.

    `shifts`: the distances from a token to the keys that it sees, in ascending order. `times`: how many times MOST_SUMS
    are kept at most.
    """

    def __init__(self, weights: Weights, shifts: Sequence[int], spell: Spell, times: int = 1) -> None:
        super().__init__()
        self._weights, self._shifts, self._spell = weights, shifts, spell
        # Indexed by shift, row, tag.
        self._sums = self._rows_of(_FIRST)
        # For each row that has not been summed up yet: the ids of its features, by shift. They are the last rows.
        self._new: list[list[list[int]]] = []
        self._past = 1
        self._most = max(1, min(times * MOST_SUMS, MOST_BYTES // (self._sums[:, 0].nbytes or 1)))
        self._recent = Recent(self)

    def _rows_of(self, count: int) -> Floats:
        return np.zeros((len(self._shifts), count, len(self._weights.tags)))

    @property
    def is_full(self) -> bool:
        """Whether the keys of one more sequence could exceed the limit."""
        return self._past > self._most - min(SEQUENCE, self._most // 2) or len(self) > MOST_KEYS

    @property
    def nbytes(self) -> int:
        """The size of the sums."""
        return self._summed().nbytes

    def clear(self) -> None:
        super().clear()
        self._recent.clear()
        self._new.clear()
        self._past = 1
        if self._sums.shape[1] > max(self._most, _FIRST):
            self._sums = self._rows_of(_FIRST)

    def rows(self, keys: Sequence[Any]) -> Numbers:
        """The row of each key."""
        return np.fromiter(map(self.__getitem__, keys), np.intp, len(keys))

    def rows_of(self, keys: Numbers) -> Numbers:
        """The row of each key, in a fraction of the time that `rows` takes for numbers."""
        return self._recent.of(keys)

    def add(self, rows: Numbers, scores: Floats, spare: Floats) -> None:
        """Add to `scores` [tokens, tags] the sums of these rows. `spare` is a buffer of the same size.

        The first row is that of the key that the first token sees at the first shift.
        """
        for sums, shift in zip(self._summed(), self._shifts, strict=True):
            first = shift - self._shifts[0]
            np.take(sums, rows[first : first + len(scores)], axis=0, out=spare, mode="clip")
            scores += spare

    def __missing__(self, key: Any) -> int:
        known = [self._weights.numbers(features) for features in self._spell(key)]
        if not any(known):
            self[key] = 0
            return 0
        self._new.append(known)
        self[key] = number = self._past
        self._past += 1
        return number

    def _summed(self) -> Floats:
        """The sums of all rows. Those of new keys are computed together, which takes a fraction of the time."""
        if self._new:
            first = self._past - len(self._new)
            if self._past > self._sums.shape[1]:
                self._grow()
            features = [each for at_shift in zip(*self._new, strict=True) for each in at_shift]
            summed = self._weights.sums(features).reshape(len(self._shifts), len(self._new), -1)
            self._sums[:, first : self._past] = summed
            self._new.clear()
        return self._sums

    def _grow(self) -> None:
        """Up to the limit, the table doubles. A sequence with more keys than that gets what it needs."""
        size = self._sums.shape[1]
        while size < self._past:
            more = min(size, self._most - size)
            size += more if more > 0 else max(_FIRST, size // 8)
        self._sums = np.concatenate([self._sums, self._rows_of(size - self._sums.shape[1])], axis=1)


def joined(*numbers: Any) -> Any:
    """One key of up to three numbers."""
    key = numbers[0]
    for number in numbers[1:]:
        key = key << _BITS | number
    return key


def parts(key: int, count: int) -> list[int]:
    """The numbers of a joined key."""
    return [key >> _BITS * at & (1 << _BITS) - 1 for at in range(count - 1, -1, -1)]
