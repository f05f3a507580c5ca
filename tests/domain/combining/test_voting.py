import math
from itertools import groupby, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.combining.voting import SOURCE, Member, Method, source_of, vote
from annotations.domain.spans import Span

ALL = list(Method)
A, B, C = Member("a"), Member("b"), Member("c")
CITY, WHOLE = Span(20, 26, "CITY"), Span(0, 10, "NAME")


def plain(spans):
    return [(span.start, span.end, span.label) for span in spans]


@pytest.mark.parametrize("method", ALL)
def test_spans_of_all_members_win_with_every_method(method: Method) -> None:
    annotation_set = [WHOLE, Span(10, 14, "NAME"), CITY]  # the first two touch
    assert vote(method, [A, B, C], [annotation_set] * 3) == annotation_set
    assert vote(method, [A, B], [[], []]) == []


@pytest.mark.parametrize(
    ("method", "kept"),
    [
        (Method.UNION, [(0, 10, "NAME"), (20, 26, "CITY"), (30, 40, "DATE")]),
        (Method.MAJORITY, [(0, 10, "NAME"), (20, 26, "CITY")]),
        (Method.INTERSECTION, [(0, 10, "NAME")]),
    ],
)
def test_one_two_and_three_of_three(method: Method, kept: list[tuple[int, int, str]]) -> None:
    annotation_sets = [[WHOLE, CITY, Span(30, 40, "DATE")], [WHOLE, CITY], [WHOLE]]
    assert plain(vote(method, [A, B, C], annotation_sets)) == kept


def test_two_members_who_differ_have_no_majority_unless_one_has_more_weight() -> None:
    annotation_sets = [[WHOLE], [CITY]]
    assert vote(Method.MAJORITY, [A, B], annotation_sets) == []
    assert vote(Method.WEIGHTED, [A, B], annotation_sets) == []
    assert vote(Method.WEIGHTED, [A, Member("b", 1.01)], annotation_sets) == [CITY]


def test_weights_count_only_in_a_weighted_vote() -> None:
    heavy = [Member("a", 5), B, C]
    assert vote(Method.MAJORITY, heavy, [[WHOLE], [], []]) == []
    assert vote(Method.WEIGHTED, heavy, [[WHOLE], [], []]) == [WHOLE]
    assert vote(Method.WEIGHTED, heavy, [[], [WHOLE], [WHOLE]]) == []


def test_where_most_members_mark_different_bounds_the_longest_span_wins() -> None:
    annotation_sets = [[Span(0, 10, "NAME")], [Span(0, 14, "NAME")], [Span(4, 20, "NAME")]]
    assert plain(vote(Method.MAJORITY, [A, B, C], annotation_sets)) == [(4, 20, "NAME")]
    assert plain(vote(Method.UNION, [A, B, C], annotation_sets)) == [(0, 20, "NAME")]
    assert vote(Method.INTERSECTION, [A, B, C], annotation_sets) == []  # all members must give the same span
    assert plain(vote(Method.MAJORITY, [A, B, C], [*annotation_sets[:2], []])) == [(0, 14, "NAME")]
    apart = [[Span(0, 10, "NAME")], [Span(20, 30, "NAME")], []]
    assert vote(Method.MAJORITY, [A, B, C], apart) == []


def test_a_span_with_more_votes_wins_over_a_longer_one() -> None:
    agreed, longer = Span(4, 10, "NAME"), Span(0, 14, "NAME")
    assert vote(Method.MAJORITY, [A, B, C], [[agreed], [agreed], [longer]]) == [agreed]
    four = [Member(name) for name in "abcd"]
    assert vote(Method.MAJORITY, four, [[agreed], [agreed], [longer], [Span(0, 10, "NAME")]]) == [agreed]


def test_a_member_who_joins_two_spans_is_outvoted() -> None:
    two, one = [Span(0, 5, "X"), Span(5, 9, "X")], [Span(0, 9, "X")]
    assert vote(Method.MAJORITY, [A, B, C], [two, two, one]) == two
    assert vote(Method.MAJORITY, [A, B, C], [one, one, two]) == one
    assert vote(Method.UNION, [A, B, C], [one, two, []]) == one


def test_a_duplicate_span_of_a_member_is_one_vote() -> None:
    twice = [Span(0, 9, "X"), Span(0, 9, "X", 0.5), Span(2, 5, "X")]
    assert vote(Method.MAJORITY, [A, B, C], [twice, [], []]) == []


