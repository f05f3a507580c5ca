"""Rules of review: the precision of suggestions, conflicts between them, and two reviews of one note."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NotRequired, TypedDict

from annotations.text.spans import LabeledBounds

# Precision of suggestions, from the review decisions so far.


# With fewer decisions than this, pages say that the figure is uncertain.
FEW = 20
# The 97.5% quantile of the normal distribution gives a two-sided 95% interval.
_Z = 1.959963984540054
# The weight of a suggestion's own confidence, in decisions on similar suggestions.
_PRIOR = 4.0


@dataclass(frozen=True, slots=True)
class Rate:
    """`right` of `decided` suggestions were accepted exactly as suggested."""

    right: int
    decided: int

    @property
    def share(self) -> float | None:
        return self.right / self.decided if self.decided else None

    @property
    def few(self) -> bool:
        return self.decided < FEW

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% score interval (Wilson 1927), which is valid for few decisions and for shares near 0 and 1, too."""
        if not self.decided:
            return None
        return _wilson(self.right / self.decided, self.decided, _Z)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share over notes with its 95% interval: `right` of `counted` spans. None if nothing was counted."""

    share: float | None
    low: float
    high: float
    notes: int
    counted: int
    right: int = 0

    @property
    def few(self) -> bool:
        return self.notes < FEW


def by_notes(counts: Sequence[tuple[int, int]]) -> Estimate:
    """The ratio estimate (Cochran 1977, section 2.11) over a sample of notes, each given as (right, all).

    The notes are the sampling units, because spans in one note resemble each other. The interval is the score interval
    (Wilson 1927) for the effective number of spans n / d, with Student's t for notes - 1 degrees of freedom in place of
    the normal quantile (Dean and Pagano 2015). The design effect d is the variance of the ratio estimate
    over the variance of as many independent spans, at least 1 (Kish 1965). Unless two notes or more have a right span,
    and two or more a wrong one, d can't be estimated. It is then so large that each note counts as one span. A single
    note says nothing about the variation between notes, so its interval is from 0 to 1.
    """
    right, counted, notes = sum(r for r, _ in counts), sum(n for _, n in counts), len(counts)
    if not counted:
        return Estimate(None, 0.0, 1.0, notes, 0)
    share, filled = right / counted, sum(n > 0 for _, n in counts)
    if filled < 2:
        return Estimate(share, 0.0, 1.0, notes, counted, right)
    effective = float(filled)
    if min(sum(r > 0 for r, _ in counts), sum(r < n for r, n in counts)) >= 2:
        spread = sum((r - share * n) ** 2 for r, n in counts) * filled / (filled - 1)
        effective = counted / max(1.0, spread / (share * (1 - share) * counted))
    return Estimate(share, *_wilson(share, effective, _t(filled - 1)), notes, counted, right)


def _wilson(share: float, n: float, z: float) -> tuple[float, float]:
    """The score interval of a share of `n` independent trials; `z` is the quantile."""
    middle = share + z**2 / (2 * n)
    reach = z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    scale = 1 + z**2 / n
    return max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)


# The 97.5% quantiles of Student's t for 1, 2, … degrees of freedom; `_t` computes the others.
_T = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281)


def _t(freedom: int) -> float:
    """The 97.5% quantile of Student's t: by Fisher's expansion (Abramowitz and Stegun 1964, 26.7.5) above the table."""
    if freedom <= len(_T):
        return _T[freedom - 1]
    z = _Z
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


def likely_right(rate: Rate, confidence: float | None) -> float:
    """The expected share of right suggestions, with a suggestion's confidence (0.5 if it has none) as the prior."""
    prior = 0.5 if confidence is None else confidence
    return (rate.right + _PRIOR * prior) / (rate.decided + _PRIOR)


BANDS = ((0.0, 0.5), (0.5, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 0.95), (0.95, 1.0))
"""Bands of confidence: from (inclusive) to (exclusive); the last band includes 1."""


# Suggestions that a bulk act can't accept, because they overlap gold spans or each other.


