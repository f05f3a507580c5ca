"""Features in the form that crfsuite needs for training: UTF-8 strings for each token."""

from collections.abc import Callable, Hashable, Iterable, Sequence

from models_runtime.backends.crf.features import Column, Family
from models_runtime.backends.crf.table import Table

Spelled = list[list[bytes]]


class Rows:
    """Makes the feature strings of tokens. Strings are cached."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._tables = [(family, Table[Hashable, Spelled](_speller(family))) for family in families]

    def of(self, columns: Sequence[Column], size: int) -> list[list[bytes]]:
        """The features of each of `size` tokens, family by family."""
        by_shift: list[list[list[bytes]]] = []
        for (family, table), column in zip(self._tables, columns, strict=True):
            found = [table[key] for key in family.reach(column, size)]
            for index, shift in enumerate(family.shifts):
                first = shift - family.shifts[0]
                by_shift.append([spelled[index] for spelled in found[first : first + size]])
        return [[feature for some in each for feature in some] for each in zip(*by_shift, strict=True)]


def _speller(family: Family) -> Callable[[Hashable], Spelled]:
    return lambda key: [[feature.encode() for feature in some] for some in family.spell(key)]
