"""Pairwise F1: which spans two annotators share."""

from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.agreement.spans import PairwiseF1, Shared, share
from annotations.domain.matching import match
from annotations.domain.spans import Span


def shared(ours, theirs):
    counted = Shared()
    share(counted, set(ours), set(theirs))
    return counted.exact, counted.overlapping


def test_exact_first_then_one_to_one():
    assert shared([(0, 5, "A")], [(0, 5, "A")]) == (1, 1)
    assert shared([(0, 5, "A")], [(0, 5, "B")]) == (0, 0), "overlapping spans need the same label"
    assert shared([(0, 5, "A")], [(5, 9, "A")]) == (0, 0), "touching is not overlapping"
    assert shared([(0, 9, "A")], [(0, 4, "A"), (5, 9, "A")]) == (0, 1), "one to one"
    assert shared([(0, 5, "A"), (4, 9, "A")], [(0, 5, "A"), (3, 6, "A")]) == (1, 2)
    assert shared([(0, 6, "A"), (5, 9, "A")], [(0, 2, "A"), (3, 6, "A")]) == (0, 2), (
        "the longest overlap is not chosen greedily"
    )


def test_undefined_figures_have_a_reason():
    assert "no note in common" in Shared().f1(0).why
    assert "Neither annotator marked anything" in Shared(notes=1).f1(0).why
    assert Shared(notes=1, ours=1, theirs=3).f1(1).value == 0.5


def test_pairs_have_the_order_of_the_annotators():
    pairs = PairwiseF1()
    pairs.add(["a", "b", "c"], [{(0, 1, "A")}, {(0, 1, "A")}, set()])
    pairs.add(["a", "c"], [set(), set()])
    assert {names: (s.notes, s.exact) for names, s in pairs.pairs.items()} == {
        ("a", "b"): (1, 1),
        ("a", "c"): (2, 0),
        ("b", "c"): (1, 0),
    }


SPANS = st.sets(
    st.tuples(st.integers(0, 12), st.integers(1, 6), st.sampled_from("AB")).map(lambda t: (t[0], t[0] + t[1], t[2])),
    max_size=7,
)


@given(SPANS, SPANS)
def test_counts_are_those_of_matching_all_spans_and_symmetric(ours, theirs):
    pairs = match(
        [Span(*bounds) for bounds in sorted(ours)],
        [Span(*bounds) for bounds in sorted(theirs)],
        compatible=lambda p, g: p.label == g.label,
    )
    assert shared(ours, theirs) == (len(ours & theirs), len(pairs))
    assert shared(theirs, ours) == shared(ours, theirs)
