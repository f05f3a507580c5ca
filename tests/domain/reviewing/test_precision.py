"""Observed precision: its interval over notes covers the true precision, where one over decisions does not."""

import random

import pytest

from annotations.domain.reviewing.precision import Rate, by_notes

DRAWS = 1000


@pytest.mark.parametrize(
    ("true", "notes", "correlation", "covered", "by_decisions"),
    [
        (0.8, 12, 0.1, 0.93, 0.86),
        (0.9, 30, 0.1, 0.93, 0.86),
        pytest.param(0.95, 100, 0.1, 0.93, 0.86, marks=pytest.mark.nightly),
        (0.8, 12, 0.3, 0.91, 0.7),
        (0.95, 30, 0.3, 0.89, 0.7),
    ],
)
def test_the_interval_covers_the_true_precision_where_decisions_in_a_note_resemble_each_other(
    true, notes, correlation, covered, by_decisions
):
    """Beta-binomial notes of 1 to 19 decisions; the intraclass correlation is 1 / (1 + sum of the shapes)."""
    chance = random.Random(17)
    total = 1 / correlation - 1
    shapes = true * total, (1 - true) * total
    new = old = 0
    for _ in range(DRAWS):
        counts = []
        for _note in range(notes):
            size, share = chance.randint(1, 19), chance.betavariate(*shapes)
            counts.append((sum(chance.random() < share for _ in range(size)), size))
        found = by_notes(counts)
        new += found.low <= true <= found.high
        low, high = Rate(found.right, found.counted).interval
        old += low <= true <= high
    assert new >= covered * DRAWS, f"covered in {new / DRAWS:.1%} of the draws"
    assert old <= by_decisions * DRAWS, f"the interval over decisions covered in {old / DRAWS:.1%}"


def test_the_interval_of_independent_decisions_is_hardly_wider():
    chance = random.Random(5)
    found = by_notes([(sum(chance.random() < 0.9 for _ in range(10)), 10) for _ in range(200)])
    low, high = Rate(found.right, found.counted).interval
    assert high - low <= found.high - found.low < 1.2 * (high - low)


def test_notes_that_tell_little_give_wide_intervals():
    for one in ([(5, 5)], [(9, 10)], [(0, 4), (0, 0)]):
        assert (by_notes(one).low, by_notes(one).high, by_notes(one).few) == (0, 1, True), "no variation between notes"
    alike = by_notes([(10, 10)] * 30)
    assert (alike.share, alike.high) == (1.0, 1.0) and 0.86 < alike.low < Rate(30, 30).interval[0]
    assert by_notes([(10, 10), (0, 10)]).low < 0.01, "two notes that differ tell hardly anything"
    assert by_notes([(9, 10)] * 20 + [(0, 0)] * 20).low == by_notes([(9, 10)] * 20).low, "notes without decisions"
    assert (by_notes([]).share, by_notes([]).low, by_notes([]).high) == (None, 0.0, 1.0)


def test_one_wrong_decision_more_does_not_make_the_interval_narrower():
    """With one note that is not all right, the design effect can't be estimated: each note counts as one decision."""
    bounds = [by_notes([(10 - wrong, 10), *[(10, 10)] * 11]).low for wrong in range(11)]
    assert bounds == sorted(bounds, reverse=True) and bounds[0] < 0.75
    wrong = [by_notes([(right, 10), *[(0, 10)] * 11]).high for right in range(11)]
    assert wrong == sorted(wrong) and wrong[0] > 0.25
    several = by_notes([(9, 10), (9, 10), *[(10, 10)] * 10])
    assert several.low > bounds[2], "two notes with a wrong decision each give an estimate"


def test_the_quantile_of_students_t_is_that_of_the_tables():
    """Tables of Student's t, 97.5 %: 11 degrees of freedom 2.201, 30 degrees 2.042, 120 degrees 1.980."""
    from annotations.domain.reviewing import precision

    assert [round(precision._t(freedom), 3) for freedom in (1, 10, 11, 30, 120)] == [12.706, 2.228, 2.201, 2.042, 1.98]
