"""The plan of an audit: how many notes to read, and when reading may stop.

A plan has one look for each number of leaks that may be found: at look j the bound meets the target if at most j notes
with a leak were found. The error probability alpha = 1 - confidence is spent over the looks before the audit starts
(Lan and DeMets 1983, with fixed shares), so that all bounds hold together with the confidence (Boole's inequality), and
reading may stop at the first look that meets the target. With planted leaks, a fifth of each look's share is spent on
the lower bound of the auditors' recall, and the rest on the sample: both hold together with the confidence.

Reading also stops when the target can't be met any more: when more notes with a leak were found than the last look
allows. Its bound then follows from the notes read before that leak, with one leak less (inverse sampling, Haldane
1945), which uses the share of the last look and nothing else.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from math import ceil, exp, floor, log, log1p
from typing import Protocol

from annotations.release.rules.audits.sampling import allocation
from annotations.scores.rules.intervals import binomial_tail, clopper_pearson_lower, log_choose

# Exact one-sided bounds of the share of released notes with a leak.
#
# The sample is random, the release is given. `alpha` is the probability with which a bound may fail.
#
# Let D of a release's N notes have a leak, let every note have at least the chance f to be read, and let auditors find
# a leak with at least the chance r, independently for each note. The bound is the largest D for which at most x found
# notes have a probability above alpha (Clopper and Pearson 1934: inverting the test).
#
# * Simple random sample of n notes: the number of found notes is a thinned hypergeometric number; its distribution is
#   exact.
# * Strata, and patients as clusters (`audits.sampling`): inclusions are negatively dependent in the
#   strong sense of Brändén and Jonasson 2012 (strongly Rayleigh), so the number of found notes is distributed as a sum
#   of
#   independent trials with different chances, of which there are at most n, and at most D. Its mean is at least D·f·r.
#   Hoeffding 1956, theorem 4: up to one below the mean, the lower tail of such a sum is at most that of the binomial
#   distribution with the same number of trials and the same mean. For n trials and f = n / N, inverting it gives the
#   bound of Clopper and Pearson, divided by r.


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

    def excluded(leaky: int) -> bool:
        return _excluded(sample, leaky, found, recall, alpha)

    if not excluded(sample.notes):
        return sample.notes
    return bisect_left(range(sample.notes), True, found + 1, key=excluded) - 1  # `found` can't be excluded


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


# Shares of alpha by the number of looks. Most goes to the first look, because most audits should find no leak.
SHARES: dict[int, tuple[float, ...]] = {1: (1.0,), 2: (0.85, 0.15), 3: (0.8, 0.13, 0.07)}
MOST_LEAKS = max(SHARES) - 1
# The part of each share that is spent on the recall of auditors.
FOR_RECALL = 0.2
# A plan is large enough for auditors who find nine of ten planted leaks.
EXPECTED_RECALL = 0.9
_FIRST_TRY = 32


@dataclass(frozen=True, slots=True)
class AuditCounts:
    """What reading has shown: notes read by stratum, notes with a leak by stratum, and the planted leaks in them."""

    read: Mapping[str, int]
    leaks: Mapping[str, int]
    planted: int = 0
    planted_found: int = 0


@dataclass(frozen=True, slots=True)
class Bounds:
    """Upper bounds of the share of notes with a leak, and the lower bound of the auditors' recall they are based on.

    Each bound of a stratum holds by itself with the confidence; `overall` does, too. `recall` is None without planted
    leaks.
    """

    overall: float
    strata: Mapping[str, float]
    recall: float | None


@dataclass(frozen=True)
class Design:
    """What was chosen for an audit, with the released notes by stratum and whether each stratum's sample is simple.

    `confidence`, `target` and `planted` are shares from 0 to 1; `leaks` is the number of notes with a leak after which
    reading still goes on, from 0 to MOST_LEAKS.
    """

    strata: Mapping[str, int]
    simple: Mapping[str, bool]
    confidence: float
    target: float
    planted: float
    leaks: int = 0

    @property
    def notes(self) -> int:
        return sum(self.strata.values())

    def alphas(self, look: int) -> tuple[float, float]:
        """The error probabilities of a look: for the sample and for the recall."""
        alpha = (1 - self.confidence) * SHARES[self.leaks + 1][look]
        return (alpha * (1 - FOR_RECALL), alpha * FOR_RECALL) if self.planted else (alpha, 0.0)

    def recall(self, look: int, planted: int, found: int) -> float | None:
        """The lower bound of the auditors' recall; None if no leaks were to be planted."""
        return clopper_pearson_lower(found, planted, self.alphas(look)[1]) if self.planted else None

    @cached_property
    def looks(self) -> list[dict[str, int]]:
        """The numbers of notes by stratum until the end of each look.

        Each is the smallest at which the target is met with as many leaks as the look allows; all notes, where even
        that is not enough.
        """
        bases: list[int] = []
        for look in range(self.leaks + 1):
            bases.append(self._base(look, bases[-1] if bases else 1))
        return [allocation(base, self.strata) for base in bases]

    def planted_in(self, notes: int) -> int:
        """How many of so many notes get a planted leak: at least one, unless none was chosen."""
        return max(1, round(notes * self.planted)) if notes and self.planted else 0

    def _base(self, look: int, least: int) -> int:
        low, high = least - 1, max(least, _FIRST_TRY)
        while high < self.notes and not self._meets(look, allocation(high, self.strata)):
            low, high = high, 2 * high
        high = min(high, self.notes)
        while high - low > 1:
            middle = (low + high) // 2
            enough = self._meets(look, allocation(middle, self.strata))
            low, high = (low, middle) if enough else (middle, high)
        return high

    @cached_property
    def reachable(self) -> bool:
        """Whether the target is met after the last look if the auditors find as few leaks as it allows."""
        return self._meets(self.leaks, self.looks[-1])

    def _meets(self, look: int, drawn: Mapping[str, int]) -> bool:
        planted = self.planted_in(sum(drawn.values()))
        recall = self.recall(look, planted, round(planted * EXPECTED_RECALL))
        return self._overall(drawn, look, recall, self.alphas(look)[0]) <= self.target

    def bounds(self, found: AuditCounts, look: int) -> Bounds:
        """The bounds at a look."""
        alpha = self.alphas(look)[0]
        recall = self.recall(look, found.planted, found.planted_found)
        strata = {
            name: leak_share(
                self._sample(name, found.read.get(name, 0)), found.leaks.get(name, 0), _chance(recall), alpha
            )
            for name in self.strata
        }
        return Bounds(self._overall(found.read, sum(found.leaks.values()), recall, alpha), strata, recall)

    def labels(self, found: AuditCounts, look: int, notes: Mapping[str, int]) -> dict[str, float]:
        """The bound of the share of notes with a leak of each label, given the notes with one that were found."""
        alpha = self.alphas(look)[0]
        recall = self.recall(look, found.planted, found.planted_found)
        return {label: self._overall(found.read, number, recall, alpha) for label, number in notes.items()}

    def _overall(self, read: Mapping[str, int], found: int, recall: float | None, alpha: float) -> float:
        if len(self.strata) == 1:
            [name] = self.strata
            return leak_share(self._sample(name, read.get(name, 0)), found, _chance(recall), alpha)
        chance = min((read.get(name, 0) / size for name, size in self.strata.items() if size), default=0.0)
        sample = Sample(self.notes, sum(read.values()), chance, simple=False)
        return leak_share(sample, found, _chance(recall), alpha)

    def _sample(self, stratum: str, read: int) -> Sample:
        size = self.strata[stratum]
        return Sample(size, read, read / size if size else 0.0, self.simple[stratum])