def test_members_who_differ_only_in_the_label_still_mark_an_identifier() -> None:
    annotation_sets = [[Span(0, 10, "CITY", 0.7)], [Span(0, 10, "STATE", 0.9)], []]
    (span,) = vote(Method.MAJORITY, [A, B, C], annotation_sets)
    assert span == Span(0, 10, "STATE", 0.3, "majority:b")  # higher confidence; mean over members
    assert vote(Method.MAJORITY, [A, B, C], [annotation_sets[0], [], []]) == []
    assert vote(Method.INTERSECTION, [A, B, C], [[Span(0, 10, label)] for label in ("CITY", "STATE", "ZIP")]) == []
    # The most votes for bounds and label win; then the confidence, the longest, the earliest, the first label by name.
    four = [Member(name) for name in "abcd"]
    outvoted = [[Span(0, 10, "CITY", 0.9)], [Span(0, 4, "STATE", 0.2)], [Span(0, 4, "STATE", 0.2)], []]
    assert plain(vote(Method.MAJORITY, four, outvoted)) == [(0, 4, "STATE")]
    alike = [[Span(0, 10, "ZIP")], [Span(0, 10, "CITY")], []]
    assert plain(vote(Method.MAJORITY, [A, B, C], alike)) == [(0, 10, "CITY")]
    longest = [[Span(0, 10, "CITY", 0.5)], [Span(0, 12, "ZIP", 0.5)], []]
    assert plain(vote(Method.MAJORITY, [A, B, C], longest)) == [(0, 12, "ZIP")]
    # In a weighted vote, the weights count.
    assert plain(vote(Method.WEIGHTED, [A, Member("b", 2), Member("c", 2)], annotation_sets)) == [(0, 10, "STATE")]
    assert vote(Method.WEIGHTED, [A, B, Member("c", 3)], annotation_sets) == []


def test_spans_with_different_labels_don_t_replace_a_winner() -> None:
    agreed = Span(5, 12, "NAME")
    annotation_sets = [[agreed, Span(0, 8, "CITY")], [agreed, Span(2, 9, "STATE")], []]
    assert vote(Method.MAJORITY, [A, B, C], annotation_sets) == [agreed]
    # Outside of the winner, one of the spans with different labels wins.
    annotation_sets = [[agreed, Span(14, 20, "CITY")], [agreed, Span(14, 18, "STATE")], []]
    assert plain(vote(Method.MAJORITY, [A, B, C], annotation_sets)) == [(5, 12, "NAME"), (14, 20, "CITY")]


def test_two_disputed_stretches_may_get_one_span() -> None:
    four = [Member(name) for name in "abcd"]
    annotation_sets = [[Span(0, 1, "X")], [Span(0, 3, "X")], [Span(0, 3, "Y")], [Span(2, 3, "X", 0.0)]]
    assert plain(vote(Method.MAJORITY, four, annotation_sets)) == [(0, 1, "X"), (2, 3, "X")]
    annotation_sets[0] = [Span(0, 1, "X", 0.0)]  # now both spans have the same confidence
    assert plain(vote(Method.MAJORITY, four, annotation_sets)) == [(0, 3, "X")]


def test_of_overlapping_spans_the_highest_confidence_wins_and_a_union_keeps_all_characters() -> None:
    high, low = Span(0, 10, "NAME", 0.9), Span(5, 15, "CITY", 0.6)
    both = [[high, low], [high, low]]
    assert vote(Method.MAJORITY, [A, B], both) == [high]
    assert vote(Method.UNION, [A, B], both) == [high, low]
    assert vote(Method.UNION, [A, B], [[Span(0, 30, "ADDRESS")], [Span(4, 9, "CITY", 0.5)]]) == [Span(0, 30, "ADDRESS")]


def test_confidence_is_the_mean_over_members() -> None:
    (span,) = vote(Method.MAJORITY, [A, B, C], [[Span(0, 10, "X", 0.9)], [Span(0, 10, "X")], []])
    assert (span.confidence, span.source) == (round(1.9 / 3, 4), "majority:a+b")
    (span,) = vote(Method.WEIGHTED, [Member("a", 3), B], [[Span(0, 10, "X", 0.5)], [Span(0, 5, "X", 0.5)]])
    assert plain([span]) == [(0, 10, "X")]
    assert (span.confidence, span.source) == (round((3 * 0.5 + 1 * 0.25) / 4, 4), "weighted:a+b")
    (span,) = vote(Method.UNION, [A, B], [[Span(0, 10, "X", 0.0)], []])
    assert (span.confidence, span.source) == (0.0, "union:a")


def test_a_long_source_still_names_all_members() -> None:
    names = [f"{letter}" * 60 for letter in "abcd"]
    source = source_of(Method.INTERSECTION, names)
    assert len(source) <= SOURCE
    assert [name[:3] for name in source.removeprefix("intersection:").split("+")] == ["aaa", "bbb", "ccc", "ddd"]
    assert len(source_of(Method.UNION, [str(number) for number in range(100)])) <= SOURCE


