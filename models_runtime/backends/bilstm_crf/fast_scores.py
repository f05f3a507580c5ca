"""The scores of a trained network on a CPU: those of the network itself up to rounding, in a fraction of the time.

The LSTMs multiply the vector of each token with a matrix. Here the vectors of a spelling and of a position (all other
columns of a token) are multiplied once and kept, so that the input of a token is the sum of two rows. Padding is never
computed: at each step, only the items that are long enough take part. The hyperbolic tangent is computed as
2σ(2x) - 1, because torch's sigmoid takes a fifth of its time.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from models_runtime.backends.bilstm_crf.network import BiLstmCrf
from models_runtime.backends.bilstm_crf.vocabulary import COLUMNS, OF_FORM, Rows

# Spellings or positions that are kept, and their bytes. With the default size of the network, one takes 6.4 KB.
MOST_KEPT: Final = 1 << 13
MOST_BYTES: Final = 64 << 20
# Tokens whose input is summed up at a time, so that it stays in the processor's cache.
CHUNK: Final = 1024
_SPELLED: Final = [COLUMNS.index(name) for name in OF_FORM]
_PLACED: Final = [at for at in range(len(COLUMNS)) if at not in _SPELLED]

Steps = Sequence[tuple[int, int]]
"""For each step of an LSTM, the first of its tokens and their number."""


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
        tables = [table.weight for table in network.columns]
        widths = [*(table.shape[1] for table in tables), network.filters.out_channels, network.grams.embedding_dim]
        *columns, characters, grams, context = weights.split([*widths, len(weights) - sum(widths)])
        self._of_spelling = torch.cat([*(columns[at] for at in _SPELLED), characters, grams])
        self._of_context = context.contiguous()
        self._placed = torch.cat([tables[at] @ columns[at] for at in _PLACED])
        self._sizes = np.array([len(tables[at]) for at in _PLACED])
        self._starts = np.cumsum([0, *self._sizes[:-1]])
        self._spellings, self._positions = _Kept(len(self._bias)), _Kept(len(self._bias))

    def of(self, items: Sequence[Rows]) -> list[Any]:
        """Scores [tokens, tags] of each item, in single precision."""
        order = sorted(range(len(items)), key=lambda at: -len(items[at].columns))
        chosen = [items[at] for at in order]
        lengths = np.array([len(item.columns) for item in chosen])
        going = (lengths > np.arange(lengths[0])[:, None]).sum(axis=1)
        starts = np.cumsum([0, *going[:-1]])
        # Tokens are ordered by their index in the item. `here`: the location of each token of the items in order.
        here = np.concatenate([starts[:length] + item for item, length in enumerate(lengths)])
        with torch.inference_mode():
            scores = self._scores(chosen, np.argsort(here), list(zip(starts.tolist(), going.tolist(), strict=True)))
        found: list[Any] = [None] * len(items)
        for at, rows in zip(order, np.split(scores.numpy()[here], np.cumsum(lengths)[:-1]), strict=True):
            found[at] = rows
        return found

    def _scores(self, items: Sequence[Rows], back: Any, steps: Steps) -> Any:
        """Scores [tokens, tags]. `back`: the number of each token in the items in order."""
        spellings, positions = self._spelled(items)[back], self._located(items)[back]
        context = torch.from_numpy(np.concatenate([item.context for item in items])[back].astype(np.float32))
        gates = self._recurrent[0].shape[1]
        states = torch.empty((len(back), 2 * len(self._recurrent[0])))
        for side, recurrent in enumerate(self._recurrent):
            weights = self._of_context[:, side * gates : (side + 1) * gates]

            def inputs(part: slice, side: int = side, weights: Any = weights) -> Any:
                found = self._spellings.rows[side].index_select(0, spellings[part])
                found += self._positions.rows[side].index_select(0, positions[part])
                return found.addmm_(context[part], weights) if len(weights) else found

            own = states[:, side * len(recurrent) : (side + 1) * len(recurrent)]
            _run(inputs, recurrent, steps if side == 0 else steps[::-1], own)
        return self._network.out(states)

    def _spelled(self, items: Sequence[Rows]) -> Any:
        """The row of each token's spelling among those that are kept."""
        columns, characters, grams, forms = (
            np.concatenate([getattr(item, name) for item in items])
            for name in ("columns", "characters", "grams", "forms")
        )

        def make(chosen: Any) -> Any:
            number, *spelled = (
                torch.from_numpy(each[chosen].astype(np.int64)) for each in (columns, characters, grams)
            )
            vectors = [self._network.columns[at](number[:, at]) for at in _SPELLED]
            vectors += self._network.spelling(*spelled)
            return torch.addmm(self._bias, torch.cat(vectors, dim=1), self._of_spelling)

        return self._spellings.found(forms, make)

    def _located(self, items: Sequence[Rows]) -> Any:
        """The row of each token's position among those that are kept."""
        columns = np.concatenate([item.columns for item in items])[:, _PLACED].astype(np.int64)
        codes = np.zeros(len(columns), dtype=np.int64)
        for column, size in zip(columns.T, self._sizes.tolist(), strict=True):
            codes = codes * size + column

        def make(chosen: Any) -> Any:
            rows = torch.from_numpy(columns[chosen] + self._starts)
            return nn.functional.embedding_bag(rows, self._placed, mode="sum")

        return self._positions.found(codes, make)


