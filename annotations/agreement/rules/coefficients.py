"""Coefficients of agreement, computed from how often each pattern of values occurs.

The contribution of each pattern is computed once (`Facts`), added up (`Sums`) and turned into coefficients at the end,
for a project, a round or a note. An undefined coefficient is None, with a reason.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations
from math import comb
from typing import Any, Final

from annotations.agreement.rules.units import Pattern
from annotations.text.bio import OUTSIDE

NO_UNITS = "No note has been submitted by two annotators."
NOTHING_MARKED = "Nobody marked anything."
NOT_IN_COMMON = "The two annotators have no note in common."
NEITHER_MARKED = "Neither annotator marked anything in their common notes."


@dataclass(frozen=True, slots=True)
class Value:
    """A coefficient. If it is undefined, `value` is None and `why` is a sentence that gives the reason."""

    value: float | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """The contribution of one unit with a given pattern.

    `agreeing` is the share of annotator pairs that agree. `differing` is the weight off the diagonal of the coincidence
    matrix: each ordered pair of different values in a unit of m values counts 1/(m-1).
    """

    size: int
    values: tuple[tuple[str, int], ...]
    agreeing: float
    differing: float
    full: bool
    majority: bool
    marked: bool


def facts_of(pattern: Pattern) -> Facts | None:
    """The contribution of a unit; None if the unit has fewer than two values and so doesn't count."""
    values = Counter(value for value in pattern if value is not None)
    size = values.total()
    if size < 2:
        return None
    same = sum(n * (n - 1) for n in values.values())
    most = max(values.values())
    return Facts(
        size=size,
        values=tuple(values.items()),
        agreeing=same / (size * (size - 1)),
        differing=(size * (size - 1) - same) / (size - 1),
        full=len(values) == 1,
        majority=2 * most > size,
        marked=len(values) > 1 or OUTSIDE not in values,
    )


@dataclass(slots=True)
class Sums:
    """Sums over all units, and over the unmarked ones (on which all annotators agree).

    `empty`: the reason why figures over no units are undefined.
    """

    units: int = 0
    agreeing: float = 0.0
    differing: float = 0.0
    full: int = 0
    majority: int = 0
    unmarked: int = 0
    unmarked_values: int = 0
    totals: dict[str, int] = field(default_factory=dict)
    empty: str = NO_UNITS

    def add(self, facts: Facts, times: int) -> None:
        self.units += times
        if not facts.marked:
            self.unmarked += times
            self.unmarked_values += times * facts.size
        self.agreeing += times * facts.agreeing
        self.differing += times * facts.differing
        self.full += times * facts.full
        self.majority += times * facts.majority
        totals = self.totals
        for value, n in facts.values:
            totals[value] = totals.get(value, 0) + n * times

    def without_unmarked(self) -> "Sums":
        """The sums without the unmarked units."""
        outside = self.totals.get(OUTSIDE, 0) - self.unmarked_values
        totals = {value: n for value, n in self.totals.items() if value != OUTSIDE}
        return Sums(
            units=self.units - self.unmarked,
            agreeing=self.agreeing - self.unmarked,
            differing=self.differing,
            full=self.full - self.unmarked,
            majority=self.majority - self.unmarked,
            totals=totals | ({OUTSIDE: outside} if outside else {}),
            empty=NOTHING_MARKED,
        )

    def share(self, amount: float) -> Value:
        """An amount as a share of the units."""
        return Value(amount / self.units) if self.units else Value(None, self.empty)

    def observed(self) -> Value:
        """Observed agreement: the share of annotator pairs that agree, as the mean over units."""
        return self.share(self.agreeing)

    def alpha(self) -> Value:
        """Krippendorff's alpha for nominal data, 1 - Do/De by the coincidence matrix (Krippendorff 2011, section C).

        Tests compare it with the `krippendorff` package. Counting patterns needs no matrix of units by values.
        """
        if not self.units:
            return Value(None, self.empty)
        n = sum(self.totals.values())
        expected = n * n - sum(count * count for count in self.totals.values())
        if not expected:
            return Value(None, only_one_value(self.totals))
        return Value(1 - (n - 1) * self.differing / expected)


def only_one_value(values: Iterable[str]) -> str:
    """The reason why a coefficient is undefined if there is a single value."""
    return f"All values are the same ({next(iter(values))}), so no disagreement is expected by chance."


def sums_of(counted: Mapping[Pattern, int]) -> Sums:
    sums = Sums()
    for pattern, times in counted.items():
        facts = facts_of(pattern)
        if facts is not None:
            sums.add(facts, times)
    return sums