@pytest.mark.parametrize(
    ("members", "annotation_sets", "why"),
    [
        ([A], [[WHOLE]], "2"),
        ([A, B], [[WHOLE]], "2 .* 1"),
        ([A, Member("b", 0)], [[], []], "above 0"),
        ([A, Member("b", math.inf)], [[], []], "above 0"),
        ([A, Member("b", math.nan)], [[], []], "above 0"),
    ],
)
def test_invalid_members_are_refused(members: list[Member], annotation_sets: list[list[Span]], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        vote(Method.MAJORITY, members, annotation_sets)


spans = st.builds(
    lambda start, length, label, confidence: Span(start, start + length, label, confidence),
    st.integers(0, 30), st.integers(1, 12), st.sampled_from("XYZ"), st.sampled_from([None, 0.0, 0.5, 1.0]),
)  # fmt: skip
annotation_sets = st.lists(st.lists(spans, max_size=6), min_size=2, max_size=5)


def overlap(one, two):
    return one[0] < two[1] and two[0] < one[1]


def marked(annotation_set):
    return {(at, span.label) for span in annotation_set for at in range(span.start, span.end)}


@given(annotation_sets, st.sampled_from(ALL))
def test_results_are_sorted_and_distinct_and_have_bounds_from_members(given_annotation_sets, method) -> None:
    members = [Member(str(at), 1 + at) for at in range(len(given_annotation_sets))]
    out = vote(method, members, given_annotation_sets)
    assert out == sorted(set(out))
    assert {span.start for span in out} <= {
        span.start for annotation_set in given_annotation_sets for span in annotation_set
    }
    assert {span.end for span in out} <= {
        span.end for annotation_set in given_annotation_sets for span in annotation_set
    }
    assert all(0 <= span.confidence <= 1 and span.source for span in out)
    if method is not Method.UNION:
        assert all(one.end <= two.start for one, two in pairwise(out))


@given(annotation_sets)
def test_a_union_marks_what_any_member_marks_and_an_intersection_only_what_all_mark(given_annotation_sets) -> None:
    members = [Member(str(at)) for at in range(len(given_annotation_sets))]
    each = [marked(annotation_set) for annotation_set in given_annotation_sets]
    union = {at for at, _ in marked(vote(Method.UNION, members, given_annotation_sets))}
    assert union == {at for annotation_set in each for at, _ in annotation_set}
    assert marked(vote(Method.INTERSECTION, members, given_annotation_sets)) <= set.intersection(*each)


@given(annotation_sets)
def test_a_majority_has_the_spans_of_most_members_and_only_spans_of_members(given_annotation_sets) -> None:
    members = [Member(str(at)) for at in range(len(given_annotation_sets))]
    out = set(plain(vote(Method.MAJORITY, members, given_annotation_sets)))
    given_spans = [set(plain(annotation_set)) for annotation_set in given_annotation_sets]
    assert out <= set.union(*given_spans)
    for span in set.union(*given_spans):
        alone = all(span == other or not overlap(span, other) for other in set.union(*given_spans))
        if alone:
            assert (span in out) == (2 * sum(span in annotation_set for annotation_set in given_spans) > len(members))


@given(annotation_sets)
def test_a_majority_marks_every_stretch_that_most_members_mark(given_annotation_sets) -> None:
    """Each such stretch overlaps a result, unless all candidates there overlap another result."""
    members = [Member(str(at)) for at in range(len(given_annotation_sets))]
    out = vote(Method.MAJORITY, members, given_annotation_sets)
    each = [{at for at, _ in marked(annotation_set)} for annotation_set in given_annotation_sets]
    most = {at for at in set.union(*each) if 2 * sum(at in one for one in each) > len(members)}
    given_spans = {(span.start, span.end) for annotation_set in given_annotation_sets for span in annotation_set}
    stands = [(span.start, span.end) for span in out]
    for run in (list(run) for is_most, run in groupby(range(64), most.__contains__) if is_most):
        stretch = (run[0], run[-1] + 1)
        there = [span for span in given_spans if overlap(span, stretch)]
        assert any(overlap(stretch, other) for other in stands) or all(
            any(overlap(span, other) for other in stands) for span in there
        )


@given(annotation_sets, st.sampled_from([Method.UNION, Method.MAJORITY, Method.INTERSECTION]))
def test_the_order_of_members_changes_no_span(given_annotation_sets, method) -> None:
    members = [Member(str(at)) for at in range(len(given_annotation_sets))]
    assert vote(method, members, given_annotation_sets) == vote(method, members[::-1], given_annotation_sets[::-1])


@pytest.mark.parametrize("method", ALL)
def test_attributes_of_the_members_with_these_bounds_are_kept(method: Method) -> None:
    given = [(("Status", "past"),), (("Family", True), ("Status", "current"))]
    (found,) = vote(method, [A, B], [[Span(0, 10, "NAME", attributes=each)] for each in given])
    assert found.attributes == (("Family", True), ("Status", "past"))
