"""Variational dropout."""

from typing import Any

import torch


def locked(values: Any, share: float, *, training: bool) -> Any:
    """Set a share of the values [items, tokens, values] to 0: one mask for all tokens of an item.

    Gal and Ghahramani 2016. Values that stay are scaled up.
    """
    if not training or not share:
        return values
    kept = torch.empty(values.shape[0], 1, values.shape[2], device=values.device).bernoulli_(1 - share)
    return values * kept / (1 - share)
