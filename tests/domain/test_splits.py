"""Splits by patient: nobody on both sides, as near to the shares as can be, and kept from version to version."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.splits import Patient, Side, SplitError, check_shares, split_patients, strictest

SHARES = {Side.TRAIN: 80, Side.DEV: 10, Side.TEST: 10}


def patients(sizes: list[int], first: int = 0) -> list[Patient]:
    return [Patient(f"p{number}", size, size * 3) for number, size in enumerate(sizes, first)]


def counts(group: list[Patient], sides: dict[str, Side]) -> dict[Side, int]:
    return {side: sum(p.notes for p in group if sides[p.key] == side) for side in Side}


def test_single_notes_meet_the_shares_exactly() -> None:
    group = patients([1] * 100)
    assert counts(group, split_patients(group, seed="a", shares=SHARES)) == {"train": 80, "dev": 10, "test": 10}


def test_the_same_again_and_another_seed() -> None:
    group = patients([1] * 60)
    first = split_patients(group, seed="a", shares=SHARES)
    assert split_patients(reversed(group), seed="a", shares=SHARES) == first
    assert split_patients(group, seed="b", shares=SHARES) != first


def test_groups_that_greed_would_place_badly() -> None:
    group = patients([3, 3, 2, 2, 2])
    shares = {Side.TRAIN: 50, Side.DEV: 0, Side.TEST: 50}
    assert counts(group, split_patients(group, seed="a", shares=shares)) == {"train": 6, "dev": 0, "test": 6}


def test_a_side_without_a_share_stays_empty() -> None:
    group = patients([1, 2, 3] * 5)
    sides = split_patients(group, seed="x", shares={Side.TRAIN: 100, Side.DEV: 0, Side.TEST: 0})
    assert set(sides.values()) == {Side.TRAIN}


def test_one_huge_patient_is_one_side() -> None:
    group = patients([90, *[1] * 10])
    found = counts(group, split_patients(group, seed="s", shares=SHARES))
    assert found == {"train": 90, "dev": 5, "test": 5}
    assert split_patients([], seed="s", shares=SHARES) == {}


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=40),
    st.sampled_from([(80, 10, 10), (70, 0, 30), (60, 20, 20), (34, 33, 33), (1, 1, 98)]),
    st.text(max_size=5),
)
def test_shares_are_met_within_the_largest_patient(sizes: list[int], percent: tuple[int, int, int], seed: str) -> None:
    shares = dict(zip(Side, percent, strict=True))
    group = patients(sizes)
    sides = split_patients(group, seed=seed, shares=shares)
    assert set(sides) == {patient.key for patient in group}
    for side, found in counts(group, sides).items():
        assert abs(found - sum(sizes) * shares[side] / 100) <= max(sizes) + 1e-9
        assert shares[side] or not found


@given(st.lists(st.integers(1, 6), min_size=1, max_size=7))
def test_small_groups_are_placed_nearly_as_well_as_can_be(sizes: list[int]) -> None:
    shares = {Side.TRAIN: 60, Side.DEV: 20, Side.TEST: 20}
    group = patients(sizes)

    def off(sides: dict[str, Side]) -> float:
        return sum(abs(n - sum(sizes) * shares[side] / 100) for side, n in counts(group, sides).items())

    best = min(
        off(dict(zip((p.key for p in group), choice, strict=True))) for choice in product(Side, repeat=len(group))
    )
    assert off(split_patients(group, seed="s", shares=shares)) <= best + max(sizes)


@given(st.lists(st.lists(st.integers(1, 8), max_size=12), min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_no_patient_ever_changes_sides_from_version_to_version(rounds: list[list[int]], chance) -> None:
    """Patients come, grow and are erased; what was once test is never trained on, and the other way round."""
    kept: dict[str, Side] = {}
    group: list[Patient] = []
    number = 0
    for sizes in rounds:
        group = [Patient(p.key, p.notes + chance.randrange(3)) for p in group if chance.random() < 0.8]
        group += patients(sizes, number)
        number += len(sizes)
        sides = split_patients(group, seed="s", shares=SHARES, kept=kept)
        assert all(sides[key] == side for key, side in kept.items() if key in sides)
        kept |= sides


def test_shares_are_checked() -> None:
    assert check_shares({"train": 80, "test": 20}) == {Side.TRAIN: 80, Side.DEV: 0, Side.TEST: 20}
    for wrong in ({"train": 80}, {"train": 120, "test": -20}, {"dev": 50, "test": 50}, {"train": 90, "valid": 10}):
        with pytest.raises(SplitError):
            check_shares(wrong)


def test_the_strictest_side_wins() -> None:
    assert strictest([Side.TRAIN, Side.TEST]) is Side.TEST
    assert strictest([Side.TRAIN, Side.DEV]) is Side.DEV


def test_a_patient_named_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        split_patients([Patient("a", 1), Patient("a", 2)], seed="", shares=SHARES)
