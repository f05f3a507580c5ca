"""Batches of a training: how many windows make one update, and in how many parts they are computed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, overload

from models_runtime.backends.neural.windows import batches, batches_of


@dataclass(frozen=True, slots=True)
class Batching:
    """`windows`: the number of windows in a batch; 0 for as many as have `pieces` pieces together, with padding.

    `parts`: a batch is computed in up to this many parts, whose gradients are accumulated, to save memory.
    """

    pieces: int
    windows: int = 0
    parts: int = 1

    def changed(self, settings: Mapping[str, Any]) -> Self:
        """The same, with the choices of a training's settings."""
        return replace(
            self, windows=settings.get("batch", self.windows), parts=settings.get("accumulation", self.parts)
        )

    def cut(self, lengths: Sequence[int]) -> list[list[int]]:
        """Batches of indexes of windows with similar lengths, the longest first."""
        return batches_of(lengths, self.windows) if self.windows else batches(lengths, self.pieces)


class Orders(Sequence[list[list[int]]]):
    """The batches of each epoch, made when they are needed, because many notes have many batches."""

    def __init__(self, epochs: int, order: Callable[[int], list[list[int]]]) -> None:
        """`order(epoch)`: the batches of an epoch; their number may depend on the epoch."""
        self._epochs = epochs
        self._order = order

    @property
    def steps(self) -> int:
        """The number of batches in all epochs."""
        return sum(len(self._order(epoch)) for epoch in range(self._epochs))

    def __len__(self) -> int:
        return self._epochs

    def __iter__(self) -> Iterator[list[list[int]]]:
        return map(self._order, range(self._epochs))

    @overload
    def __getitem__(self, at: int) -> list[list[int]]: ...

    @overload
    def __getitem__(self, at: slice) -> "Orders": ...

    def __getitem__(self, at: int | slice) -> "list[list[int]] | Orders":
        epochs = range(self._epochs)[at]
        if isinstance(epochs, int):
            return self._order(epochs)
        return Orders(len(epochs), lambda number: self._order(epochs[number]))
