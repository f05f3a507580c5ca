"""The scores of a trained network on a CPU: those of the network itself up to rounding, in a fraction of the time.

Three things make the difference. The LSTMs multiply each input with a matrix; here each row of an embedding table is
multiplied once, when a model is loaded, and each spelling once in a batch, so that a token's input is a sum of rows.
Padding is never computed: at each step, only the items that are long enough take part. And the hyperbolic tangent is
computed as 2σ(2x) - 1, since torch's sigmoid takes a fifth of its time.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from models_runtime.backends.bilstm_crf.network import BiLstmCrf
from models_runtime.backends.bilstm_crf.vocabulary import COLUMNS, OF_FORM, Rows

_SPELLED: Final = [COLUMNS.index(name) for name in OF_FORM]
_OTHER: Final = [at for at in range(len(COLUMNS)) if at not in _SPELLED]


class FastScores:
    """Computes the scores of `network`, whose weights must not change afterwards."""

    def __init__(self, network: BiLstmCrf) -> None:
        self._network = network
        with torch.inference_mode():
            self._prepare()

    def _prepare(self) -> None:
        network = self._network
        sides = (network.onward, network.behind)
        weights = torch.cat([_doubled(side.weight_ih_l0) for side in sides]).T
        self._bias = torch.cat([_doubled(side.bias_ih_l0 + side.bias_hh_l0) for side in sides])
        self._recurrent = [_doubled(side.weight_hh_l0).T.contiguous() for side in sides]
        self._hidden = network.onward.hidden_size
        tables = [table.weight for table in network.columns]
        widths = [
            *(table.shape[1] for table in tables), network.filters.out_channels, network.grams.embedding_dim,
        ]  # fmt: skip
        *columns, characters, grams, context = weights.split([*widths, len(weights) - sum(widths)])
        # The input of the LSTMs from the spelling of a token: columns, characters, n-grams.
        self._of_spelling = torch.cat([*(columns[at] for at in _SPELLED), characters, grams])
        self._of_context = context
        self._table = torch.cat([tables[at] @ columns[at] for at in _OTHER])
        sizes = [len(tables[at]) for at in _OTHER]
        self._starts = torch.tensor([sum(sizes[:at]) for at in range(len(sizes))])

    def of(self, items: Sequence[Rows]) -> list[Any]:
        """Scores [tokens, tags] of each item, in single precision."""
        order = sorted(range(len(items)), key=lambda at: -len(items[at].columns))
        chosen = [items[at] for at in order]
        lengths = np.array([len(item.columns) for item in chosen])
        going = (lengths > np.arange(lengths[0])[:, None]).sum(axis=1)
        starts = np.cumsum([0, *going[:-1]])
        # Tokens are ordered by their index in the item; `here` has the location of each token of the items in order.
        here = np.concatenate([starts[:length] + item for item, length in enumerate(lengths)])
        with torch.inference_mode():
            scores = self._scores(chosen, here, starts.tolist(), going.tolist()).numpy()
        found: list[Any] = [None] * len(items)
        for at, rows in zip(order, np.split(scores[here], np.cumsum(lengths)[:-1]), strict=True):
            found[at] = rows
        return found

    def _scores(self, items: Sequence[Rows], here: Any, starts: Sequence[int], going: Sequence[int]) -> Any:
        gates = self._inputs(items, here)
        width = self._hidden
        states = torch.empty((len(gates), 2 * width))
        for side, steps in enumerate((range(len(going)), range(len(going) - 1, -1, -1))):
            own = gates[:, 4 * width * side : 4 * width * (side + 1)]
            out = states[:, width * side : width * (side + 1)]
            _run(own, self._recurrent[side], [(starts[at], going[at]) for at in steps], out)
        return self._network.out(states)

    def _inputs(self, items: Sequence[Rows], here: Any) -> Any:
        """The input of all gates of both LSTMs [tokens, gates]; tokens are ordered by their index in the item."""
        back = np.argsort(here)
        columns = np.concatenate([item.columns for item in items])[back]
        spelled, form = self._spelled(items)
        size = len(self._table)
        rows = torch.cat([self._table, spelled])
        numbers = torch.from_numpy(columns[:, _OTHER].astype(np.int64)) + self._starts
        numbers = torch.cat([numbers, torch.from_numpy(form[back])[:, None] + size], dim=1)
        gates = nn.functional.embedding_bag(numbers, rows, mode="sum")
        if len(self._of_context):
            context = np.concatenate([item.context for item in items])[back].astype(np.float32)
            gates.addmm_(torch.from_numpy(context), self._of_context)
        return gates

    def _spelled(self, items: Sequence[Rows]) -> tuple[Any, Any]:
        """The input of the gates from each spelling [spellings, gates], and the spelling of each token."""
        forms = np.concatenate([item.forms for item in items])
        _, first, form = np.unique(forms, return_index=True, return_inverse=True)
        columns, characters, grams = (
            torch.from_numpy(np.concatenate([getattr(item, name) for item in items])[first].astype(np.int64))
            for name in ("columns", "characters", "grams")
        )
        network = self._network
        vectors = [network.columns[at](columns[:, at]) for at in _SPELLED]
        vectors += network.spelling(characters, grams)
        return torch.addmm(self._bias, torch.cat(vectors, dim=1), self._of_spelling), form.reshape(-1)


def _doubled(weights: Any) -> Any:
    """Weights of the gates [gates, …] with those of the cell gate doubled, whose tanh is computed as 2σ(2x) - 1."""
    entering, forgetting, cell, output = weights.chunk(4)
    return torch.cat([entering, forgetting, 2 * cell, output])


def _run(gates: Any, recurrent: Any, steps: Sequence[tuple[int, int]], out: Any) -> None:
    """Run an LSTM. `gates` [tokens, gates] is its input; `out` [tokens, width] receives its states.

    `steps`: for each step, the first of its tokens and their number. Items that have not begun have the state 0.
    """
    most, width = max(number for _, number in steps), recurrent.shape[0]
    state, cell = torch.zeros((2, most, width))
    spare = torch.empty((most, 4 * width))
    for first, number in steps:
        sums = torch.addmm(gates[first : first + number], state[:number], recurrent, out=spare[:number]).sigmoid_()
        entering, forgetting, new, output = sums.split(width, dim=1)
        own = cell[:number].mul_(forgetting).sub_(entering).addcmul_(entering, new, value=2)
        here = out[first : first + number]
        torch.addcmul(-output, output, torch.sigmoid(2 * own), value=2, out=here)
        state[:number] = here
