"""The binomial distribution, and exact bounds of a share by it (Clopper and Pearson 1934)."""

from collections.abc import Callable
from math import exp, expm1, lgamma, log, log1p

_TINY = 1e-18
_STEPS = 60
# An interval contains the true share with at least 95% probability, one half of the rest on each side.
_ALPHA = 0.05


def binomial_tail(most: int, trials: int, chance: float) -> float:
    """The probability of at most `most` successes in `trials` independent trials."""
    if most < 0:
        return 0.0
    if most >= trials or chance <= 0:
        return 1.0
    if chance >= 1:
        return 0.0
    if most > trials * chance:  # sum the shorter side
        return 1.0 - binomial_tail(trials - most - 1, trials, 1 - chance)
    term = exp(log_choose(trials, most) + most * log(chance) + (trials - most) * log1p(-chance))
    total, odds = 0.0, (1 - chance) / chance
    for successes in range(most, -1, -1):
        total += term
        if term < total * _TINY:
            break
        term *= odds * successes / (trials - successes + 1)
    return min(1.0, total)


def clopper_pearson_upper(found: int, trials: int, alpha: float) -> float:
    """The upper bound of a share, of which `found` of `trials` independent trials were successes.

    0 of 299 gives 0.00997 and 0 of 59 gives 0.0495 for alpha 0.05.
    """
    if found >= trials:
        return 1.0
    if found == 0:
        return -expm1(log(alpha) / trials)
    return _crossing(lambda share: binomial_tail(found, trials, share) > alpha, found / trials, 1.0)[1]


def clopper_pearson_lower(found: int, trials: int, alpha: float) -> float:
    """The lower bound of a share, of which `found` of `trials` independent trials were successes; 0 without trials."""
    if found <= 0 or trials <= 0:
        return 0.0
    if found == trials:
        return exp(log(alpha) / trials)
    return _crossing(lambda share: 1 - binomial_tail(found - 1, trials, share) <= alpha, 0.0, found / trials)[0]


def exact(hits: int, of: int) -> tuple[float, float] | None:
    """The exact two-sided 95% interval of a share (Clopper and Pearson 1934); None without trials."""
    if not of:
        return None
    return clopper_pearson_lower(hits, of, _ALPHA / 2), clopper_pearson_upper(hits, of, _ALPHA / 2)


def log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def _crossing(holds: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Where `holds`, which is true at `low`, becomes false: bounds that are next to each other."""
    for _step in range(_STEPS):
        middle = (low + high) / 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low, high
