"""A simulation: the bounds hold in at least 95% of releases, with imperfect auditors and sequential stopping."""

import random
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from math import comb

import numpy as np
import pytest

from annotations.release.rules.audits import looks as looks_rules
from annotations.release.rules.audits.looks import AuditCounts, AuditState, Bounds, Design, judge
from annotations.release.rules.audits.sampling import LEAST, SamplingUnit, allocation, draw, is_simple
from annotations.scores.rules.intervals import binomial_tail, clopper_pearson_lower, clopper_pearson_upper

LEAK_PATTERNS = 25  # releases with different leaks and auditors for each drawn sample
CONFIDENCE = 0.95


@dataclass(frozen=True)
class World:
    """Released notes by stratum, the sizes of patients (empty: no patient IDs), and what the audit aims at."""

    strata: Mapping[str, int]
    patients: tuple[int, ...]
    target: float
    planted: float
    leaks: int


WORLDS = [
    World({"": 1200}, (), 0.02, 0.0, 0), World({"": 1200}, (), 0.03, 0.15, 2), World({"": 300}, (), 0.05, 0.2, 1),
    World({"": 1500}, (1, 2, 9), 0.03, 0.15, 1), World({"": 900}, (40, 3, 1), 0.05, 0.2, 2),
    World({"a": 900, "b": 300, "c": 60}, (), 0.04, 0.0, 2), World({"a": 1000, "b": 100}, (1, 4, 12), 0.05, 0.2, 1),
    World({"a": 150, "b": 60, "c": 15}, (1, 2, 3), 0.06, 0.2, 2),
]  # fmt: skip


def units_of(world: World) -> list[SamplingUnit]:
    units: list[SamplingUnit] = []
    source = random.Random(1)
    for stratum, size in world.strata.items():
        left, patient = size, 0
        while left:
            notes = min(left, source.choice(world.patients)) if world.patients else 1
            name = f"{stratum}-{patient}" if world.patients else ""
            units += [SamplingUnit(len(units) + at, stratum, name) for at in range(notes)]
            left, patient = left - notes, patient + 1
    return units


class Simulated:
    """The reading of one release: whether each note of the sample, in order, was found to leak; planted leaks."""

    def __init__(self, strata: list[str], leaks: np.ndarray, planted: np.ndarray, found: np.ndarray) -> None:
        self._strata, self._planted, self._found = strata, planted, found
        self._leaks = np.flatnonzero(leaks)

    @property
    def read(self) -> int:
        return len(self._strata)

    def leak_at(self, number: int) -> int | None:
        return int(self._leaks[number - 1]) + 1 if len(self._leaks) >= number else None

    def found(self, read: int) -> AuditCounts:
        return AuditCounts(
            _counted(tuple(self._strata), read),
            Counter(self._strata[at] for at in self._leaks if at < read),
            int(self._planted[:read].sum()), int(self._found[:read].sum()),
        )  # fmt: skip


@cache
def _counted(strata: tuple[str, ...], read: int) -> Counter[str]:
    return Counter(strata[:read])


class Cached(Design):
    """A design that computes the same bounds only once."""

    def bounds(self, found: AuditCounts, look: int) -> Bounds:
        key = (look, tuple(found.read.items()), tuple(sorted(found.leaks.items())), found.planted, found.planted_found)
        known: dict[object, Bounds] = self.__dict__.setdefault("known", {})
        if key not in known:
            known[key] = super().bounds(found, look)
        return known[key]


def leaky(chance: np.random.Generator, units: list[SamplingUnit], clusters: np.ndarray, share: float) -> np.ndarray:
    """Which notes leak: notes at random, all notes of some patients, or the notes of one stratum only."""
    kind = chance.integers(3)
    if kind == 0:
        return chance.random(len(units)) < share
    if kind == 1:
        return (chance.random(clusters.max() + 1) < share)[clusters] & (chance.random(len(units)) < 0.8)
    strata = np.array([unit.stratum for unit in units])
    chosen = chance.choice(np.unique(strata))
    return (strata == chosen) & (chance.random(len(units)) < min(0.9, share * len(units) / (strata == chosen).sum()))


