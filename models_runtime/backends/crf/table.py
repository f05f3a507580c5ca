"""What features stand for, made once each: notes say the same things over and over."""

from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

# Entries of a table before it begins anew: a bound on memory, whatever notes hold.
MOST: Final = 1 << 14


class Table(dict[Key, Value], Generic[Key, Value]):
    """What a key stands for, made by `make` when it is first asked for."""

    def __init__(self, make: Callable[[Key], Value]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: Key) -> Value:
        value = self._make(key)
        if len(self) >= MOST:
            self.clear()
        self[key] = value
        return value
