"""Leaks of two searches, put together."""

from hypothesis import given
from hypothesis import strategies as st

from annotations.release.rules.leaks.gate import Leak
from annotations.release.rules.leaks.needles import Needle
from annotations.release.rules.redaction.policy import IdentifierType as Kind
from annotations.release.services.searching import merged, with_longer
from tests.timing import takes_at_most

NEEDLE = Needle("Wilson", "NAME", Kind.NAME)


def leak(start: int, end: int) -> Leak:
    return Leak(start, end, NEEDLE, part=False)


LEAKS = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 5)).map(lambda place: leak(place[0], sum(place))))


def overlap(one: Leak, other: Leak) -> bool:
    return one.start < other.end and other.start < one.end


@given(LEAKS, LEAKS)
def test_a_leak_of_the_second_search_gives_way_to_one_of_the_first(first: list[Leak], second: list[Leak]) -> None:
    added = [other for other in second if not any(overlap(one, other) for one in first)]
    assert merged(first, second) == sorted([*first, *added], key=lambda one: one.start)


@given(LEAKS, LEAKS)
def test_a_shorter_leak_gives_way_to_one_that_has_all_of_it(first: list[Leak], second: list[Leak]) -> None:
    kept = [
        one
        for one in first
        if not any(
            other.start <= one.start and one.end <= other.end and (other.start, other.end) != (one.start, one.end)
            for other in second
        )
    ]
    assert with_longer(first, second) == merged(kept, second)


def test_many_leaks_are_compared_in_linear_time() -> None:
    first, second = ([leak(at, at + 2) for at in range(begin, 200_000, 4)] for begin in (0, 1))
    assert len(with_longer(first, second)) == 50_000
    assert takes_at_most(2, lambda: with_longer(first, second))
