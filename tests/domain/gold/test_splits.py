"""Splits by patient: no patient in two parts, as near to the shares as possible, stable from version to version."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.gold.splits import Patient, Split, SplitError, check_shares, split_patients, strictest

SHARES = {Split.TRAIN: 80, Split.DEV: 10, Split.TEST: 10}


def patients(sizes: list[int], first: int = 0) -> list[Patient]:
    return [Patient(f"p{number}", size, size * 3) for number, size in enumerate(sizes, first)]


def counts(group: list[Patient], splits: dict[str, Split]) -> dict[Split, int]:
    return {split: sum(p.notes for p in group if splits[p.key] == split) for split in Split}


def test_single_notes_meet_the_shares_exactly() -> None:
    group = patients([1] * 100)
    assert counts(group, split_patients(group, seed="a", shares=SHARES)) == {"train": 80, "dev": 10, "test": 10}


def test_a_split_depends_on_the_seed_but_not_on_the_order() -> None:
    group = patients([1] * 60)
    first = split_patients(group, seed="a", shares=SHARES)
    assert split_patients(reversed(group), seed="a", shares=SHARES) == first
    assert split_patients(group, seed="b", shares=SHARES) != first


def test_groups_for_which_a_greedy_split_is_bad() -> None:
    group = patients([3, 3, 2, 2, 2])
    shares = {Split.TRAIN: 50, Split.DEV: 0, Split.TEST: 50}
    assert counts(group, split_patients(group, seed="a", shares=shares)) == {"train": 6, "dev": 0, "test": 6}


def test_a_very_large_patient_is_in_one_part() -> None:
    group = patients([90, *[1] * 10])
    found = counts(group, split_patients(group, seed="s", shares=SHARES))
    assert found == {"train": 90, "dev": 5, "test": 5}
    assert split_patients([], seed="s", shares=SHARES) == {}


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=20),
    st.sampled_from([(80, 10, 10), (70, 0, 30), (60, 20, 20), (34, 33, 33), (1, 1, 98)]),
    st.text(max_size=5),
)
def test_shares_are_met_within_the_largest_patient(sizes: list[int], percent: tuple[int, int, int], seed: str) -> None:
    shares = dict(zip(Split, percent, strict=True))
    group = patients(sizes)
    splits = split_patients(group, seed=seed, shares=shares)
    assert set(splits) == {patient.key for patient in group}
    for split, found in counts(group, splits).items():
        assert abs(found - sum(sizes) * shares[split] / 100) <= max(sizes) + 1e-9
        assert shares[split] or not found


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5))
def test_small_groups_are_split_nearly_optimally(sizes: list[int]) -> None:
    shares = {Split.TRAIN: 60, Split.DEV: 20, Split.TEST: 20}
    group = patients(sizes)

    def off(splits: dict[str, Split]) -> float:
        return sum(abs(n - sum(sizes) * shares[split] / 100) for split, n in counts(group, splits).items())

    best = min(
        off(dict(zip((p.key for p in group), choice, strict=True))) for choice in product(Split, repeat=len(group))
    )
    assert off(split_patients(group, seed="s", shares=shares)) <= best + max(sizes)


@given(st.lists(st.lists(st.integers(1, 8), max_size=12), min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_no_patient_ever_changes_to_another_part(rounds: list[list[int]], chance) -> None:
    """Patients are added, get more notes and are erased; test patients are never trained on, and vice versa."""
    kept: dict[str, Split] = {}
    group: list[Patient] = []
    number = 0
    for sizes in rounds:
        group = [Patient(p.key, p.notes + chance.randrange(3)) for p in group if chance.random() < 0.8]
        group += patients(sizes, number)
        number += len(sizes)
        splits = split_patients(group, seed="s", shares=SHARES, kept=kept)
        assert all(splits[key] == split for key, split in kept.items() if key in splits)
        kept |= splits


def test_shares_are_checked() -> None:
    assert check_shares({"train": 80, "test": 20}) == {Split.TRAIN: 80, Split.DEV: 0, Split.TEST: 20}
    for wrong in ({"train": 80}, {"train": 120, "test": -20}, {"dev": 50, "test": 50}, {"train": 90, "valid": 10}):
        with pytest.raises(SplitError):
            check_shares(wrong)


def test_the_strictest_part_wins() -> None:
    assert strictest([Split.TRAIN, Split.TEST]) is Split.TEST
    assert strictest([Split.TRAIN, Split.DEV]) is Split.DEV


def test_a_patient_named_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        split_patients([Patient("a", 1), Patient("a", 2)], seed="", shares=SHARES)
