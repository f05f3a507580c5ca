"""Exact one-sided bounds of the share of released notes with a leak.

The sample is random, the release is given. `alpha` is the probability with which a bound may fail.

Let D of a release's N notes have a leak, let every note have at least the chance f to be read, and let auditors find a
leak with at least the chance r, independently for each note. The bound is the largest D for which at most x found notes
have a probability above alpha (Clopper and Pearson 1934: inverting the test).

* Simple random sample of n notes: the number of found notes is a thinned hypergeometric number; its distribution is
  exact.
* Strata, and patients as clusters (`audits.sampling`): inclusions are negatively dependent in the
  strong sense of Brändén and Jonasson 2012 (strongly Rayleigh), so the number of found notes is distributed as a sum of
  independent trials with different chances, of which there are at most n, and at most D. Its mean is at least D·f·r.
  Hoeffding 1956, theorem 4: up to one below the mean, the lower tail of such a sum is at most that of the binomial
  distribution with the same number of trials and the same mean. For n trials and f = n / N, inverting it gives the
  bound of Clopper and Pearson, divided by r.
"""

from dataclasses import dataclass
from math import exp, log, log1p

from annotations.scores.rules.binomial import binomial_tail, log_choose

_TINY, _SMALL = 1e-18, 1e-9


def hypergeometric_tail(most: int, notes: int, leaky: int, read: int, recall: float = 1.0) -> float:
    """The probability that at most `most` leaky notes are found.

    `read` of `notes` notes are drawn without replacement, `leaky` of all are leaky, and each leaky note that was drawn
    is found with the probability `recall`, independently.
    """
    if most < 0:
        return 0.0
    least, largest = max(0, leaky + read - notes), min(leaky, read)
    if most >= largest or recall <= 0:
        return 1.0
    total = 0.0
    if recall >= 1:
        if most < least:
            return 0.0
        term = exp(_log_hypergeometric(most, notes, leaky, read))
        for drawn in range(most, least - 1, -1):
            total += term
            if term < total * _TINY:
                break
            term *= drawn * (notes - leaky - read + drawn) / ((leaky - drawn + 1) * (read - drawn + 1))
        return min(1.0, total)
    # The probabilities that at most, and that exactly, `most` of the leaky notes that were drawn are found.
    missed, exactly = binomial_tail(most, least, recall), _binomial(most, least, recall)
    chance = _log_hypergeometric(least, notes, leaky, read)
    for drawn in range(least, largest + 1):
        total += exp(chance) * missed
        if missed < total * _SMALL or drawn == largest:  # what follows adds up to less than that
            break
        missed = max(0.0, missed - recall * exactly)
        exactly = (
            _binomial(most, drawn + 1, recall)
            if drawn < most
            else exactly * (1 - recall) * (drawn + 1) / (drawn + 1 - most)
        )
        chance += log((leaky - drawn) * (read - drawn) / ((drawn + 1) * (notes - leaky - read + drawn + 1)))
    return min(1.0, total)


@dataclass(frozen=True, slots=True)
class Sample:
    """What was read of `notes` released notes (of all, or of one stratum).

    `read`: notes of the sample that were read. `chance`: the least chance of a note to be among them. `simple`: a
    simple random sample of notes, so that the hypergeometric distribution is exact.
    """

    notes: int
    read: int
    chance: float
    simple: bool


def leaky_notes(sample: Sample, found: int, recall: float, alpha: float) -> int:
    """The upper bound of the number of notes with a leak, given `found` notes of the sample in which one was found.

    `recall` is the least chance with which auditors find the leak of a note.
    """
    if found >= sample.notes or recall <= 0 or sample.read <= 0:
        return sample.notes
    low, high = found, sample.notes  # `low` can't be excluded
    if not _excluded(sample, high, found, recall, alpha):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if _excluded(sample, middle, found, recall, alpha):
            high = middle
        else:
            low = middle
    return low


def leak_share(sample: Sample, found: int, recall: float, alpha: float) -> float:
    """The upper bound of the share of notes with a leak (`leaky_notes` of all notes); 1 for a release without notes."""
    return leaky_notes(sample, found, recall, alpha) / sample.notes if sample.notes else 1.0


def _excluded(sample: Sample, leaky: int, found: int, recall: float, alpha: float) -> bool:
    """Whether at most `found` found notes are too improbable if `leaky` notes have a leak."""
    if leaky <= found:
        return False
    if sample.simple:
        return hypergeometric_tail(found, sample.notes, leaky, sample.read, recall) <= alpha
    mean = leaky * sample.chance * recall
    if found > mean - 1:
        return False
    return any(
        binomial_tail(found, trials, mean / trials) <= alpha for trials in (sample.read, leaky) if trials >= mean
    )


def _binomial(successes: int, trials: int, chance: float) -> float:
    """The probability of exactly so many successes; `chance` is neither 0 nor 1."""
    if successes > trials:
        return 0.0
    return exp(log_choose(trials, successes) + successes * log(chance) + (trials - successes) * log1p(-chance))


def _log_hypergeometric(drawn: int, notes: int, leaky: int, read: int) -> float:
    return log_choose(leaky, drawn) + log_choose(notes - leaky, read - drawn) - log_choose(notes, read)
