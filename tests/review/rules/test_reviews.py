"""Reviews: conflicts that a bulk act leaves open, two reviews of one note, and the precision that was observed."""

import random

import pytest

from annotations.review.rules.precision import Candidate, Rate, by_notes, compare, conflicting, outcome_of

STREET, CITY = 1, 2


def one(pk, start, end, label=STREET, annotation_set=1, runs=()):
    return Candidate(pk, (start, end, label), annotation_set, frozenset(runs))


CONFLICTS = [
    ([one(1, 95, 123)], [(95, 121, STREET)], False, {1}),  # the same label with other bounds
    ([one(1, 95, 123)], [(95, 123, STREET)], True, set()),  # gold has the same span
    ([one(1, 95, 123)], [(123, 130, STREET)], True, set()),  # touching is not overlapping
    ([one(1, 95, 123)], [(90, 95, STREET)], True, set()),
    ([one(1, 95, 123)], [(100, 105, CITY)], False, set()),  # one inside the other, with another label
    ([one(1, 95, 123)], [(100, 105, CITY)], True, {1}),  # a person has decided there
    ([one(1, 95, 123)], [(95, 123, CITY)], True, {1}),  # the same bounds with another label
    ([one(1, 95, 121), one(2, 95, 123, annotation_set=2)], [], False, {1, 2}),  # nobody knows which one is right
    ([one(1, 95, 121), one(2, 95, 121, annotation_set=2)], [], False, set()),  # two runs that agree
    ([one(1, 95, 121), one(2, 100, 110, CITY)], [], True, set()),  # suggestions with two labels
    ([one(1, 95, 121, runs=[7]), one(2, 95, 123, runs=[8])], [], False, set()),  # they conflict in one merged list
    ([one(1, 95, 121, runs=[7]), one(2, 95, 123, runs=[7, 8])], [], False, {1, 2}),  # one run suggests both
    ([one(1, 95, 121, runs=[7]), one(2, 95, 123, annotation_set=2, runs=[8])], [], False, {1, 2}),  # from two lists
    ([one(1, 0, 100), one(2, 10, 20), one(3, 30, 40), one(4, 100, 110)], [], False, {1, 2, 3}),
    ([], [(0, 10, STREET), (5, 10, STREET)], True, set()),  # gold spans don't conflict with each other
]


@pytest.mark.parametrize(("candidates", "gold", "has_finished_gold", "expected"), CONFLICTS)
def test_conflicts(candidates, gold, has_finished_gold, expected):
    assert conflicting(candidates, gold, has_finished_gold=has_finished_gold) == expected
    assert conflicting(reversed(candidates), reversed(gold), has_finished_gold=has_finished_gold) == expected


# ── Comparison of two people's reviews of one note ───────────────────────────────────────────────────────────────────


A, B, C = (0, 5, 1), (6, 9, 1), (10, 12, 2)


def test_every_suggestion_and_every_other_span_counts_once():
    first = outcome_of({1: A, 2: None, 3: B}, [C])
    assert compare(first, first, []) == (4, 4)
    found = compare(first, outcome_of({1: A, 2: B, 3: (6, 9, 2)}, []), [])
    assert (found, found.differ) == ((4, 1), 3)
    assert compare(outcome_of({}, []), outcome_of({}, []), []).units == 0


def test_earlier_gold_counts_only_where_somebody_changed_it():
    first = outcome_of({1: A}, [A, C])
    assert compare(first, first, [A, C]).units == 0
    assert compare(first, outcome_of({1: None}, []), [A, C]) == (2, 0)
    assert outcome_of({1: A, 2: None}, [A, C])["others"] == [list(C)]


# ── Observed precision ───────────────────────────────────────────────────────────────────────────────────────────────


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
