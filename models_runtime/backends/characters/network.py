"""A character language model (Akbik et al. 2018).

A forward and a backward LSTM learn to predict the next character of a note. The vector of a token consists of the
forward state after its last character and the backward state before its first. It depends on the context, and exists
for unknown words too. The model learns from notes with or without labels. It is fixed while the labels are learned, so
that the vectors of a note are computed once, not in every epoch.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from models_runtime.backends.neural.device import Device, Placement
from models_runtime.backends.neural.layers import bidirectional
from models_runtime.backends.neural.windows import Window, windows
from models_runtime.backends.notes.note import Note

# Number 0 is padding, number 1 stands for characters that are not in the alphabet.
UNSEEN: Final = 1
# Size of the alphabet: the most frequent characters of the notes that occur at least LEAST times.
ALPHABET: Final = 512
LEAST: Final = 3
EMBEDDING: Final = 32
# Characters in a window for prediction. Windows overlap, so that each character has context on either side.
WINDOW: Final = 512
OVERLAP: Final = 128
# Characters that take as much memory as one token of the BiLSTM.
LIGHT: Final = 8


def alphabet_of(texts: Iterable[str]) -> str:
    """The characters of the alphabet, sorted by code point."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    kept = sorted((-count, character) for character, count in counts.items() if count >= LEAST)[:ALPHABET]
    return "".join(sorted(character for _, character in kept))


class Characters(nn.Module):  # type: ignore[misc]  # torch has no types where it is not installed
    """The two LSTMs. `width`: the size of the state of each, so a token's vector has twice as many values."""

    def __init__(self, alphabet: str, width: int) -> None:
        super().__init__()
        self.alphabet, self.width = alphabet, width
        self._numbers = {character: number for number, character in enumerate(alphabet, start=UNSEEN + 1)}
        self.table = nn.Embedding(len(alphabet) + UNSEEN + 1, EMBEDDING, padding_idx=0)
        self.onward = nn.LSTM(EMBEDDING, width, batch_first=True)
        self.behind = nn.LSTM(EMBEDDING, width, batch_first=True)

    def numbers(self, text: str) -> Any:
        return np.array([self._numbers.get(character, UNSEEN) for character in text], dtype=np.int32)

    def forward(self, ids: Any, lengths: Any) -> tuple[Any, Any]:
        """The states of both LSTMs [windows, characters, width] for characters as numbers [windows, characters]."""
        return bidirectional(self.onward, self.behind, self.table(ids), lengths)

    def vectors(self, note: Note, placement: Placement, parts: Sequence[tuple[int, int]] = ()) -> Any:
        """A vector for each token [tokens, 2 * width], in half precision. Depends only on this note.

        `parts`: sorted bounds in the text that hold all tokens, each read by itself; by default, the note is one part.
        """
        found = np.zeros((len(note.tokens), 2 * self.width), dtype=np.float16)
        ids = self.numbers(note.text)
        ends = np.array([token.end - 1 for token in note.tokens], dtype=np.int64)
        starts = np.array([token.start for token in note.tokens], dtype=np.int64)
        work = [
            window.moved(start)
            for start, past in parts or [(0, len(ids))]
            for window in windows(past - start, WINDOW, OVERLAP)
        ]

        def read(batch: Sequence[int]) -> None:
            some, device = [work[at] for at in batch], placement.device
            with torch.inference_mode(), device.precision():
                onward, behind = self(*padded([ids[window.start : window.past] for window in some], device))
            for states, positions, half in (
                (onward, ends, slice(0, self.width)),
                (behind, starts, slice(self.width, None)),
            ):
                rows, columns, tokens = _located(some, positions)
                found[tokens, half] = states[rows, columns].half().cpu().numpy()

        placement.each([len(window) for window in work], read, light=LIGHT)
        return found


def _located(some: Sequence[Window], positions: Any) -> tuple[Any, Any, Any]:
    """For the sorted positions that these windows predict: window, position in the window, index in `positions`."""
    edges = [np.searchsorted(positions, (window.kept, window.kept_past)) for window in some]
    tokens = np.concatenate([np.arange(*edge) for edge in edges])
    rows = np.repeat(np.arange(len(some)), [past - first for first, past in edges])
    starts = np.array([window.start for window in some])
    return torch.from_numpy(rows), torch.from_numpy(positions[tokens] - starts[rows]), tokens


def padded(windows: Sequence[Any], device: Device) -> tuple[Any, Any]:
    """The windows as one tensor [windows, characters], padded with 0, and their lengths."""
    lengths = torch.tensor([len(window) for window in windows])
    ids = torch.zeros((len(windows), int(lengths.max())), dtype=torch.long)
    for row, window in zip(ids, windows, strict=True):
        row[: len(window)] = torch.from_numpy(window)
    return ids.to(device.name), lengths.to(device.name)
