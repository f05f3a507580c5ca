"""Properties of a note's tokens as NumPy arrays."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from annotations.text.tokens import Token


def bounds_of(tokens: Sequence[Token]) -> Any:
    """Start and end of each token [tokens, 2].

    Waiting notes keep these bounds instead of tokens: so many objects would start Python's garbage collection often.
    """
    return np.fromiter(chain.from_iterable(tokens), np.int64, 2 * len(tokens)).reshape(-1, 2)


def touching(tokens: Sequence[Token]) -> Any:
    """Whether each token directly follows the one before it, with one more value for the end [tokens + 1]."""
    bounds = bounds_of(tokens)
    found = np.zeros(len(tokens) + 1, dtype=bool)
    found[1:-1] = bounds[1:, 0] == bounds[:-1, 1]
    return found
