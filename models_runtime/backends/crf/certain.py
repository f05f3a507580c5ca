"""Tokens whose tag on the best path is known beforehand: `outside`, because every other tag would lower the score.

If a path has other tags from token s to token e, then writing `outside` there changes its score by what these tags and
the steps between them have more than `outside`. An upper limit of this gain needs only two numbers per token: the most
that another tag adds after `outside`, and after another tag. Where no run of other tags through a token can gain, every
best path has `outside` at the token.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from models_runtime.backends.crf.weights import Floats

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