class AuditState(StrEnum):
    """Whether reading goes on: the target is met, or can't be met any more."""

    OPEN = "open"
    MET = "met"
    UNMET = "unmet"


class ReadNotes(Protocol):
    """What was read, in the order of the sample: notes are at positions from 1."""

    @property
    def read(self) -> int:
        """The last position before the first unread note. Only notes up to there count."""

    def found(self, read: int) -> AuditCounts:
        """What the notes up to the position `read` have shown."""

    def leak_at(self, number: int) -> int | None:
        """The position of the `number`-th note with a leak; None if there are not so many."""


@dataclass(frozen=True, slots=True)
class AuditVerdict:
    """The state of an audit: the bounds hold for the first `read` notes of the sample, at the look `look`.

    `bounds` is None before the first look. `leaks` is the number of notes with a leak on which the bound is based.
    `by_leak`: the bound follows from the leak that ended the audit, and not from a planned look.
    """

    state: AuditState
    look: int | None = None
    read: int = 0
    leaks: int = 0
    bounds: Bounds | None = None
    by_leak: bool = False


def judge(design: Design, looks: Sequence[Mapping[str, int]], reading: ReadNotes) -> AuditVerdict:
    """The state of an audit with these looks. Of several bounds, which hold together, the smallest is the result."""
    ends = [sum(look.values()) for look in looks]
    last = len(ends) - 1
    stop = reading.leak_at(design.leaks + 1)
    verdict = AuditVerdict(AuditState.OPEN)

    def better(new: AuditVerdict) -> AuditVerdict:
        old = verdict.bounds
        if old is None or (new.bounds is not None and new.bounds.overall < old.overall):
            return new
        return replace(verdict, state=new.state)

    for look, end in enumerate(ends):
        if end > reading.read or (stop is not None and (end > stop or (look == last and end == stop))):
            break
        found = reading.found(end)
        bounds = design.bounds(found, look)
        state = (
            AuditState.MET if bounds.overall <= design.target else AuditState.UNMET if look == last else AuditState.OPEN
        )
        verdict = better(AuditVerdict(state, look, end, sum(found.leaks.values()), bounds))
        if state != AuditState.OPEN:
            return verdict
    if stop is not None and stop <= reading.read:
        bounds = design.bounds(reading.found(stop - 1), last)
        strata = verdict.bounds.strata if verdict.bounds else dict.fromkeys(design.strata, 1.0)
        return better(
            AuditVerdict(AuditState.UNMET, last, stop - 1, design.leaks, replace(bounds, strata=strata), by_leak=True)
        )
    return verdict


def reached(looks: Sequence[Mapping[str, int]], read: int) -> int:
    """The position at which the last look ended that the notes up to the position `read` allow; 0 before the first."""
    return max((end for end in (sum(look.values()) for look in looks) if end <= read), default=0)


def _chance(recall: float | None) -> float:
    return 1.0 if recall is None else recall


# Percentages: upper bounds are rounded up, lower bounds down, so that a rounded bound still holds.


def at_most(share: float) -> str:
    """Format an upper bound: 1.0%."""
    return f"{min(100.0, ceil(share * 1000 - 1e-9) / 10):.1f}%"


def at_least(share: float) -> str:
    """Format a lower bound: 86%."""
    return f"{floor(share * 100 + 1e-9)}%"


def whole(share: float) -> str:
    """Format a chosen share: 1%, 0.5%."""
    return f"{100 * share:.4g}%"
