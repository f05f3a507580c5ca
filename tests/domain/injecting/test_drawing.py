"""Drawing errors: repeatable by the seed, in turn by rule, and independent of the order and ids of notes."""

from annotations.domain.injecting.drawing import Draw, ticket
from annotations.domain.injecting.injection import Injection

RULES = ["cities", "wards-as-hospital", "eponyms"]


def tickets(counts, seed=7, note=1, sha="a"):
    return [
        ticket(Injection(at * 10, at * 10 + 5, "X", "", rule), note, sha, seed)
        for rule, count in counts.items()
        for at in range(count)
    ]


def drawn(*batches, most):
    draw = Draw(most)
    for batch in batches:
        draw.add(batch)
    return draw.drawn(RULES)


def test_in_turn_by_rule_until_none_is_left():
    found = drawn(tickets({"cities": 10, "wards-as-hospital": 2}), most=8)
    rules = [one.injection.rule for one in found]
    assert rules == ["cities", "wards-as-hospital", "cities", "wards-as-hospital", *["cities"] * 4]
    assert len(drawn(tickets({"eponyms": 3}), most=8)) == 3
    assert drawn(tickets({"eponyms": 3}), most=0) == []


def test_the_same_seed_draws_the_same_errors():
    first, second = (tickets({"cities": 200}, sha=sha) for sha in "ab")
    one, other = drawn(first, second, most=20), drawn(second, first, most=20)
    assert [each.injection for each in one] == [each.injection for each in other]
    assert [each.injection for each in one] != [
        each.injection for each in drawn(tickets({"cities": 200}, seed=8), most=20)
    ]
    # A note has another id in another database.
    elsewhere = drawn(tickets({"cities": 200}, note=99, sha="a"), tickets({"cities": 200}, note=3, sha="b"), most=20)
    assert [each.injection for each in elsewhere] == [each.injection for each in one]


def test_what_is_possible_is_counted_beyond_what_is_kept():
    draw = Draw(5)
    draw.add(tickets({"cities": 50, "eponyms": 1}))
    assert dict(draw.possible) == {"cities": 50, "eponyms": 1}
    assert len(draw.drawn(RULES)) == 5