def fleiss(counted: Mapping[Pattern, int], empty: str = NO_UNITS) -> tuple[Value, int]:
    """Fleiss' kappa over the units that have a value from every annotator, and the number of these units.

    (P - Pe) / (1 - Pe), where P is the mean over units of the share of pairs that agree, and Pe the sum of the squared
    shares of the values (Fleiss 1971). Undefined without such units, and if all values are the same.
    `empty`: the reason if there are no units at all.
    """
    complete = {pattern: times for pattern, times in counted.items() if len(pattern) > 1 and None not in pattern}
    sums = sums_of(complete)
    if not sums.units:
        return Value(None, "No note has been submitted by all annotators." if counted else empty), 0
    n = sum(sums.totals.values())
    expected = sum((count / n) ** 2 for count in sums.totals.values())
    if len(sums.totals) == 1:
        return Value(None, only_one_value(sums.totals)), sums.units
    return Value((sums.agreeing / sums.units - expected) / (1 - expected)), sums.units


@dataclass(frozen=True, slots=True)
class Cohen:
    """Agreement of two annotators over the units that have a value from both."""

    units: int
    observed: Value
    kappa: Value


def cohen(counted: Mapping[Pattern, int], a: int, b: int, empty: str = NOT_IN_COMMON) -> Cohen:
    """Cohen's kappa of the annotators with the indexes `a` and `b` (Cohen 1960).

    (Po - Pe) / (1 - Pe), with Pe from each annotator's own shares of the values. Undefined without common units, and if
    all values of both are the same. `empty`: the reason without common units.
    """
    units = agreed = 0
    ours: Counter[str] = Counter()
    theirs: Counter[str] = Counter()
    for pattern, times in counted.items():
        one, other = pattern[a], pattern[b]
        if one is None or other is None:
            continue
        units += times
        agreed += times * (one == other)
        ours[one] += times
        theirs[other] += times
    if not units:
        nothing = Value(None, empty)
        return Cohen(0, nothing, nothing)
    expected = sum(times * theirs[value] for value, times in ours.items())
    observed = agreed / units
    if expected == units * units:
        return Cohen(units, Value(observed), Value(None, only_one_value(ours)))
    chance = expected / (units * units)
    return Cohen(units, Value(observed), Value((observed - chance) / (1 - chance)))


@dataclass(slots=True)
class OneValue:
    """Counts for one value against all others.

    `given`: how often the value was given. `units`: units in which anybody gave it. `full`: units in which all did.
    """

    given: int = 0
    units: int = 0
    full: int = 0
    differing: float = 0.0

    def alpha(self, total: int) -> Value:
        """Krippendorff's alpha of this value against all others; `total` is the number of values in all units."""
        rest = total - self.given
        if not self.given:
            return Value(None, "Nobody gave this value.")
        if not rest:
            return Value(None, "Nobody gave another value, so no disagreement is expected by chance.")
        return Value(1 - (total - 1) * self.differing / (2 * self.given * rest))


def one_by_one(counted: Mapping[Pattern, int]) -> dict[str, OneValue]:
    """The counts of each value except `O` against all others."""
    found: dict[str, OneValue] = {}
    for pattern, times in counted.items():
        facts = facts_of(pattern)
        if facts is None:
            continue
        for value, n in facts.values:
            if value == OUTSIDE:
                continue
            one = found.setdefault(value, OneValue())
            one.given += times * n
            one.units += times
            one.full += times * (n == facts.size)
            one.differing += times * apart(n, facts.size)
    return found


def apart(n: int, size: int) -> float:
    """The weight off the diagonal if `n` of `size` annotators gave a value and the others didn't."""
    return 2 * n * (size - n) / (size - 1)


RELIABLE: Final = 0.8
"""From this α on, data are reliable (Krippendorff 2004, page 241)."""
TENTATIVE: Final = 0.667
"""Below this α, data allow no conclusion; below RELIABLE, tentative ones only (Krippendorff 2004, page 241)."""


class Verdict(StrEnum):
    """What an α and its interval say of the data. UNSURE: reliable, but the interval reaches below RELIABLE."""

    GOOD = "good"
    UNSURE = "unsure"
    TENTATIVE = "tentative"
    POOR = "poor"
    UNDEFINED = "undefined"


def verdict(alpha: float | None, low: float | None) -> Verdict:
    """Judge an α by its value and the lower end of its interval; None: there is none."""
    if alpha is None:
        return Verdict.UNDEFINED
    if alpha >= RELIABLE:
        return Verdict.GOOD if low is not None and low >= RELIABLE else Verdict.UNSURE
    return Verdict.TENTATIVE if alpha >= TENTATIVE else Verdict.POOR


