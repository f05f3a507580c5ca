"""Features as crfsuite learns them: for each token its strings, in UTF-8."""

from collections.abc import Callable, Hashable, Iterable, Sequence

from models_runtime.backends.crf.features import Column, Family
from models_runtime.backends.crf.table import Table

Spelled = list[list[bytes]]


class Rows:
    """Writes features out, each string made once."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._tables = [(family, Table[Hashable, Spelled](_speller(family))) for family in families]

    def of(self, columns: Sequence[Column], size: int) -> list[list[bytes]]:
        """For each of `size` tokens its features, family by family."""
        places: list[list[list[bytes]]] = []
        for (family, table), column in zip(self._tables, columns, strict=True):
            found = [table[key] for key in family.reach(column, size)]
            for place, shift in enumerate(family.shifts):
                first = shift - family.shifts[0]
                places.append([spelled[place] for spelled in found[first : first + size]])
        return [[feature for some in each for feature in some] for each in zip(*places, strict=True)]


def _speller(family: Family) -> Callable[[Hashable], Spelled]:
    return lambda key: [[feature.encode() for feature in some] for some in family.spell(key)]
