"""A transformer reads texts: windows, batches by length, and one row of scores for each piece, none left out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from models_runtime.backends.base import BackendError
from models_runtime.backends.neural.device import Device
from models_runtime.backends.neural.windows import Window, batches, windows
from models_runtime.backends.token_classification.encoding import Encoded


class Reader:
    """`most` pieces fit into the model at once, its special ones included; `overlap` is shared by neighbours."""

    def __init__(self, network: Any, around: tuple[list[int], list[int]], *, most: int, overlap: int, pad: int) -> None:
        self._network = network
        self._before, self._after = around
        self._room = most - len(self._before) - len(self._after)
        self._overlap = min(overlap, self._room - 1)
        self._pad = pad

    def windows(self, encoded: Encoded) -> list[Window]:
        return windows(len(encoded.pieces), self._room, self._overlap)

    def scores(self, texts: Sequence[Encoded], device: Device) -> list[Any]:
        """For each text log-probabilities [pieces, tags], float32. Raises BackendError where a piece was not read."""
        work = [(number, window) for number, text in enumerate(texts) for window in self.windows(text)]
        rows: list[Any] = [None] * len(texts)
        for batch in batches([len(window) for _, window in work], device.budget):
            shown = [(work[at][1], texts[work[at][0]]) for at in batch]
            for at, scores in zip(batch, self._batch(shown, device), strict=True):
                number, window = work[at]
                if rows[number] is None:
                    rows[number] = np.full((len(texts[number].pieces), scores.shape[1]), np.nan, dtype=np.float32)
                inside = scores[window.reads - window.start : window.reads_past - window.start]
                rows[number][window.reads : window.reads_past] = inside
        for scores in rows:
            if scores is not None and np.isnan(scores).any():
                raise BackendError(
                    "some of the text was read by no window, or the weights give no numbers", permanent=True
                )
        return [np.zeros((0, 1), dtype=np.float32) if scores is None else scores for scores in rows]

    def _batch(self, shown: Sequence[tuple[Window, Encoded]], device: Device) -> list[Any]:
        inputs = [[*self._before, *text.pieces[window.start : window.past], *self._after] for window, text in shown]
        width = max(map(len, inputs))
        pieces = torch.tensor([[*each, *[self._pad] * (width - len(each))] for each in inputs], device=device.name)
        mask = torch.tensor([[1] * len(each) + [0] * (width - len(each)) for each in inputs], device=device.name)
        with torch.inference_mode(), device.precise():
            found = self._network(input_ids=pieces, attention_mask=mask).logits
        scores = torch.log_softmax(found.float(), dim=-1).cpu().numpy()
        lead = len(self._before)
        return [row[lead : lead + len(window)] for row, (window, _) in zip(scores, shown, strict=True)]
