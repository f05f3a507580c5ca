"""The best tags of each sequence with their probabilities, as in crfsuite (crf1d_context.c).

Best tags are computed in the precision of the scores, probabilities in double precision.

Several sequences are computed at a time: a step from token to token needs few operations, so that for many sequences it
costs hardly more than for one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models_runtime.backends.crf.weights import Floats


class Path(NamedTuple):
    """Index and marginal probability of each token's tag. The probability is NaN if a model's weights are so large that
    it can't be computed. `marginals`: the probabilities of all tags [tokens, tags], if they were asked for."""

    tags: list[int]
    odds: list[float]
    marginals: Floats | None = None


@dataclass(frozen=True, slots=True)
class _Stack:
    """Several sequences, longest first. `scores` [token, sequence, tag]; `going[at]`: the number of sequences with more
    than `at` tokens."""

    scores: Floats
    lengths: NDArray[np.intp]
    going: list[int]


def best_paths(
    emissions: Sequence[Floats], steps: Floats, *, marginals: bool = False, outside: int | None = None
) -> list[Path]:
    """The best path of each (non-empty) sequence. `emissions`: one [tokens, tags] each; `steps` [from, to].

    `marginals`: whether the paths have the probabilities of all tags. Without them, a sequence whose tags are all
    `outside` gets probabilities of 1, which saves most of the time for its path.
    """
    order = sorted(range(len(emissions)), key=lambda at: -len(emissions[at]))
    stack = _stacked([emissions[at] for at in order])
    tags = _tags(stack, steps)
    lengths = stack.lengths.tolist()
    found = [tags[:length, column].tolist() for column, length in enumerate(lengths)]
    asked = [
        column
        for column, path in enumerate(found)
        if marginals or outside is None or any(tag != outside for tag in path)
    ]
    paths = {at: Path(path, [1.0] * len(path)) for at, path in zip(order, found, strict=True)}
    if asked:
        if len(asked) < len(order):
            stack, tags = _stacked([emissions[order[column]] for column in asked]), tags[:, asked]
        forward, backward, scale = factors = _factors(stack, steps)
        chosen = tags[: len(forward), :, None]
        odds = _product(np.take_along_axis(forward, chosen, 2), np.take_along_axis(backward, chosen, 2), scale)[:, :, 0]
        every = _product(*factors) if marginals else None
        for number, column in enumerate(asked):
            length = lengths[column]
            rows = None if every is None else every[:length, number]
            paths[order[column]] = Path(found[column], odds[:length, number].tolist(), rows)
    return [paths[at] for at in range(len(emissions))]


def _stacked(emissions: Sequence[Floats]) -> _Stack:
    lengths = np.array([len(each) for each in emissions])
    scores = np.zeros((lengths[0], len(emissions), emissions[0].shape[1]), emissions[0].dtype)
    for column, each in enumerate(emissions):
        scores[: len(each), column] = each
    going = (lengths > np.arange(lengths[0])[:, None]).sum(axis=1).tolist()
    return _Stack(scores, lengths, going)


def _tags(stack: _Stack, steps: Floats) -> NDArray[np.intp]:
    """Best tags [token, sequence] (Viterbi); of equal tags the first."""
    best = stack.scores.copy()
    size, count, tags = best.shape
    ways, came = np.empty((tags, count, tags), best.dtype), steps.astype(best.dtype)[:, None, :]
    for at in range(1, size):
        going = stack.going[at]
        here = ways[:, :going]
        np.add(best[at - 1, :going].T[:, :, None], came, out=here)
        best[at, :going] += here.max(axis=0)
    found = np.zeros((size, count), np.intp)
    ends = stack.lengths - 1, np.arange(count)
    found[ends] = best[ends].argmax(axis=1)
    into = np.ascontiguousarray(steps.T, best.dtype)
    for at in range(size - 1, 0, -1):
        going = stack.going[at]
        found[at - 1, :going] = (best[at - 1, :going] + into[found[at, :going]]).argmax(axis=1)
    return found


def _product(forward: Floats, backward: Floats, scale: Floats) -> Floats:
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        found: Floats = forward * backward / scale
    return found


def _factors(stack: _Stack, steps: Floats) -> tuple[Floats, Floats, Floats]:
    """The factors of the marginals [token, sequence, tag]: forward-backward, scaled at each token."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        states, ways = np.exp(stack.scores.astype(np.float64)), np.exp(steps.astype(np.float64))
        forward, backward = np.zeros_like(states), np.zeros_like(states)
        size, count, _ = states.shape
        scale = np.ones((size, count, 1))
        for at, going in enumerate(stack.going):
            here = forward[at, :going]
            if at:
                np.matmul(forward[at - 1, :going], ways, out=here)
                here *= states[at, :going]
            else:
                here[:] = states[0]
            total = here.sum(axis=1, keepdims=True)
            np.divide(1.0, total, out=scale[at, :going], where=total != 0)
            here *= scale[at, :going]
        back = np.ascontiguousarray(ways.T)
        on = 0
        for at in range(size - 1, -1, -1):
            going = stack.going[at]
            here = backward[at, :going]
            if on:
                np.matmul(backward[at + 1, :on] * states[at + 1, :on], back, out=here[:on])
            here[on:] = 1.0
            here *= scale[at, :going]
            on = going
    return forward, backward, scale