def in_words(coefficient: float) -> str:
    """The word for a coefficient after Landis and Koch 1977."""
    for bound, word in ((0.0, "poor"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial")):
        if coefficient < bound or (word != "poor" and coefficient <= bound):
            return word
    return "almost perfect"


# Estimate of the spans that annotators miss, from the overlap of their annotations (capture-recapture).
#
# The numbers of spans that were found by one, two and more annotators allow an estimate of the spans that none found.
# With z_i spans that only annotator i found, and f2 spans that exactly two annotators found,
#
#     spans found by nobody = Σ over pairs i < j of z_i · z_j / (f2 + 1)
#
# For two annotators this is Chapman's estimator (*University of California Publications in Statistics* 1, 1951); for
# more it is the bias-corrected lower bound for annotators of different thoroughness (Chao 1989). It assumes that
# annotators miss spans independently of each other. Spans that are hard for everybody make the estimated recall too
# high.
#
# Notes are grouped by their annotators; found and missed spans are summed over the groups.


COUNTS = (1, 2, 3)
"""The numbers of annotators for which recall is estimated."""


class MatchCriterion(StrEnum):
    """When two annotators found the same identifier: by any overlap, or by equal bounds. Labels don't matter."""

    OVERLAP = "overlap"
    EXACT = "exact"


@dataclass(slots=True)
class AnnotatorGroup:
    """The notes with the same annotators: their indexes, and arrays with a row for each of them.

    `found_by` counts the spans found by 1, 2, … annotators; `alone` counts for each annotator
    the spans that nobody else found; `found` counts all spans of each annotator.
    """

    annotators: tuple[str, ...]
    notes: Any
    found_by: Any
    alone: Any
    found: Any


@dataclass(slots=True)
class CaptureSums:
    """Sums over groups of notes.

    `known`: spans that anybody found. `hidden`: estimated spans that nobody found. `twice`: spans that at least two
    annotators found. `most`: the most annotators of a note. `by[j]`: the spans that j annotators, drawn at random,
    find; `of[j]`: the spans that they could find. `annotator_by`, `annotator_of`: the same for each annotator.
    """

    known: float = 0.0
    hidden: float = 0.0
    twice: float = 0.0
    most: int = 0
    by: dict[int, float] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0.0))
    of: dict[int, float] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0.0))
    annotator_by: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    annotator_of: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(
        self, annotators: Sequence[str], found_by: Sequence[float], alone: Sequence[float], found: Sequence[float]
    ) -> None:
        """Add the totals of a group."""
        known = sum(found_by)
        hidden = sum(a * b for a, b in combinations(alone, 2)) / (found_by[1] + 1)
        self.most = max(self.most, len(annotators))
        self.known += known
        self.hidden += hidden
        self.twice += sum(found_by[1:])
        for j in COUNTS:
            if j <= len(annotators):
                self.by[j] += sum(n * chance(times, len(annotators), j) for times, n in enumerate(found_by, start=1))
                self.of[j] += known + hidden
        for annotator, n in zip(annotators, found, strict=True):
            self.annotator_by[annotator] += n
            self.annotator_of[annotator] += known + hidden

    def recall(self, annotators: int) -> Value:
        """The share of spans that this many annotators find.

        If no note had as many annotators, it is projected from one and two, who are taken as independent.
        """
        if not self.most:
            return Value(None, NO_UNITS)
        if not self.known:
            return Value(None, NOTHING_MARKED)
        if not self.twice:
            return Value(None, "No span was found by two annotators, so the number of missed spans can't be estimated.")
        if not self.projected_for(annotators):
            if not self.of[annotators]:
                return Value(None, "Nobody marked anything in the notes with this many annotators.")
            return Value(self.by[annotators] / self.of[annotators])
        one, two = self.by[1] / self.of[1], self.by[2] / self.of[2]
        return Value(1 - (1 - two) * (1 - one))

    def recall_of(self, annotator: str) -> Value:
        whole = self.recall(1)
        if whole.value is None or not self.annotator_of[annotator]:
            return Value(None, whole.why or "Nobody marked anything in the notes of this annotator.")
        return Value(self.annotator_by[annotator] / self.annotator_of[annotator])

    def projected_for(self, annotators: int) -> bool:
        """Whether the figure is a projection, because no note had this many annotators."""
        return annotators > self.most


def chance(times: int, annotators: int, taken: int) -> float:
    """The probability that a sample of `taken` out of `annotators` includes one of the `times` who found a span."""
    return 1 - comb(annotators - times, taken) / comb(annotators, taken)


def found_in(groups: Mapping[tuple[str, ...], AnnotatorGroup]) -> CaptureSums:
    """The sums over all notes."""
    found = CaptureSums()
    for group in groups.values():
        totals = [rows.sum(axis=0).tolist() for rows in (group.found_by, group.alone, group.found)]
        found.add(group.annotators, *totals)
    return found