class Candidate(NamedTuple):
    """A suggestion that a bulk act would accept. `runs`: in a merged list, the runs that suggested it."""

    pk: int
    bounds: LabeledBounds
    annotation_set: int = 0
    runs: frozenset[str] = frozenset()


def conflicting(candidates: Iterable[Candidate], gold: Iterable[LabeledBounds], *, has_finished_gold: bool) -> set[int]:
    """The ids of the suggestions of one note that conflict and so are left to a reviewer.

    A suggestion conflicts with an overlapping span that has the same label and other bounds, in gold or suggested. If a
    reviewer has finished the note (`has_finished_gold`), a suggestion conflicts with every gold span that it overlaps,
    whatever the label. Spans that conflict in one merged list don't count here: accepting one of them rejects the
    others.
    """
    spans: list[tuple[LabeledBounds, Candidate | None]] = [(bounds, None) for bounds in gold]
    spans += [(candidate.bounds, candidate) for candidate in candidates]
    spans.sort(key=lambda span: span[0])
    found: set[int] = set()
    active: list[tuple[LabeledBounds, Candidate | None]] = []
    for bounds, candidate in spans:
        active = [one for one in active if one[0][1] > bounds[0]]
        for other, before in active:
            if bounds != other and (bounds[2] == other[2] or (has_finished_gold and None in (candidate, before))):
                found |= _left_open(candidate, before)
        active.append((bounds, candidate))
    return found


def _left_open(one: Candidate | None, other: Candidate | None) -> set[int]:
    if one and other and _in_merged_list(one, other):
        return set()
    return {candidate.pk for candidate in (one, other) if candidate}


def _in_merged_list(one: Candidate, other: Candidate) -> bool:
    """Whether two overlapping suggestions conflict in one merged list, by the rule of `text.combining`."""
    return bool(one.runs and other.runs) and one.annotation_set == other.annotation_set and not one.runs & other.runs


# Comparison of two people's reviews of one note: their decisions on suggestions, and the spans that they added.


class ReviewOutcome(TypedDict):
    """One review, as it is stored: for each suggestion its span in gold (None: rejected), and all other gold spans.

    `removals`: for each proposed removal, by number, the span that stays in gold (None: accepted). Missing in outcomes
    from before refiners proposed removals.
    """

    suggestions: Mapping[str, Sequence[int] | None]
    removals: NotRequired[Mapping[str, Sequence[int] | None]]
    others: Collection[Sequence[int]]


Decided = Mapping[int, LabeledBounds | None]


def outcome_of(suggestions: Decided, gold: Iterable[LabeledBounds], removals: Decided | None = None) -> ReviewOutcome:
    """Make an outcome from the decided suggestions and proposed removals, and all gold spans."""
    made = [suggestions, removals or {}]
    named = {bounds for decided in made for bounds in decided.values() if bounds}
    decided, removed = ({str(pk): bounds and list(bounds) for pk, bounds in each.items()} for each in made)
    return {"suggestions": decided, "removals": removed, "others": sorted(map(list, set(gold) - named))}


class ReviewerAgreement(NamedTuple):
    """How many suggestions, removals and other spans either reviewer decided on, and on how many both agree."""

    units: int
    equal: int

    @property
    def differ(self) -> int:
        return self.units - self.equal


def compare(first: ReviewOutcome, second: ReviewOutcome, before: Iterable[Sequence[int]]) -> ReviewerAgreement:
    """Compare two reviews. Gold spans from `before` that both left unchanged are not decisions and don't count."""
    there = set(map(tuple, before))
    units = equal = 0
    parts = [(each["suggestions"], each.get("removals", {})) for each in (first, second)]
    for here, beside in zip(*parts, strict=True):
        for number in here.keys() | beside.keys():
            one, two = here.get(number), beside.get(number)
            if one != two or one is None or tuple(one) not in there:
                units, equal = units + 1, equal + (one == two)
    ours, theirs = (set(map(tuple, each["others"])) for each in (first, second))
    for span in ours | theirs:
        both = span in ours and span in theirs
        if not (both and span in there):
            units, equal = units + 1, equal + both
    return ReviewerAgreement(units, equal)
