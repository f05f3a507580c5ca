"""Two people's reviews of one note beside each other."""

from annotations.domain.two_reviews import Outcome, compare

A, B, C = (0, 5, 1), (6, 9, 1), (10, 12, 2)


def test_every_proposal_and_every_other_span_counts_once():
    first = Outcome({1: A, 2: None, 3: B}, frozenset({C}))
    assert (compare(first, first, []).units, compare(first, first, []).alike) == (4, 4)
    second = Outcome({1: A, 2: B, 3: (6, 9, 2)}, frozenset())
    found = compare(first, second, [])
    assert (found.units, found.alike, found.differ) == (4, 1, 3)
    assert compare(Outcome({}), Outcome({}), []).units == 0


def test_what_was_there_before_counts_where_somebody_changed_it():
    first = Outcome({1: A}, frozenset({C}))
    assert compare(first, first, [A, C]).units == 0
    found = compare(first, Outcome({1: None}, frozenset()), [A, C])
    assert (found.units, found.alike) == (2, 0)


def test_as_json_and_back():
    state = {
        "proposals": [
            {"id": 1, "state": "accepted", "place": A}, {"id": 2, "state": "rejected", "place": None},
            {"id": 3, "state": "open", "place": None},
        ],
        "gold": [{"start": 0, "end": 5, "label": 1}, {"start": 10, "end": 12, "label": 2}],
    }  # fmt: skip
    found = Outcome.of(state)
    assert found == Outcome({1: A, 2: None}, frozenset({C}))
    assert Outcome.from_data(found.data()) == found
