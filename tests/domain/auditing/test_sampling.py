"""Samples: every note of a stratum has the same chance, patients are clusters, and the seed repeats the draw."""

from collections import Counter

from annotations.domain.auditing.sampling import LEAST, Unit, allocation, draw, is_simple

# 10 patients with 7 notes each, and 30 notes without a patient.
UNITS = [Unit(pk, "", str(pk // 7) if pk < 70 else "") for pk in range(100)]


def test_the_same_seed_draws_the_same_sample() -> None:
    assert draw("a", UNITS, [{"": 12}]) == draw("a", UNITS, [{"": 12}])
    assert draw("a", UNITS, [{"": 12}]) != draw("b", UNITS, [{"": 12}])


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


def test_a_large_patient_is_cut_into_clusters() -> None:
    units = [Unit(pk, "", "one" if pk < 90 else str(pk)) for pk in range(100)]
    for seed in range(50):
        ours = sum(one.pk < 90 for one in draw(str(seed), units, [{"": 20}]))
        assert 17 <= ours <= 19  # 18 on average: clusters of five notes, each drawn for certain or nearly so


def test_strata_are_drawn_in_proportion_and_at_least_ten() -> None:
    assert allocation(100, {"a": 9000, "b": 900, "c": 60, "d": 4}) == {"a": 91, "b": LEAST, "c": LEAST, "d": 4}
    assert allocation(100, {"": 1000}) == {"": 100}
    assert allocation(500, {"a": 300, "b": 200}) == {"a": 300, "b": 200}
    units = [Unit(pk, "a" if pk < 80 else "b", "") for pk in range(100)]
    drawn = Counter(one.stratum for one in draw("x", units, [{"a": 16, "b": 10}]))
    assert drawn == {"a": 16, "b": 10}


def test_everything_can_be_drawn() -> None:
    assert {one.pk for one in draw("x", UNITS, [{"": 100}])} == set(range(100))


def test_a_sample_of_single_notes_is_a_simple_one() -> None:
    assert is_simple(UNITS, 60)  # no cluster may have two notes
    assert not is_simple(UNITS, 12)
    assert is_simple([Unit(pk, "", str(pk)) for pk in range(10)], 2)
