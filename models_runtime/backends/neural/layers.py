"""Layers of recurrent networks: variational dropout, and a forward and a backward LSTM."""

from typing import Any

import torch
from torch import nn


def locked(values: Any, share: float, *, training: bool) -> Any:
    """Set a share of the values [items, tokens, values] to 0: one mask for all tokens of an item.

    Gal and Ghahramani 2016. Values that stay are scaled up.
    """
    if not training or not share:
        return values
    kept = torch.empty(values.shape[0], 1, values.shape[2], device=values.device).bernoulli_(1 - share)
    return values * kept / (1 - share)


def bidirectional(onward: nn.LSTM, behind: nn.LSTM, shown: Any, lengths: Any) -> tuple[Any, Any]:
    """The states of both LSTMs at each position of `shown` [items, positions, values]; undefined after an item's end.

    At each position, `onward` has seen the item from its start, and `behind` from its end, both inclusive. Torch's own
    bidirectional LSTM needs packed sequences, and is six times slower on a CPU.
    """
    at = torch.arange(shown.shape[1], device=lengths.device)[None, :]
    # For each item, its positions from the last to the first, then those of the padding.
    backwards = torch.where(at < lengths[:, None], lengths[:, None] - 1 - at, at)
    return onward(shown)[0], _gathered(behind(_gathered(shown, backwards))[0], backwards)


def _gathered(values: Any, positions: Any) -> Any:
    return values.gather(1, positions[:, :, None].expand(-1, -1, values.shape[2]))
