"""The best tags of each sequence with their probabilities, as in crfsuite (crf1d_context.c).

Best tags are computed in the precision of the scores, probabilities in double precision.

Several sequences are computed at a time: a step from token to token needs few operations, so that for many sequences it
costs hardly more than for one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models_runtime.backends.crf.weights import Floats

# For each tag, the tags before it that are always tried: those with the highest scores of a step.
NEAR: Final = 2


class Path(NamedTuple):
    """Index and marginal probability of each token's tag. The probability is NaN if a model's weights are so large that
    it can't be computed. `marginals`: the probabilities of all tags [tokens, tags], if they were asked for."""

    tags: list[int]
    odds: list[float]
    marginals: Floats | None = None

    def stretches(self, outside: int | None) -> list[tuple[int, int]]:
        """The first and the past-the-last token of each stretch of tokens with other tags than `outside`."""
        inside = np.zeros(len(self.tags) + 2, dtype=bool)
        inside[1:-1] = np.array(self.tags) != (-1 if outside is None else outside)
        ends = np.flatnonzero(inside[1:] != inside[:-1]).tolist()
        return list(zip(ends[::2], ends[1::2], strict=True))


@dataclass(frozen=True, slots=True)
class _Stack:
    """Several sequences, longest first, as rows: the first token of each sequence, the second one of each, …

    `scores` [rows, tags]. `first[at]` and `going[at]`: the first row of the tokens with the index `at`, and their
    number. `rows`: for each sequence, the rows of its tokens.
    """

    scores: Floats
    first: list[int]
    going: list[int]
    rows: list[NDArray[np.intp]]

    def here(self, at: int) -> slice:
        """The rows of the tokens with this index."""
        return slice(self.first[at], self.first[at] + self.going[at])

    def before(self, at: int) -> slice:
        """The rows of the tokens before these."""
        return slice(self.first[at - 1], self.first[at - 1] + self.going[at])


def best_paths(
    emissions: Sequence[Floats], steps: Floats, *, marginals: bool = False, outside: int | None = None
) -> list[Path]:
    """The best path of each (non-empty) sequence. `emissions`: one [tokens, tags] each; `steps` [from, to].

    `marginals`: whether the paths have the probabilities of all tags. Without them, a sequence whose tags are all
    `outside` gets probabilities of 1, which saves most of the time for its path.
    """
    if not emissions:
        return []
    order = sorted(range(len(emissions)), key=lambda at: -len(emissions[at]))
    stack = _stacked([emissions[at] for at in order])
    found = _tags(stack, steps)
    tags = [found[rows] for rows in stack.rows]
    paths = {at: Path(path.tolist(), [1.0] * len(path)) for at, path in zip(order, tags, strict=True)}
    asked = [
        column for column, path in enumerate(tags) if marginals or outside is None or bool((path != outside).any())
    ]
    if asked:
        if len(asked) < len(order):
            stack = _stacked([emissions[order[column]] for column in asked])
        forward, backward, scale = _factors(stack, steps)
        for column, rows in zip(asked, stack.rows, strict=True):
            chosen = rows, tags[column]
            odds = _product(forward[chosen], backward[chosen], scale[rows, 0])
            every = _product(forward[rows], backward[rows], scale[rows]) if marginals else None
            paths[order[column]] = Path(paths[order[column]].tags, odds.tolist(), every)
    return [paths[at] for at in range(len(emissions))]


def _stacked(emissions: Sequence[Floats]) -> _Stack:
    lengths = np.array([len(each) for each in emissions])
    going = (lengths > np.arange(lengths[0])[:, None]).sum(axis=1)
    first = np.cumsum(going) - going
    scores = np.empty((lengths.sum(), emissions[0].shape[1]), emissions[0].dtype)
    rows = [first[:length] + column for column, length in enumerate(lengths.tolist())]
    for each, own in zip(emissions, rows, strict=True):
        scores[own] = each
    return _Stack(scores, first.tolist(), going.tolist(), rows)


def _tags(stack: _Stack, steps: Floats) -> NDArray[np.intp]:
    """Best tag of each row (Viterbi); of equal tags the first."""
    best, ahead = stack.scores.copy(), _Ahead(steps.astype(stack.scores.dtype))
    for at in range(1, len(stack.going)):
        best[stack.here(at)] += ahead.of(best[stack.before(at)])
    found: NDArray[np.intp] = best.argmax(axis=1)
    into = np.ascontiguousarray(steps.T, best.dtype)
    for at in range(len(stack.going) - 1, 0, -1):
        before = stack.before(at)
        ways = into.take(found[stack.here(at)], axis=0)
        ways += best[before]
        found[before] = ways.argmax(axis=1)
    return found


class _Ahead:
    """Computes the best score of a path up to each tag of the next token, in half the time of trying all steps.

    Tried are the step from the tag whose score is the highest, and the NEAR highest steps to each tag. Another path can
    only be better if the second highest score with the highest of the other steps exceeds what was found. This is rare,
    and then all steps are tried.
    """

    def __init__(self, steps: Floats) -> None:
        self._steps = steps
        order = np.argsort(-steps, axis=0, kind="stable")[: NEAR + 1]
        highest = np.take_along_axis(steps, order, axis=0)
        self._near, self._scores = order[:NEAR].ravel(), highest[:NEAR].ravel()
        self._other = highest[NEAR] if len(highest) > NEAR else np.full(len(steps), -np.inf, steps.dtype)

    def of(self, scores: Floats) -> Floats:
        """The best scores [sequences, to] of paths that have these scores [sequences, from] so far."""
        rows = np.arange(len(scores))
        top = scores.argmax(axis=1)
        found: Floats = self._steps.take(top, axis=0)
        found += scores[rows, top][:, None]
        near = scores.take(self._near, axis=1)
        near += self._scores
        for first in range(0, near.shape[1], len(self._steps)):
            np.maximum(found, near[:, first : first + len(self._steps)], out=found)
        others = scores.copy()
        others[rows, top] = -np.inf
        second = others[rows, others.argmax(axis=1)][:, None]
        unsure = found < second + self._other
        if unsure.any():
            some = unsure.any(axis=1)
            found[some] = (scores[some, :, None] + self._steps).max(axis=1)
        return found


def _product(forward: Floats, backward: Floats, scale: Floats) -> Floats:
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        found: Floats = forward * backward / scale
    return found


def _factors(stack: _Stack, steps: Floats) -> tuple[Floats, Floats, Floats]:
    """The factors of the marginals [rows, tags], [rows, tags] and [rows, 1]: forward-backward, scaled at each token.

    The scores of the stack are overwritten, which saves memory.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        states, ways = stack.scores.astype(np.float64, copy=False), np.exp(steps, dtype=np.float64)
        np.exp(states, out=states)
        forward, scale = states.copy(), np.ones((len(states), 1))
        for at in range(len(stack.going)):
            here = forward[stack.here(at)]
            if at:
                here *= forward[stack.before(at)] @ ways
            total = here.sum(axis=1, keepdims=True)
            own = scale[stack.here(at)]
            np.divide(1.0, total, out=own, where=total != 0)
            here *= own
        back, backward = np.ascontiguousarray(ways.T), np.ones_like(states)
        backward *= scale
        for at in range(len(stack.going) - 1, 0, -1):
            rows = stack.here(at)
            backward[stack.before(at)] *= (backward[rows] * states[rows]) @ back
    return forward, backward, scale
