"""The network of Catelli 2021 (section 3.2.1): reprojection of stacked embeddings, a bidirectional LSTM, a CRF.

Each layer can be left out for an ablation (sections 4.1.3 and 4.2.2). Without the LSTM, a linear layer scores the tags;
without the CRF, the tag of each token is the one with the highest probability (softmax).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from models_runtime.backends.bilstm_crf.bidirectional import bidirectional
from models_runtime.backends.neural.crf import Crf
from models_runtime.backends.neural.dropout import locked
from models_runtime.backends.neural.learning import IGNORED
from models_runtime.backends.neural.tags import Tags


@dataclass(frozen=True)
class Shape:
    """The layers. `hidden`: the width of each LSTM; `layers`: how many lie above one another."""

    dimensions: int
    hidden: int = 256
    layers: int = 1
    reprojection: bool = True
    lstm: bool = True
    crf: bool = True


class StackedNetwork(nn.Module):  # type: ignore[misc]  # torch has no types where it is not installed
    """Scores [items, tokens, tags] of items in a batch (see `batch`)."""

    def __init__(self, shape: Shape, tags: Tags, *, word_dropout: float = 0.0, dropout: float = 0.0) -> None:
        super().__init__()
        self.word_dropout, self.dropout = word_dropout, dropout
        width = shape.dimensions
        self.reprojection = nn.Linear(width, width) if shape.reprojection else None
        widths = [width, *[2 * shape.hidden] * (shape.layers - 1)] if shape.lstm else []
        self.onward = nn.ModuleList(nn.LSTM(each, shape.hidden, batch_first=True) for each in widths)
        self.behind = nn.ModuleList(nn.LSTM(each, shape.hidden, batch_first=True) for each in widths)
        self.out = nn.Linear(2 * shape.hidden if shape.lstm else width, len(tags))
        self.crf = Crf(tags) if shape.crf else None

    def forward(self, batch: Mapping[str, Any]) -> Any:
        shown = batch["vectors"]
        if self.training and self.word_dropout:
            kept = torch.rand(shown.shape[:2], device=shown.device) >= self.word_dropout
            shown = shown * kept[:, :, None]
        shown = locked(shown, self.dropout, training=self.training)
        if self.reprojection is not None:
            shown = self.reprojection(shown)
        for onward, behind in zip(self.onward, self.behind, strict=True):
            shown = torch.cat(bidirectional(onward, behind, shown, batch["lengths"]), dim=2)
        if len(self.onward):
            shown = locked(shown, self.dropout, training=self.training)
        return self.out(shown)

    def loss(self, scores: Any, mask: Any, target: Any) -> Any:
        """The loss of the right tags, summed over the items: with a CRF of paths, without one of tags."""
        if self.crf is not None:
            return self.crf.loss(scores, mask, target)
        right = target.where(mask, IGNORED)
        return nn.functional.cross_entropy(
            scores.float().flatten(0, 1), right.flatten(), ignore_index=IGNORED, reduction="sum"
        )

    def paths(self, scores: Any, lengths: Sequence[int]) -> list[list[int]]:
        """The best tags of each item."""
        if self.crf is not None:
            return self.crf.paths(scores, lengths)
        best = scores.argmax(dim=2).cpu().numpy()
        return [row[:length].tolist() for row, length in zip(best, lengths, strict=True)]

    def marginals(self, scores: Any, mask: Any) -> Any:
        """The probability of each tag at each token, [items, tokens, tags]."""
        return self.crf.marginals(scores, mask) if self.crf is not None else scores.float().softmax(dim=2)


def batch(items: Sequence[Any], device: str) -> dict[str, Any]:
    """The vectors of items [tokens, dimensions] as tensors, padded with 0. `mask`: True for tokens."""
    lengths = [len(item) for item in items]
    vectors = np.zeros((len(items), max(lengths), items[0].shape[1]), dtype=np.float32)
    for at, item in enumerate(items):
        vectors[at, : lengths[at]] = item
    found = {"vectors": torch.from_numpy(vectors), "lengths": torch.tensor(lengths)}
    found["mask"] = torch.arange(vectors.shape[1])[None, :] < found["lengths"][:, None]
    return {name: value.to(device) for name, value in found.items()}
