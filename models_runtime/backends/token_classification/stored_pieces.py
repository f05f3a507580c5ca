"""Pieces of any number of texts, on disk instead of in memory, for language pre-training."""

import tempfile
from array import array
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from models_runtime.backends.neural.windows import Window
from models_runtime.backends.token_classification.encoding import Encoded


class StoredPieces:
    """The windows of texts, in their order. In memory, each has a few bytes.

    The pieces are in a file without a name in `folder` (the system's folder for temporary files if None). Nobody else
    can open it, and it vanishes with this process.
    """

    def __init__(self, texts: Iterable[Any], cut: Callable[[int], Sequence[Window]], folder: Path | None) -> None:
        """`texts`: arrays of pieces. `cut`: the windows over a number of pieces."""
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - open as long as this object exists
        self._starts, self._lengths = array("q"), array("i")
        written = 0
        for pieces in texts:
            for window in cut(len(pieces)):
                self._starts.append(written + window.start)
                self._lengths.append(len(window))
            self._file.write(np.asarray(pieces, dtype=np.int32).tobytes())
            written += len(pieces)
        self._file.flush()
        self._pieces = np.memmap(self._file, np.int32, "r", shape=(written,)) if written else np.zeros(0, np.int32)

    @property
    def lengths(self) -> Sequence[int]:
        """The number of pieces in each window."""
        return self._lengths

    def __len__(self) -> int:
        return len(self._lengths)

    def window(self, number: int) -> tuple[Window, Encoded]:
        """A window and its pieces, as input of a Scorer."""
        start, length = self._starts[number], self._lengths[number]
        return Window(0, length, 0, length), Encoded(self._pieces[start : start + length], [], [], [])
