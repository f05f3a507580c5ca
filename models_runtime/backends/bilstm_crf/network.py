"""The network (after Catelli 2021): stacked word, sub-word and character vectors, a bidirectional LSTM, a CRF."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from models_runtime.backends.bilstm_crf.bidirectional import bidirectional
from models_runtime.backends.bilstm_crf.vocabulary import BUCKETS, COLUMNS, UNSEEN, Rows
from models_runtime.backends.neural.crf import Crf
from models_runtime.backends.neural.dropout import locked
from models_runtime.backends.neural.tags import Tags

# Width of the vector of each column.
WIDTHS: Final[dict[str, int]] = {
    "word": 100, "shape": 25, "short": 15, "rule": 25, "field": 40, "since": 8, "memory": 30, "known": 30,
    "into": 8, "top": 10, "bottom": 6, "glued": 4,
}  # fmt: skip
CHARACTER: Final = 30
FILTERS: Final = 50
GRAM: Final = 60
# Share of words that are replaced by UNSEEN in training, so that its vector is learned too.
WORD_DROPOUT: Final = 0.15


@dataclass(frozen=True)
class Shape:
    """Sizes of the network. `sizes`: how many different numbers each column has. `hidden`: units of each LSTM.

    `context`: number of values per token from the character language model; 0 without one.
    """

    sizes: dict[str, int]
    hidden: int = 200
    context: int = 0
    dropout: float = 0.4


class BiLstmCrf(nn.Module):  # type: ignore[misc]  # torch has no types where it is not installed
    """Scores [items, tokens, tags] of items in a batch (see `batch`)."""

    def __init__(self, shape: Shape, tags: Tags) -> None:
        super().__init__()
        self.columns = nn.ModuleList(
            nn.Embedding(shape.sizes[name], WIDTHS[name], padding_idx=0 if name == "word" else None) for name in COLUMNS
        )
        self.characters = nn.Embedding(shape.sizes["character"], CHARACTER, padding_idx=0)
        self.filters = nn.Conv1d(CHARACTER, FILTERS, 3, padding=1)
        self.grams = nn.EmbeddingBag(BUCKETS, GRAM, mode="mean", padding_idx=0)
        width = sum(WIDTHS.values()) + FILTERS + GRAM + shape.context
        self.dropout = shape.dropout
        self.onward = nn.LSTM(width, shape.hidden, batch_first=True)
        self.behind = nn.LSTM(width, shape.hidden, batch_first=True)
        self.out = nn.Linear(2 * shape.hidden, len(tags))
        self.crf = Crf(tags)

    def forward(self, batch: Mapping[str, Any]) -> Any:
        columns = batch["columns"]
        if self.training:
            gone = (torch.rand(columns.shape[:2], device=columns.device) < WORD_DROPOUT) & (columns[:, :, 0] > 0)
            columns = torch.cat([columns[:, :, :1].masked_fill(gone[:, :, None], UNSEEN), columns[:, :, 1:]], dim=2)
        vectors = [table(columns[:, :, at]) for at, table in enumerate(self.columns)]
        shown = self._locked(torch.cat([*vectors, *self._spelling(batch), batch["context"]], dim=2))
        hidden = torch.cat(bidirectional(self.onward, self.behind, shown, batch["lengths"]), dim=2)
        return self.out(self._locked(hidden))

    def _spelling(self, batch: Mapping[str, Any]) -> list[Any]:
        """Vectors from characters and sub-words, computed once for each distinct form in the batch."""
        return [vectors[batch["form"]] for vectors in self.spelling(batch["characters"], batch["grams"])]

    def spelling(self, characters: Any, grams: Any) -> list[Any]:
        """Vectors [forms, values] from the characters [forms, CHARACTERS] and from the n-grams [forms, GRAMS]."""
        forms = self.filters(self.characters(characters).transpose(1, 2))
        empty = characters[:, None, :] == 0
        return [torch.relu(forms.masked_fill(empty, float("-inf")).amax(dim=2).clamp(min=-1e4)), self.grams(grams)]

    def _locked(self, values: Any) -> Any:
        return locked(values, self.dropout, training=self.training)


def batch(items: Sequence[Rows], device: str) -> dict[str, Any]:
    """Items as tensors, padded with 0; each distinct form once. `mask`: True for tokens, False for padding."""
    lengths = [len(item.columns) for item in items]
    columns = np.zeros((len(items), max(lengths), len(COLUMNS)), dtype=np.int64)
    context = np.zeros((*columns.shape[:2], items[0].context.shape[1]), dtype=np.float32)
    for at, item in enumerate(items):
        columns[at, : lengths[at]] = item.columns
        context[at, : lengths[at]] = item.context
    spelling = np.concatenate([np.concatenate([item.characters, item.grams], axis=1) for item in items])
    spelling = np.concatenate([np.zeros((1, spelling.shape[1]), dtype=spelling.dtype), spelling])
    distinct, inverse = np.unique(spelling, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    form = np.full(columns.shape[:2], inverse[0], dtype=np.int64)
    at = 1
    for row, length in enumerate(lengths):
        form[row, :length] = inverse[at : at + length]
        at += length
    width = items[0].characters.shape[1]
    made = {
        "columns": columns, "form": form, "characters": distinct[:, :width].astype(np.int64),
        "grams": distinct[:, width:].astype(np.int64), "context": context, "lengths": np.array(lengths, dtype=np.int64),
    }  # fmt: skip
    found = {name: torch.from_numpy(np.ascontiguousarray(value)).to(device) for name, value in made.items()}
    mask = torch.arange(columns.shape[1], device=device)[None, :] < found["lengths"][:, None]
    return found | {"mask": mask}
