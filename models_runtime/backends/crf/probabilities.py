"""Probabilities of tags: forward-backward, scaled at each token, as in crfsuite (crf1d_context.c).

The tokens around suggestions suffice for the probabilities of their tags, because what is further away changes them
less and less. How much it could change them is computed for each suggestion (see `_reached`), and where the limit
exceeds TOLERANCE, the whole sequence is computed.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from models_runtime.backends.crf.stack import Indexes, Stack, Stretches, stacked
from models_runtime.backends.crf.weights import Floats

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
