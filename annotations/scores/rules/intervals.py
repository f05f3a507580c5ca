"""Confidence intervals: of a share, by the binomial distribution, and of the F1 of exact spans on few notes."""

from collections.abc import Callable, Sequence
from math import exp, expm1, lgamma, log, log1p, sqrt
from typing import Final, TypedDict

from annotations.agreement.rules.bootstrap import FEW, interval, resample
from annotations.scores.rules.rates import Rates

# On fewer notes than this, the F1 of exact spans is shown with its interval.
FEW_NOTES: Final = 20

_Z95: Final = 1.959963984540054


def wilson(hits: int, of: int) -> tuple[float, float] | None:
    """The 95% score interval of a share (Wilson 1927), for independent trials; None without trials.

    It lies within 0 to 1, and is also valid if there are no hits or only hits.
    """
    if not of:
        return None
    share, z2 = hits / of, _Z95 * _Z95
    middle = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = _Z95 / (1 + z2 / of) * sqrt(share * (1 - share) / of + z2 / (4 * of * of))
    return (0.0 if hits == 0 else max(0.0, middle - half)), (1.0 if hits == of else min(1.0, middle + half))


class FewNotes(TypedDict):
    """The 95% interval of F1 on few notes. Without one, `low` and `high` are None and `no_interval` says why."""

    low: float | None
    high: float | None
    no_interval: str


def few_notes(notes: Sequence[Rates]) -> FewNotes | None:
    """The 95% interval of the micro F1 of exact spans over `notes`; None for FEW_NOTES notes or more.

    `notes` has the counts of exact spans of each note: right, predicted and gold. The interval is the percentile
    bootstrap over notes: each sample draws as many notes as there are, with replacement, and its F1 is 2 · right /
    (predicted + gold) over the drawn notes. Samples and seed are those of agreement (agreement.rules.bootstrap), so
    that the same notes always have the same interval. Notes are drawn rather than spans, because the spans of one
    note are not independent.
    """
    if len(notes) >= FEW_NOTES:
        return None
    if len(notes) < 2:
        return {"low": None, "high": None, "no_interval": FEW.why}
    import numpy as np

    sums = resample(np.array([(2 * note.right, note.predicted + note.gold) for note in notes], dtype=float))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = interval(sums[:, 0] / sums[:, 1])
    return {"low": found.low, "high": found.high, "no_interval": found.why}


def with_interval(f1: float, few: FewNotes | None) -> str:
    """The F1 of exact spans as commands print it on one line, on few notes with its interval."""
    if few is None:
        return f"F1 {f1:.4f}"
    low, high = few["low"], few["high"]
    why = few["no_interval"].rstrip(".") if low is None else f"95% interval {low:.4f} to {high:.4f}"
    return f"F1 {f1:.4f} (few notes: {why})"


# The binomial distribution, and exact bounds of a share by it (Clopper and Pearson 1934).

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
