"""Which suggestions a bulk act leaves open because they overlap gold or each other."""

import pytest

from annotations.domain.reviewing.conflicts import Candidate, conflicting

STREET, CITY = 1, 2


def one(pk, start, end, label=STREET, annotation_set=1, runs=()):
    return Candidate(pk, (start, end, label), annotation_set, frozenset(runs))


@pytest.mark.parametrize(
    ("candidates", "gold", "has_finished_gold", "expected"),
    [
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
    ],
)
def test_conflicts(candidates, gold, has_finished_gold, expected):
    assert conflicting(candidates, gold, has_finished_gold=has_finished_gold) == expected
    assert conflicting(reversed(candidates), reversed(gold), has_finished_gold=has_finished_gold) == expected
