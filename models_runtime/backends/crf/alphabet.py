"""Feature strings, each made once: notes say the same things over and over.

A trained model has weights for a part of the features that its notes had, and skips all others. Those that it doesn't
know are dropped here, which changes no output and saves half of the time.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Row = tuple[bytes, ...]
"""Features as crfsuite takes them (UTF-8)."""
Places = tuple[bytes | None, ...]
"""A place for each; None for a feature that the model doesn't know."""

# Entries of a table before it begins anew: a bound on memory, whatever notes hold.
MOST: Final = 1 << 14


class Table(dict[Key, Value], Generic[Key, Value]):
    """The features that a key stands for, made by `make` when they are first asked for."""

    def __init__(self, make: Callable[[Key], Value]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: Key) -> Value:
        row = self._make(key)
        if len(self) >= MOST:
            self.clear()
        self[key] = row
        return row


class Alphabet:
    """The features that count: `known`, or all where that is None (in training)."""

    def __init__(self, known: frozenset[bytes] | None = None) -> None:
        self._known = known

    def places(self, features: Iterable[str]) -> Places:
        """One place for each: its bytes, or None."""
        made = (feature.encode() for feature in features)
        return tuple(made if self._known is None else (each if each in self._known else None for each in made))

    def only(self, features: Iterable[str]) -> Row:
        """Those that count, in order."""
        return tuple(filter(None, self.places(features)))
