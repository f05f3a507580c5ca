"""Stretches of tokens side by side: a step from token to token needs few operations, so that for many stretches it
costs hardly more than for one."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models_runtime.backends.crf.weights import Floats

Indexes = NDArray[np.intp]


class Stretches(NamedTuple):
    """The first and the past-the-last token of each stretch. Tokens are numbered from sequence to sequence."""

    first: Indexes
    past: Indexes

    def where(self, mask: NDArray[np.bool_]) -> "Stretches":
        """The stretches of tokens in `mask`, each in one of these sequences, which contain all tokens."""
        begins = np.zeros(len(mask) + 1, dtype=bool)
        begins[self.first] = begins[-1] = True
        first, past = mask.copy(), mask.copy()
        first[1:] &= ~mask[:-1] | begins[1:-1]
        past[:-1] &= ~mask[1:] | begins[1:-1]
        return Stretches(np.flatnonzero(first), np.flatnonzero(past) + 1)

    def around(self, tokens: Indexes) -> "Stretches":
        """Of each token, the sequence that it is in."""
        at = np.searchsorted(self.first, tokens, side="right") - 1
        return Stretches(self.first[at], self.past[at])


@dataclass(frozen=True, slots=True)
class Stack:
    """Several stretches, longest first, as rows: the first token of each stretch, the second one of each, …

    `scores` [rows, tags]. `tokens`: the token of each row. `first[at]` and `going[at]`: the first row of the tokens
    with the index `at`, and their number. `last`: the row of each stretch's last token. `order`: the number of each
    stretch.
    """

    scores: Floats
    tokens: Indexes
    first: list[int]
    going: list[int]
    last: Indexes
    order: Indexes

    def here(self, at: int) -> slice:
        """The rows of the tokens with this index."""
        return slice(self.first[at], self.first[at] + self.going[at])

    def before(self, at: int) -> slice:
        """The rows of the tokens before these."""
        return slice(self.first[at - 1], self.first[at - 1] + self.going[at])


def stacked(scores: Floats, stretches: Stretches) -> Stack:
    """A stack of at least one stretch, with copies of their scores. `scores` [tokens, tags]."""
    lengths = stretches.past - stretches.first
    order = np.argsort(-lengths, kind="stable")
    lengths = lengths[order]
    going = np.searchsorted(-lengths, -np.arange(lengths[0]), side="left")
    first = np.cumsum(going) - going
    number = np.repeat(np.arange(len(order)), lengths)
    at = np.arange(len(number)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    tokens = np.empty_like(number)
    tokens[first[at] + number] = np.repeat(stretches.first[order], lengths) + at
    last = first[lengths - 1] + np.arange(len(order))
    return Stack(scores.take(tokens, axis=0), tokens, first.tolist(), going.tolist(), last, order)
