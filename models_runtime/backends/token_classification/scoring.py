"""Compute a transformer's scores for each piece of texts, in windows and batches of similar length."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import torch

from models_runtime.backends.base import BackendError
from models_runtime.backends.neural.device import Device, Placement
from models_runtime.backends.neural.learning import IGNORED
from models_runtime.backends.neural.windows import Window, chunks, windows
from models_runtime.backends.token_classification.encoding import Encoded

# Number of pieces that neighboring windows share. Each piece has at least half as many pieces of context.
OVERLAP: Final = 128


class Scorer:
    """Computes scores. `most`: pieces in a window, special pieces included. `pad`: the id of the padding piece.

    `disjoint`: read disjoint chunks instead of overlapping windows.
    """

    def __init__(
        self, network: Any, around: tuple[list[int], list[int]], *, most: int, pad: int, disjoint: bool = False
    ) -> None:
        self._network = network
        self._before, self._after = around
        self._room = most - len(self._before) - len(self._after)
        self._overlap = min(OVERLAP, self._room // 4)
        self._pad = pad
        self._disjoint = disjoint

    @property
    def room(self) -> int:
        """The number of pieces in a window, special pieces not included."""
        return self._room

    @property
    def lead(self) -> int:
        """The number of special pieces before each window."""
        return len(self._before)

    def windows(self, encoded: Encoded) -> list[Window]:
        """The windows of each part of the text, in order."""
        parts = encoded.parts or [(0, len(encoded.pieces))]
        return [window.moved(start) for start, past in parts for window in self.cut(past - start)]

    def cut(self, count: int) -> list[Window]:
        """The windows over `count` pieces."""
        return chunks(count, self._room) if self._disjoint else windows(count, self._room, self._overlap)

    def scores(self, texts: Sequence[Encoded], placement: Placement) -> list[Any]:
        """Log probabilities [pieces, tags] of each text, float32. Raises BackendError if a piece has no scores."""
        work = [(number, window) for number, text in enumerate(texts) for window in self.windows(text)]
        rows: list[Any] = [None] * len(texts)

        def read(batch: Sequence[int]) -> None:
            shown = [(work[at][1], texts[work[at][0]]) for at in batch]
            for at, scores in zip(batch, self._batch(shown, placement.device), strict=True):
                number, window = work[at]
                if rows[number] is None:
                    rows[number] = np.full((len(texts[number].pieces), scores.shape[1]), np.nan, dtype=np.float32)
                inside = scores[window.kept - window.start : window.kept_past - window.start]
                rows[number][window.kept : window.kept_past] = inside

        placement.each([len(window) for _, window in work], read)
        for scores in rows:
            if scores is not None and np.isnan(scores).any():
                raise BackendError(
                    "Some of the text has no scores: no window contains it, or the weights are damaged.", permanent=True
                )
        return [np.zeros((0, 1), dtype=np.float32) if scores is None else scores for scores in rows]

    def _batch(self, shown: Sequence[tuple[Window, Encoded]], device: Device) -> list[Any]:
        with torch.inference_mode(), device.precision():
            found = self._network(**self.inputs(shown, device)).logits
        scores = torch.log_softmax(found.float(), dim=-1).cpu().numpy()
        lead = len(self._before)
        return [row[lead : lead + len(window)] for row, (window, _) in zip(scores, shown, strict=True)]

    def inputs(self, shown: Sequence[tuple[Window, Encoded]], device: Device) -> dict[str, Any]:
        """The network's input: pieces with special pieces and padding [windows, pieces], and the attention mask."""
        lead = len(self._before)
        lengths = np.array([lead + len(window) + len(self._after) for window, _ in shown])
        pieces = np.full((len(shown), lengths.max()), self._pad, dtype=np.int64)
        for row, (window, text), length in zip(pieces, shown, lengths, strict=True):
            row[:lead] = self._before
            row[lead : lead + len(window)] = text.pieces[window.start : window.past]
            row[lead + len(window) : length] = self._after
        mask = np.arange(pieces.shape[1]) < lengths[:, None]
        return {
            "input_ids": torch.from_numpy(pieces).to(device.name),
            "attention_mask": torch.from_numpy(mask.astype(np.int64)).to(device.name),
        }

    def targets(self, shown: Sequence[tuple[Window, Sequence[int]]], device: Device) -> Any:
        """Targets for `inputs` of the same windows: tags of the pieces that a window predicts, otherwise IGNORED."""
        width = max(len(window) for window, _ in shown) + len(self._before) + len(self._after)
        found = torch.full((len(shown), width), IGNORED)
        for row, (window, tags) in zip(found, shown, strict=True):
            at = len(self._before) + window.kept - window.start
            row[at : at + window.kept_past - window.kept] = torch.tensor(tags[window.kept : window.kept_past])
        return found.to(device.name)