@pytest.mark.parametrize("releases", [800, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_the_bounds_hold_in_95_percent_of_releases(releases: int) -> None:
    chance = np.random.default_rng(18)
    held: Counter[int] = Counter()
    states: Counter[AuditState] = Counter()
    each = releases // len(WORLDS)
    for number, world in enumerate(WORLDS):
        units = units_of(world)
        place = {name: at for at, name in enumerate(dict.fromkeys(unit.cluster or str(unit.pk) for unit in units))}
        clusters = np.array([place[unit.cluster or str(unit.pk)] for unit in units])
        simple = {name: is_simple([unit for unit in units if unit.stratum == name], 30) for name in world.strata}
        design = Cached(world.strata, simple, CONFIDENCE, world.target, world.planted, world.leaks)
        for drawing in range(-(-each // LEAK_PATTERNS)):
            sample = draw(f"{number}-{drawing}", units, design.looks)
            order = np.array([one.pk for one in sample])
            strata = [one.stratum for one in sample]
            # The order is random, so planting in every n-th note is as good as planting at random.
            nth = round(1 / world.planted) if world.planted else len(order) + 1
            planted = np.arange(1, len(order) + 1) % nth == 0
            for _release in range(min(LEAK_PATTERNS, each - drawing * LEAK_PATTERNS)):
                leaks = leaky(chance, units, clusters, world.target * chance.uniform(0, 1.6))
                recalls = chance.uniform(0.7, 1.0, size=3) if world.planted else np.ones(3)
                recall = recalls[chance.integers(3, size=len(order))]
                found = leaks[order] & (chance.random(len(order)) < recall)
                planted_found = planted & (chance.random(len(order)) < recall)
                verdict = judge(design, design.looks, Simulated(strata, found, planted, planted_found))
                states[verdict.state] += 1
                held[number] += verdict.bounds is None or leaks.mean() <= verdict.bounds.overall
    assert sum(held.values()) >= 0.95 * releases
    assert min(held.values()) >= (0.95 - 3 * (0.95 * 0.05 / each) ** 0.5) * each, held
    # The simulation is about both ends: the target met, and not to be met any more.
    assert states[AuditState.MET] > 0.15 * releases and states[AuditState.UNMET] > 0.2 * releases


# ── Looks at a sample, and bounds of the rate of leaks ──


MANY = 10**8


def design(notes: int = MANY, *, target: float = 0.01, planted: float = 0.0, leaks: int = 0) -> looks_rules.Design:
    return looks_rules.Design({"": notes}, {"": True}, 0.95, target, planted, leaks)


class Read:
    """`read` notes in order, leaks at some positions, every tenth note planted, of which some are missed."""

    def __init__(self, read: int, leaks: Collection[int] = (), planted: bool = False, missed: Collection[int] = ()):
        self.read, self._leaks, self._planted, self._missed = read, sorted(leaks), planted, missed

    def found(self, read: int) -> looks_rules.AuditCounts:
        planted = list(range(10, read + 1, 10)) if self._planted else []
        return looks_rules.AuditCounts(
            Counter({"": read}), Counter({"": sum(at <= read for at in self._leaks)}), len(planted),
            sum(at not in self._missed for at in planted),
        )  # fmt: skip

    def leak_at(self, number: int) -> int | None:
        return self._leaks[number - 1] if len(self._leaks) >= number else None


def test_notes_to_read_without_a_leak() -> None:
    # A small release needs fewer; a single leaky note of a tiny one is drawn with 96%.
    for notes, target, most in (
        (MANY, 0.01, 299), (MANY, 0.05, 59), (MANY, 0.02, 149), (1000, 0.01, 238), (50, 0.001, 48),
    ):  # fmt: skip
        assert design(notes, target=target).looks == [{"": most}]
    # Planted leaks make the sample larger: auditors are expected to find nine of ten, and both bounds share the error.
    assert design(planted=0.1).looks == [{"": 426}]
    looks = [look[""] for look in design(leaks=2).looks]
    assert looks[0] < 330 and looks == sorted(set(looks))
    # A release can be too small to measure the auditors.
    assert design(14).reachable and design(1000, planted=0.1).reachable and not design(14, planted=0.1).reachable
    # A share of few notes is at least one planted leak.
    assert [design(1000, planted=0.1).planted_in(some) for some in (0, 1, 4, 14, 16)] == [0, 1, 1, 1, 2]
    assert design(1000).planted_in(4) == 0
    # The position of the last look
    looks = [{"a": 10, "b": 5}, {"a": 20, "b": 10}]
    assert [looks_rules.reached(looks, read) for read in (14, 15, 29, 30, 99)] == [0, 15, 15, 30, 30]


def test_reading_stops_as_soon_as_the_target_is_met() -> None:
    plan = design()
    before, met = (looks_rules.judge(plan, plan.looks, Read(read)) for read in (298, 299))
    assert (before.state, before.bounds) == (looks_rules.AuditState.OPEN, None)
    assert (met.state, met.read) == (looks_rules.AuditState.MET, 299) and met.bounds is not None
    assert (met.bounds.overall, met.bounds.recall) == (pytest.approx(0.00997, abs=1e-5), None)


def test_reading_stops_when_the_target_cannot_be_met_any_more() -> None:
    plan = design()
    verdict = looks_rules.judge(plan, plan.looks, Read(120, [101]))
    assert verdict.state == looks_rules.AuditState.UNMET and verdict.by_leak
    # The bound follows from the 100 notes before the leak.
    assert verdict.read == 100 and verdict.bounds is not None
    assert verdict.bounds.overall == pytest.approx(0.0295, abs=1e-4)


def test_with_further_looks_reading_goes_on_after_a_leak() -> None:
    plan = design(leaks=1)
    first, second = (look[""] for look in plan.looks)
    assert looks_rules.judge(plan, plan.looks, Read(first, [100])).state == looks_rules.AuditState.OPEN
    assert looks_rules.judge(plan, plan.looks, Read(second, [100])).state == looks_rules.AuditState.MET
    assert looks_rules.judge(plan, plan.looks, Read(second, [100, 200])).state == looks_rules.AuditState.UNMET
    # Without a leak, the first look is the last.
    assert looks_rules.judge(plan, plan.looks, Read(second)).read == first
    # A late second leak: the bound of the first look is better than what follows from the leak.
    late = looks_rules.judge(plan, plan.looks, Read(first + 1, [first - 1, first + 1]))
    assert late.state == looks_rules.AuditState.UNMET and late.bounds is not None and late.bounds.overall < 0.02


def test_missed_planted_leaks_keep_the_target_from_being_met() -> None:
    plan = design(planted=0.1)
    [[end]] = [list(look.values()) for look in plan.looks]
    assert looks_rules.judge(plan, plan.looks, Read(end, planted=True)).state == looks_rules.AuditState.MET
    missing = looks_rules.judge(plan, plan.looks, Read(end, planted=True, missed=range(0, end, 30)))
    assert missing.state == looks_rules.AuditState.UNMET and not missing.by_leak
    assert missing.bounds is not None and missing.bounds.recall == pytest.approx(0.47, abs=0.02)
    # Without a planted leak in the sample, nothing is known.
    verdict = looks_rules.judge(plan, plan.looks, Read(end))
    assert verdict.bounds is not None and verdict.bounds.overall == 1.0


def test_the_error_probability_is_spent_once() -> None:
    for leaks in (0, 1, 2):
        plan = design(planted=0.1, leaks=leaks)
        assert sum(sum(plan.alphas(look)) for look in range(leaks + 1)) == pytest.approx(0.05)


def test_each_stratum_has_a_bound_of_its_own() -> None:
    plan = looks_rules.Design({"a": 900, "b": 100}, {"a": True, "b": True}, 0.95, 0.05, 0.0)
    [look] = plan.looks
    bounds = plan.bounds(looks_rules.AuditCounts(look, {}), 0)
    assert bounds.overall <= 0.05 and bounds.strata["b"] > bounds.strata["a"] > 0.05


# Bounds against published values, brute force, and the worked examples of docs/audits.md.


def test_bounds() -> None:
    # At most 1%, at most 5%, and Clopper and Pearson's tables, one-sided 95%
    upper = {(0, 299): 0.00997, (0, 298): 0.01, (0, 59): 0.0495, (1, 10): 0.3942, (3, 100): 0.0757, (10, 10): 1.0}
    assert {case: clopper_pearson_upper(*case, 0.05) for case in upper} == pytest.approx(upper, abs=5e-5)
    lower = {(30, 30): 0.9050, (9, 10): 0.6058, (0, 5): 0.0, (0, 0): 0.0}
    assert {case: clopper_pearson_lower(*case, 0.05) for case in lower} == pytest.approx(lower, abs=5e-5)


def test_tails_equal_sums_over_all_outcomes() -> None:
    source = random.Random(4)
    for _case in range(60):
        notes = source.randint(1, 60)
        leaky, read = source.randint(0, notes), source.randint(0, notes)
        recall, most = source.choice([0.5, 0.7, 0.9, 1.0]), source.randint(-1, 8)
        drawn = range(max(0, leaky + read - notes), min(leaky, read) + 1)
        expected = sum(
            comb(leaky, some) * comb(notes - leaky, read - some) / comb(notes, read)
            * sum(comb(some, hit) * recall**hit * (1 - recall) ** (some - hit) for hit in range(min(most, some) + 1))
            for some in drawn
        )  # fmt: skip
        assert looks_rules.hypergeometric_tail(most, notes, leaky, read, recall) == pytest.approx(expected, abs=1e-12)
        expected = sum(comb(read, k) * recall**k * (1 - recall) ** (read - k) for k in range(min(most, read) + 1))
        assert binomial_tail(most, read, recall) == pytest.approx(expected, abs=1e-12)


def test_a_small_release_needs_fewer_notes() -> None:
    """Reading 299 of 1,000 notes without a leak says more than 299 of many: hypergeometric."""
    assert looks_rules.leak_share(looks_rules.Sample(1000, 299, 0.299, simple=True), 0, 1.0, 0.05) == 0.008
    many = looks_rules.Sample(10**7, 299, 299e-7, simple=True)
    assert looks_rules.leak_share(many, 0, 1.0, 0.05) == pytest.approx(0.00997, abs=1e-5)


def test_reading_everything_leaves_nothing_but_what_auditors_miss() -> None:
    everything = looks_rules.Sample(100, 100, 1.0, simple=True)
    assert looks_rules.leaky_notes(everything, 0, 1.0, 0.05) == 0
    # Two leaky notes are both missed with 0.2 * 0.2 = 4%, less than 5%; a single one with 20%.
    assert [looks_rules.leaky_notes(everything, 0, 0.8, error) for error in (0.05, 0.03)] == [1, 2]
    # Nothing read, nobody finds anything, and no notes
    for sample, recall in (((50, 0, 0.0, True), 1.0), ((50, 20, 0.4, True), 0.0), ((0, 0, 0.0, True), 1.0)):
        assert looks_rules.leak_share(looks_rules.Sample(*sample), 0, recall, 0.05) == 1.0


def test_for_large_releases_the_bound_is_divided_by_the_recall() -> None:
    for simple in (True, False):
        sample = looks_rules.Sample(10**6, 500, 500e-6, simple)
        expected = pytest.approx(clopper_pearson_upper(2, 500, 0.05) / 0.8, rel=2e-3)
        assert looks_rules.leak_share(sample, 2, 0.8, 0.05) == expected


def test_without_the_correction_the_bound_would_fail() -> None:
    """Auditors with recall 0.75 find nothing in 299 notes in 10% of the releases in which 1% of the notes leak."""
    notes, leaky = 10**6, 10**4
    assert looks_rules.leak_share(looks_rules.Sample(notes, 299, 299e-6, simple=True), 0, 1.0, 0.05) < leaky / notes
    assert looks_rules.hypergeometric_tail(0, notes, leaky, 299, 0.75) > 0.1
    assert looks_rules.leak_share(looks_rules.Sample(notes, 299, 299e-6, simple=True), 0, 0.75, 0.05) >= leaky / notes


def test_a_chance_that_differs_between_strata_is_bounded_by_the_least() -> None:
    """All leaks may be in the stratum that is read least: the bound must hold for exactly that release."""
    sample = looks_rules.Sample(1000, 150, 0.1, simple=False)  # 60 of 600 and 90 of 400
    bound = looks_rules.leaky_notes(sample, 0, 1.0, 0.05)
    assert looks_rules.hypergeometric_tail(0, 600, bound + 1, 60) <= 0.05 and bound <= 32


# ── Samples ──────────────────────────────────────────────────────────────────────────────────────────────────────────


# 10 patients with 7 notes each, and 30 notes without a patient.
UNITS = [SamplingUnit(pk, "", str(pk // 7) if pk < 70 else "") for pk in range(100)]


def test_every_note_has_the_same_chance_at_each_look() -> None:
    first: Counter[int] = Counter()
    whole: Counter[int] = Counter()
    for seed in range(600):
        sample = draw(str(seed), UNITS, [{"": 5}, {"": 12}])
        assert len(sample) == len({one.pk for one in sample}) == 12
        assert [one.look for one in sample] == [0] * 5 + [1] * 7
        first.update(one.pk for one in sample[:5])
        whole.update(one.pk for one in sample)
    # Five standard errors of 600 draws.
    assert max(abs(first[pk] / 600 - 0.05) for pk in range(100)) < 0.045
    assert max(abs(whole[pk] / 600 - 0.12) for pk in range(100)) < 0.067


def test_a_sample_has_at_most_one_note_of_a_patient() -> None:
    patient = {unit.pk: unit.cluster for unit in UNITS}
    for seed in range(50):
        named = [patient[one.pk] for one in draw(str(seed), UNITS, [{"": 12}]) if patient[one.pk]]
        assert len(named) == len(set(named))
    assert draw("a", UNITS, [{"": 12}]) == draw("a", UNITS, [{"": 12}]) != draw("b", UNITS, [{"": 12}])
    assert {one.pk for one in draw("x", UNITS, [{"": 100}])} == set(range(100))
    # A sample of single notes is a simple one: no cluster may have two notes.
    assert is_simple(UNITS, 60) and not is_simple(UNITS, 12)
    assert is_simple([SamplingUnit(pk, "", str(pk)) for pk in range(10)], 2)


def test_a_large_patient_is_cut_into_clusters() -> None:
    units = [SamplingUnit(pk, "", "one" if pk < 90 else str(pk)) for pk in range(100)]
    for seed in range(50):
        ours = sum(one.pk < 90 for one in draw(str(seed), units, [{"": 20}]))
        assert 17 <= ours <= 19  # 18 on average: clusters of five notes, each drawn for certain or nearly so


def test_strata_are_drawn_in_proportion_and_at_least_ten() -> None:
    assert allocation(100, {"a": 9000, "b": 900, "c": 60, "d": 4}) == {"a": 91, "b": LEAST, "c": LEAST, "d": 4}
    assert allocation(100, {"": 1000}) == {"": 100} and allocation(500, {"a": 300, "b": 200}) == {"a": 300, "b": 200}
    units = [SamplingUnit(pk, "a" if pk < 80 else "b", "") for pk in range(100)]
    assert Counter(one.stratum for one in draw("x", units, [{"a": 16, "b": 10}])) == {"a": 16, "b": 10}
