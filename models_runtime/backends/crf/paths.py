"""The best tags of each sequence with their probabilities, as in crfsuite (crf1d_context.c).

Best tags are computed in the precision of the scores, probabilities in double precision.

Several sequences are computed at a time: a step from token to token needs few operations, so that for many sequences it
costs hardly more than for one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models_runtime.backends.crf.model import Floats

# Stretches of tokens side by side: a step from token to token needs few operations, so that for many stretches it
# costs hardly more than for one.


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


# Tokens whose tag on the best path is known beforehand: `outside`, because every other tag would lower the score.
#
# If a path has other tags from token s to token e, then writing `outside` there changes its score by what these tags
# and the steps between them have more than `outside`. An upper limit of this gain needs only two numbers per token: the
# most that another tag adds after `outside`, and after another tag. Where no run of other tags through a token can
# gain, every best path has `outside` at the token.


# More than the rounding of sums: absolute, and as a share of the largest sum.
MARGIN: Final = 1e-6
SHARE: Final = 1e-11


def uncertain(scores: Floats, starts: NDArray[np.intp], steps: Floats, outside: int) -> NDArray[np.bool_]:
    """Whether the tag of each token must be searched for. `scores` [tokens, tags] of all sequences; `starts`: the first
    token of each; `steps` [from, to]."""
    others = np.arange(len(steps)) != outside
    if not others.any():
        return np.zeros(len(scores), dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):
        stay = steps[outside, outside]
        own = scores[:, outside].astype(np.float64)
        after_outside = _most(scores, np.where(others, steps[outside], -np.inf)) - own - stay
        within = _most(scores, np.where(others, steps[others].max(axis=0), -np.inf)) - own - stay
        after_outside[starts] = _most(scores[starts], np.where(others, 0.0, -np.inf)) - own[starts]
        leave = np.full(len(scores), steps[others, outside].max() - stay)
        leave[np.append(starts[1:], len(scores)) - 1] = 0.0
        sums = np.cumsum(within)
        # A run may go from one sequence into the next here, which only raises the limit.
        begin = np.maximum.accumulate(after_outside - sums)
        end = np.maximum.accumulate((leave + sums)[::-1])[::-1]
        most = begin + end
        certain: NDArray[np.bool_] = most < -(MARGIN + SHARE * np.abs(sums).max())
    return ~certain


def _most(scores: Floats, added: Floats) -> Floats:
    """The highest score of each token's tags after `added` [tags]."""
    found: Floats = (scores + added).max(axis=1)
    return found


# Probabilities of tags: forward-backward, scaled at each token, as in crfsuite (crf1d_context.c).
#
# The tokens around suggestions suffice for the probabilities of their tags, because what is further away changes them
# less and less. How much it could change them is computed for each suggestion (see `_reached`), and where the limit
# exceeds TOLERANCE, the whole sequence is computed.


# Tokens before and behind suggestions that are computed as well.
APPROACH: Final = 16
# By what share the factors of a probability may differ from those of the whole sequence.
TOLERANCE: Final = 1e-9


def of_tags(scores: Floats, sequences: Stretches, tags: Indexes, steps: Floats, outside: int | None) -> Floats:
    """The probability of each token's tag in `tags`; 1 for the tag `outside`."""
    odds = np.ones(len(tags))
    wanted = tags != outside if outside is not None else np.ones(len(tags), dtype=bool)
    if not wanted.any():
        return odds
    parts, before, behind = _parts(scores, sequences, wanted, steps, outside)
    stack = stacked(scores, parts)
    forward, backward, scale = _factors(stack, steps, before, behind)
    chosen = np.arange(len(stack.tokens)), tags[stack.tokens]
    with np.errstate(all="ignore"):
        found = forward[chosen] * backward[chosen] / scale[:, 0]
    here = wanted[stack.tokens]
    odds[stack.tokens[here]] = found[here]
    return odds


def of_all(scores: Floats, sequences: Stretches, steps: Floats) -> Floats:
    """The probabilities of all tags [tokens, tags]."""
    stack = stacked(scores, sequences)
    found, backward, scale = _factors(stack, steps)
    with np.errstate(all="ignore"):
        found *= backward
        found /= scale
    every = backward
    every[stack.tokens] = found
    return every


