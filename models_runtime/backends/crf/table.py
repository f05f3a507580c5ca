"""A bounded cache of computed values: notes have many repeated words."""

from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

# A table with this many entries is cleared. This bounds memory.
MOST: Final = 1 << 14


class Table(dict[Key, Value], Generic[Key, Value]):
    """The value of each key, computed by `make` at its first use."""

    def __init__(self, make: Callable[[Key], Value]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: Key) -> Value:
        value = self._make(key)
        if len(self) >= MOST:
            self.clear()
        self[key] = value
        return value
