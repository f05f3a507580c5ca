"""Looks at a sample, and bounds of the rate of leaks."""

import random
from collections import Counter
from collections.abc import Collection
from math import comb

import pytest

from annotations.release.rules.audits import looks as looks_rules
from annotations.release.rules.audits.sampling import LEAST, SamplingUnit, allocation, draw, is_simple
from annotations.scores.rules.intervals import binomial_tail, clopper_pearson_lower, clopper_pearson_upper

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