def _parts(
    scores: Floats, sequences: Stretches, wanted: NDArray[np.bool_], steps: Floats, outside: int | None
) -> tuple[Stretches, Floats, Floats]:
    """Stretches that contain the tokens that are `wanted`, and the factors [stretches, tags] of what comes before and
    behind them."""
    none = np.ones((len(sequences.first), len(steps)))
    if outside is None:
        return sequences, none, none
    at = np.flatnonzero(wanted)
    whole = sequences.around(at)
    new = (np.diff(at) > APPROACH) | (np.diff(whole.first) > 0)
    begins, ends = np.append(True, new), np.append(new, True)
    first, past = at[begins], at[ends] + 1
    low, high = whole.first[begins], whole.past[begins]
    first, past = np.where(first - low < APPROACH, low, first), np.where(high - past < APPROACH, high, past)
    away = np.arange(APPROACH, 0, -1)
    before, sure = _reached(scores, first[:, None] - away, first > low, steps, outside)
    behind, sure_behind = _reached(scores, past[:, None] - 1 + away, past < high, steps.T, outside)
    sure &= sure_behind
    again = np.unique(low[~sure])
    rest = sequences.around(again)
    none = np.ones((len(again), len(steps)))
    return (
        Stretches(np.concatenate([first[sure], rest.first]), np.concatenate([past[sure], rest.past])),
        np.concatenate([before[sure], none]),
        np.concatenate([behind[sure], none]),
    )


def _reached(
    scores: Floats, tokens: Indexes, needed: NDArray[np.bool_], steps: Floats, outside: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """The factors [stretches, tags] with which stretches begin after these `tokens` [stretches, APPROACH], up to a
    number that all tags share; and whether TOLERANCE holds. Where nothing is `needed`, the factors are 1.

    Whatever comes before the first of these tokens, the ratio of each tag's factor there to that of `outside` is at
    least `low` and at most `high`: the ratio of two sums is between the lowest and the highest ratio of their summands.
    Limits of the next ratios follow from these, since the next factors are sums with weights that are not negative. The
    limits approach each other quickly where `outside` is likely.
    """
    found, sure = np.ones((len(tokens), len(steps))), ~needed
    if not needed.any():
        return found, sure
    with np.errstate(all="ignore"):
        near = scores[tokens[needed]].astype(np.float64, copy=False)
        near = np.exp(near - near[:, :, [outside]])
        ways = np.exp(steps, dtype=np.float64)
        ratios = steps - steps[:, [outside]]
        limits = np.exp([np.minimum(ratios.min(axis=0), 0), np.maximum(ratios.max(axis=0), 0)], dtype=np.float64)
        both = limits[:, None] * near[:, 0]
        for at in range(1, APPROACH):
            both = both @ ways
            both *= near[:, at]
            # Divided by the other limit's factor of `outside`, so that they remain limits of the ratios.
            both /= both[::-1, :, [outside]]
            both[:, :, outside] = 1
        low, high = both @ ways
        sure[needed] = (np.isfinite(high) & (high <= low * (1 + TOLERANCE))).all(axis=1)
        found[needed] = low / low.sum(axis=1, keepdims=True)
    return found, sure


def _factors(
    stack: Stack, steps: Floats, before: Floats | None = None, behind: Floats | None = None
) -> tuple[Floats, Floats, Floats]:
    """The factors of the probabilities [rows, tags], [rows, tags] and [rows, 1].

    `before`, `behind`: what the stretches begin and end with [stretches, tags]. The scores of the stack are
    overwritten, which saves memory.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        states, ways = stack.scores.astype(np.float64, copy=False), np.exp(steps, dtype=np.float64)
        np.exp(states, out=states)
        forward, scale = states.copy(), np.ones((len(states), 1))
        if before is not None:
            forward[: len(stack.order)] *= before[stack.order]
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
        if behind is not None:
            ending = behind[stack.order]
            # The factors of the last tokens, multiplied with these, must add up to 1.
            ending /= np.einsum("st,st->s", ending, forward[stack.last])[:, None]
            backward[stack.last] *= ending
        for at in range(len(stack.going) - 1, 0, -1):
            rows = stack.here(at)
            backward[stack.before(at)] *= (backward[rows] * states[rows]) @ back
    return forward, backward, scale


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


def likeliest(emissions: Iterable[Floats]) -> list[Path]:
    """The paths without scores of steps: the likeliest tag of each token, with the probabilities of all (softmax)."""
    found = []
    for scores in emissions:
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        found.append(Path(shares.argmax(axis=1).tolist(), shares.max(axis=1).tolist(), shares))
    return found


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
    every = of_all(scores, sequences, steps) if marginals else None
    if every is None:
        odds = of_tags(scores, sequences, tags, steps, outside)
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
