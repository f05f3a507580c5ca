import random
from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.matching import match
from annotations.domain.spans import Span, overlap_length, overlaps
from tests.timing import takes_at_most


def spans(limit: int = 5, labels: str = "AB") -> st.SearchStrategy[list[Span]]:
    drawn = st.tuples(st.integers(0, 9), st.integers(1, 6), st.sampled_from(labels))
    return st.lists(drawn.map(lambda d: Span(d[0], d[0] + d[1], d[2])), max_size=limit)


def same_label(a: Span, b: Span) -> bool:
    return a.label == b.label


def same_group(a: Span, b: Span) -> bool:
    """A and B belong to one category, C to another."""
    return (a.label == "C") == (b.label == "C")


RULES = [None, same_label, same_group]


def worth(pairs: Sequence[tuple[int, int]], predicted: Sequence[Span], gold: Sequence[Span]) -> tuple[int, ...]:
    """The criteria by which `match` chooses a matching."""
    both = [(predicted[p], gold[g]) for p, g in pairs]
    return (
        sum(p == g for p, g in both),
        sum((p.start, p.end) == (g.start, g.end) for p, g in both),
        len(both),
        sum(overlap_length(p, g) for p, g in both),
        sum(p.label == g.label for p, g in both),
    )


def best_by_trying(predicted: Sequence[Span], gold: Sequence[Span], compatible) -> tuple[int, ...]:
    choices = [
        [None, *(g for g, b in enumerate(gold) if overlaps(a, b) and (compatible is None or compatible(a, b)))]
        for a in predicted
    ]
    best = (0,) * 5
    for choice in product(*choices):
        taken = [g for g in choice if g is not None]
        if len(taken) == len(set(taken)):
            best = max(best, worth([(p, g) for p, g in enumerate(choice) if g is not None], predicted, gold))
    return best


@pytest.mark.parametrize("compatible", RULES)
@given(predicted=spans(labels="ABC"), gold=spans(labels="ABC"))
def test_it_is_the_best_of_all_matchings(compatible, predicted: list[Span], gold: list[Span]) -> None:
    pairs = match(predicted, gold, compatible=compatible)
    assert pairs == sorted(pairs)
    assert len({p for p, _ in pairs}) == len({g for _, g in pairs}) == len(pairs)
    for p, g in pairs:
        assert overlaps(predicted[p], gold[g])
        assert compatible is None or compatible(predicted[p], gold[g])
    assert worth(pairs, predicted, gold) == best_by_trying(predicted, gold, compatible)


@given(spans(12, "ABC"), spans(12, "ABC"))
def test_matching_is_symmetric(predicted: list[Span], gold: list[Span]) -> None:
    there = match(predicted, gold)
    back = [(p, g) for g, p in match(gold, predicted)]
    assert worth(there, predicted, gold) == worth(back, predicted, gold)


@given(spans(20, "ABC"))
def test_a_set_matches_itself(given_spans: list[Span]) -> None:
    pairs = match(given_spans, given_spans)
    assert len(pairs) == len(given_spans)
    assert all(given_spans[p] == given_spans[g] for p, g in pairs)


def test_exact_pairs_come_before_more_pairs() -> None:
    predicted = [Span(0, 10, "A"), Span(4, 6, "A")]
    gold = [Span(4, 6, "A")]
    assert match(predicted, gold) == [(1, 0)]
    predicted, gold = [Span(0, 5, "A"), Span(5, 9, "A")], [Span(0, 5, "A"), Span(3, 4, "A")]
    assert match(predicted, gold) == [(0, 0)]


def test_more_pairs_come_before_more_overlap() -> None:
    predicted = [Span(0, 10, "A"), Span(10, 12, "A")]
    gold = [Span(9, 11, "A"), Span(1, 10, "A")]
    assert match(predicted, gold) == [(0, 1), (1, 0)]
    predicted, gold = [Span(0, 4, "A"), Span(4, 8, "A")], [Span(3, 8, "A"), Span(0, 1, "A")]
    assert match(predicted, gold) == [(0, 1), (1, 0)]


def test_touching_spans_are_not_paired() -> None:
    assert match([Span(0, 5, "A")], [Span(5, 9, "A")]) == []
    assert match([], [Span(5, 9, "A")]) == match([Span(5, 9, "A")], []) == []


def test_many_spans_are_quick() -> None:
    shuffle = random.Random(7)
    starts = list(range(700))
    shuffle.shuffle(starts)
    gold = [Span(at * 10, at * 10 + 16, "A") for at in starts]
    chained = [Span(at * 10 + 5, at * 10 + 21, "A") for at in starts]
    loose = [Span(at, at + shuffle.randint(1, 60), "A") for at in (shuffle.randrange(3_500) for _ in range(700))]
    assert len(match(gold, gold)) == len(match(chained, gold)) == 700
    assert all(takes_at_most(1, lambda: match(made, gold)) for made in (gold, chained, loose))  # noqa: B023