class _Kept(dict[int, int]):
    """Inputs of the gates by a number: the index of their row in `rows` [sides, kept, gates]."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self._width = width // 2
        self._most = min(MOST_KEPT, MOST_BYTES // (4 * width))
        self.rows = self._empty(0)

    def _empty(self, count: int) -> Any:
        return torch.empty((2, count, self._width), dtype=torch.float32)

    def found(self, numbers: Any, make: Callable[[Any], Any]) -> Any:
        """The row of each number. `make` computes the inputs [chosen, gates] of the tokens with these indexes."""
        distinct, first, of = np.unique(numbers, return_index=True, return_inverse=True)
        keys = distinct.tolist()
        new = [at for at, key in enumerate(keys) if key not in self]
        if len(self) + len(new) > self._most:
            self.clear()
            new = list(range(len(keys)))
            # A batch with more keys than are kept has left a larger table.
            if self.rows.shape[1] > self._most:
                self.rows = self._empty(0)
        if new:
            made, begin = make(first[new]), len(self)
            size = self.rows.shape[1]
            more = begin + len(new) - size
            if more > 0:
                self.rows = torch.cat([self.rows, self._empty(max(more, min(size, self._most - size)))], dim=1)
            for side, part in enumerate(made.chunk(2, dim=1)):
                self.rows[side, begin : begin + len(new)] = part
            self.update(zip((keys[at] for at in new), range(begin, begin + len(new)), strict=True))
        return torch.tensor([self[key] for key in keys])[torch.from_numpy(of.reshape(-1))]


def _doubled(weights: Any) -> Any:
    """Weights of the gates [gates, …] with those of the cell gate doubled, whose tanh is computed as 2σ(2x) - 1."""
    entering, forgetting, cell, output = weights.chunk(4)
    return torch.cat([entering, forgetting, 2 * cell, output])


def _run(inputs: Callable[[slice], Any], recurrent: Any, steps: Steps, out: Any) -> None:
    """Run an LSTM. `inputs` gives the inputs of its gates for some tokens; `out` [tokens, width] receives its states.

    Items that have not begun have the state 0. `cell` has twice the value of each cell: see `_doubled`.
    """
    cell = torch.zeros((max(number for _, number in steps), recurrent.shape[0]))
    before, begun = out[:0], 0
    for some in _chunks(steps):
        low = min(some[0][0], some[-1][0])
        gates = inputs(slice(low, max(first + number for first, number in some)))
        for first, number in some:
            own, known = gates[first - low : first - low + number], min(number, begun)
            if known:
                own[:known].addmm_(before[:known], recurrent)
            entering, forgetting, new, output = own.sigmoid_().chunk(4, dim=1)
            kept = cell[:number].mul_(forgetting).sub_(entering, alpha=2).addcmul_(entering, new, value=4)
            before, begun = out[first : first + number], number
            torch.addcmul(output.neg(), output, kept.sigmoid(), value=2, out=before)


def _chunks(steps: Steps) -> Iterator[Steps]:
    """Runs of steps with about CHUNK tokens."""
    first = tokens = 0
    for at, (_, number) in enumerate(steps):
        tokens += number
        if tokens >= CHUNK or at == len(steps) - 1:
            yield steps[first : at + 1]
            first, tokens = at + 1, 0
