"""Comparison of two people's reviews of one note."""

from annotations.domain.reviewing.two_reviews import Outcome, compare

A, B, C = (0, 5, 1), (6, 9, 1), (10, 12, 2)


def test_every_suggestion_and_every_other_span_counts_once():
    first = Outcome({1: A, 2: None, 3: B}, frozenset({C}))
    assert (compare(first, first, []).units, compare(first, first, []).equal) == (4, 4)
    second = Outcome({1: A, 2: B, 3: (6, 9, 2)}, frozenset())
    found = compare(first, second, [])
    assert (found.units, found.equal, found.differ) == (4, 1, 3)
    assert compare(Outcome({}), Outcome({}), []).units == 0


def test_earlier_gold_counts_only_where_somebody_changed_it():
    first = Outcome({1: A}, frozenset({C}))
    assert compare(first, first, [A, C]).units == 0
    found = compare(first, Outcome({1: None}, frozenset()), [A, C])
    assert (found.units, found.equal) == (2, 0)


def test_the_json_form_keeps_everything():
    found = Outcome.of({1: A, 2: None}, [A, C])
    assert found == Outcome({1: A, 2: None}, frozenset({C}))
    assert Outcome.from_data(found.data()) == found
