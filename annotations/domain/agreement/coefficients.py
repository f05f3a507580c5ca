"""Coefficients of agreement, from how often each pattern of values occurs.

What a pattern adds to each of them is worked out once (`Facts`), summed up (`Sums`), and turned into coefficients at
the end, for a whole project, a round or a note alike. A coefficient that is undefined is None and says why.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from annotations.domain.agreement.units import Pattern
from annotations.domain.bio import OUTSIDE

NO_UNITS = "no note has been submitted by two annotators"
NOTHING_MARKED = "nobody marked anything"


@dataclass(frozen=True, slots=True)
class Value:
    """A coefficient; None where it is undefined, and `why` then says why."""

    value: float | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What one unit with a given pattern adds.

    `agreeing` is the share of annotator pairs that agree. `differing` is the weight of the coincidence matrix off its
    diagonal: each ordered pair of different values in a unit of m values counts 1/(m-1).
    """

    size: int
    values: tuple[tuple[str, int], ...]
    agreeing: float
    differing: float
    full: bool
    majority: bool
    marked: bool


def facts_of(pattern: Pattern) -> Facts | None:
    """None for a unit with fewer than two values: it doesn't count."""
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
    """Sums over units: of these, and of those that nobody marked (on which everybody agrees)."""

    units: int = 0
    agreeing: float = 0.0
    differing: float = 0.0
    full: int = 0
    majority: int = 0
    unmarked: int = 0
    unmarked_values: int = 0
    totals: dict[str, int] = field(default_factory=dict)

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
        """The same units without those that nobody marked."""
        outside = self.totals.get(OUTSIDE, 0) - self.unmarked_values
        totals = {value: n for value, n in self.totals.items() if value != OUTSIDE}
        return Sums(
            units=self.units - self.unmarked,
            agreeing=self.agreeing - self.unmarked,
            differing=self.differing,
            full=self.full - self.unmarked,
            majority=self.majority - self.unmarked,
            totals=totals | ({OUTSIDE: outside} if outside else {}),
        )

    def share(self, amount: float) -> Value:
        """An amount as a share of the units."""
        return Value(amount / self.units) if self.units else Value(None, NO_UNITS)

    def observed(self) -> Value:
        """For each unit the share of annotator pairs that agree; the mean over units."""
        return self.share(self.agreeing)

    def alpha(self) -> Value:
        """Krippendorff's alpha, nominal: 1 - Do/De by the coincidence matrix (Content Analysis, 4th ed., 12.3).

        The `krippendorff` package gives the same numbers (tests); counting needs no matrix of units by values.
        """
        if not self.units:
            return Value(None, NO_UNITS)
        n = sum(self.totals.values())
        expected = n * n - sum(count * count for count in self.totals.values())
        if not expected:
            return Value(None, only_one_value(self.totals))
        return Value(1 - (n - 1) * self.differing / expected)


def only_one_value(values: Iterable[str]) -> str:
    return f"only one value was ever given ({next(iter(values))}): there is no disagreement to expect"


def sums_of(counted: Mapping[Pattern, int]) -> Sums:
    sums = Sums()
    for pattern, times in counted.items():
        facts = facts_of(pattern)
        if facts is not None:
            sums.add(facts, times)
    return sums


@dataclass(frozen=True, slots=True)
class Agreement:
    """Observed agreement and Krippendorff's alpha over `units` units.

    `observed` is None without units, `alpha` is None where it is undefined; `undefined` then says why.
    """

    observed: float | None
    alpha: float | None
    units: int
    annotators: int
    undefined: str = ""


def agreement(counted: Mapping[Pattern, int]) -> Agreement:
    """Observed agreement and Krippendorff's alpha (nominal) of counted patterns."""
    sums = sums_of(counted)
    alpha = sums.alpha()
    return Agreement(sums.observed().value, alpha.value, sums.units, len(readers_of(counted)), alpha.why)


def readers_of(counted: Iterable[Pattern]) -> set[int]:
    """The places of those who have a value in some unit that counts."""
    found: set[int] = set()
    for pattern in counted:
        present = [place for place, value in enumerate(pattern) if value is not None]
        if len(present) > 1:
            found.update(present)
    return found


def fleiss(counted: Mapping[Pattern, int]) -> tuple[Value, int]:
    """Fleiss' kappa over the units that every annotator has a value for, and how many these are.

    (P - Pe) / (1 - Pe), P the mean over units of the share of pairs that agree, Pe the sum of the squared shares of the
    values (J. L. Fleiss, Psychological Bulletin 76, 1971). Undefined without such units, and where only one value was
    given.
    """
    complete = {pattern: times for pattern, times in counted.items() if len(pattern) > 1 and None not in pattern}
    sums = sums_of(complete)
    if not sums.units:
        return Value(None, "no note was read by all annotators" if counted else NO_UNITS), 0
    n = sum(sums.totals.values())
    expected = sum((count / n) ** 2 for count in sums.totals.values())
    if len(sums.totals) == 1:
        return Value(None, only_one_value(sums.totals)), sums.units
    return Value((sums.agreeing / sums.units - expected) / (1 - expected)), sums.units


@dataclass(frozen=True, slots=True)
class Cohen:
    """Two annotators over the units that both have a value for."""

    units: int
    observed: Value
    kappa: Value


def cohen(counted: Mapping[Pattern, int], a: int, b: int) -> Cohen:
    """Cohen's kappa of the annotators at places `a` and `b` (Educational and Psychological Measurement 20, 1960).

    (Po - Pe) / (1 - Pe), Pe from each one's own shares of the values. Undefined without units that both have a value
    for, and where both gave one and the same value only.
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
        nothing = Value(None, "they read no note in common")
        return Cohen(0, nothing, nothing)
    expected = sum(times * theirs[value] for value, times in ours.items())
    observed = agreed / units
    if expected == units * units:
        return Cohen(units, Value(observed), Value(None, only_one_value(ours)))
    chance = expected / (units * units)
    return Cohen(units, Value(observed), Value((observed - chance) / (1 - chance)))


@dataclass(slots=True)
class OneValue:
    """One value against all others: how often it was given, in how many units by anybody, in how many by all."""

    given: int = 0
    units: int = 0
    full: int = 0
    differing: float = 0.0

    def alpha(self, given_at_all: int) -> Value:
        """Krippendorff's alpha of "this value or not"; `given_at_all` counts the values of all units."""
        rest = given_at_all - self.given
        if not self.given:
            return Value(None, "nobody gave it")
        if not rest:
            return Value(None, "nobody ever gave another value: there is no disagreement to expect")
        return Value(1 - (given_at_all - 1) * self.differing / (2 * self.given * rest))


def one_by_one(counted: Mapping[Pattern, int]) -> dict[str, OneValue]:
    """Each value but `O` against the rest."""
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
    """The weight off the diagonal when `n` of `size` gave a value and the others did not."""
    return 2 * n * (size - n) / (size - 1)


def in_words(coefficient: float) -> str:
    """The word of Landis & Koch (Biometrics 33, 1977) for a coefficient."""
    for bound, word in ((0.0, "poor"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial")):
        if coefficient < bound or (word != "poor" and coefficient <= bound):
            return word
    return "almost perfect"
