"""Bounds against published values, brute force, and the worked examples of docs/audits.md."""

import random
from collections import Counter
from math import comb

import pytest

from annotations.release.rules.audits.looks import Sample, hypergeometric_tail, leak_share, leaky_notes
from annotations.release.rules.audits.sampling import LEAST, SamplingUnit, allocation, draw, is_simple
from annotations.scores.rules.intervals import binomial_tail, clopper_pearson_lower, clopper_pearson_upper


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
        assert hypergeometric_tail(most, notes, leaky, read, recall) == pytest.approx(expected, abs=1e-12)
        expected = sum(
            comb(read, hit) * recall**hit * (1 - recall) ** (read - hit) for hit in range(min(most, read) + 1)
        )
        assert binomial_tail(most, read, recall) == pytest.approx(expected, abs=1e-12)


def test_a_small_release_needs_fewer_notes() -> None:
    """Reading 299 of 1,000 notes without a leak says more than 299 of many: hypergeometric."""
    assert leak_share(Sample(1000, 299, 0.299, simple=True), 0, 1.0, 0.05) == 0.008
    assert leak_share(Sample(10**7, 299, 299e-7, simple=True), 0, 1.0, 0.05) == pytest.approx(0.00997, abs=1e-5)


def test_reading_everything_leaves_nothing_but_what_auditors_miss() -> None:
    everything = Sample(100, 100, 1.0, simple=True)
    assert leaky_notes(everything, 0, 1.0, 0.05) == 0
    # Two leaky notes are both missed with 0.2 * 0.2 = 4%, less than 5%; a single one with 20%.
    assert (leaky_notes(everything, 0, 0.8, 0.05), leaky_notes(everything, 0, 0.8, 0.03)) == (1, 2)
    # Nothing read, nobody finds anything, and no notes
    for sample, recall in (
        (Sample(50, 0, 0.0, True), 1.0),
        (Sample(50, 20, 0.4, True), 0.0),
        (Sample(0, 0, 0.0, True), 1.0),
    ):
        assert leak_share(sample, 0, recall, 0.05) == 1.0


def test_for_large_releases_the_bound_is_divided_by_the_recall() -> None:
    for simple in (True, False):
        sample = Sample(10**6, 500, 500e-6, simple)
        assert leak_share(sample, 2, 0.8, 0.05) == pytest.approx(clopper_pearson_upper(2, 500, 0.05) / 0.8, rel=2e-3)


def test_without_the_correction_the_bound_would_fail() -> None:
    """Auditors with recall 0.75 find nothing in 299 notes in 10% of the releases in which 1% of the notes leak."""
    notes, leaky = 10**6, 10**4
    assert leak_share(Sample(notes, 299, 299e-6, simple=True), 0, 1.0, 0.05) < leaky / notes
    assert hypergeometric_tail(0, notes, leaky, 299, 0.75) > 0.1
    assert leak_share(Sample(notes, 299, 299e-6, simple=True), 0, 0.75, 0.05) >= leaky / notes


def test_a_chance_that_differs_between_strata_is_bounded_by_the_least() -> None:
    """All leaks may be in the stratum that is read least: the bound must hold for exactly that release."""
    sample = Sample(1000, 150, 0.1, simple=False)  # 60 of 600 and 90 of 400
    bound = leaky_notes(sample, 0, 1.0, 0.05)
    assert hypergeometric_tail(0, 600, bound + 1, 60) <= 0.05
    assert bound <= 32


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
    assert allocation(100, {"": 1000}) == {"": 100}
    assert allocation(500, {"a": 300, "b": 200}) == {"a": 300, "b": 200}
    units = [SamplingUnit(pk, "a" if pk < 80 else "b", "") for pk in range(100)]
    drawn = Counter(one.stratum for one in draw("x", units, [{"a": 16, "b": 10}]))
    assert drawn == {"a": 16, "b": 10}
