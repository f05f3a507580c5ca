"""The best tags of each sequence with their probabilities, as in crfsuite (crf1d_context.c).

Best tags are computed in the precision of the scores, probabilities in double precision.

Several sequences are computed at a time: a step from token to token needs few operations, so that for many sequences it
costs hardly more than for one.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from models_runtime.backends.crf import probabilities
from models_runtime.backends.crf.certain import uncertain
from models_runtime.backends.crf.stack import Indexes, Stack, Stretches, stacked
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


def best_paths(
    emissions: Sequence[Floats], steps: Floats, *, marginals: bool = False, outside: int | None = None
) -> list[Path]:
    """The best path of each (non-empty) sequence. `emissions`: one [tokens, tags] each; `steps` [from, to].

    `marginals`: whether the paths have the probabilities of all tags. Without them, each token whose tag is `outside`
    gets a probability of 1, which saves most of the time for its path.
    """
    if not emissions:
        return []
    past = np.cumsum([len(each) for each in emissions])
    scores, sequences = np.concatenate(emissions), Stretches(np.append(0, past[:-1]), past)
    tags = _tags(scores, sequences, steps, outside)
    every = probabilities.of_all(scores, sequences, steps) if marginals else None
    if every is None:
        odds = probabilities.of_tags(scores, sequences, tags, steps, outside)
    else:
        odds = every[np.arange(len(tags)), tags]
    return [
        Path(tags[first:end].tolist(), odds[first:end].tolist(), None if every is None else every[first:end])
        for first, end in zip(*(each.tolist() for each in sequences), strict=True)
    ]


def _tags(scores: Floats, sequences: Stretches, steps: Floats, outside: int | None) -> Indexes:
    """The tags of the best path through each sequence; of equal tags the first."""
    tags = np.zeros(len(scores), np.intp)
    parts = sequences
    if outside is not None:
        tags += outside
        parts = sequences.where(uncertain(scores, sequences.first, steps, outside))
        if not len(parts.first):
            return tags
    stack = stacked(scores, parts)
    if outside is not None:
        # The tokens before and behind these parts of a sequence have the tag `outside`.
        begins = np.zeros(len(scores) + 1, dtype=bool)
        begins[sequences.first] = begins[-1] = True
        stack.scores[: len(stack.order)][~begins[stack.tokens[: len(stack.order)]]] += steps[outside]
        stack.scores[stack.last[~begins[stack.tokens[stack.last] + 1]]] += steps[:, outside]
    tags[stack.tokens] = _searched(stack, steps)
    return tags


def _searched(stack: Stack, steps: Floats) -> Indexes:
    """Best tag of each row (Viterbi); of equal tags the first. The scores of the stack are overwritten."""
    best, ahead = stack.scores, _Ahead(steps.astype(stack.scores.dtype))
    for at in range(1, len(stack.going)):
        best[stack.here(at)] += ahead.of(best[stack.before(at)])
    found: Indexes = best.argmax(axis=1)
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
