import math
from itertools import groupby, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.spans import Span
from annotations.domain.voting import SOURCE, Member, Method, source_of, vote

ALL = list(Method)
A, B, C = Member("a"), Member("b"), Member("c")
CITY, WHOLE = Span(20, 26, "CITY"), Span(0, 10, "NAME")


def places(spans):
    return [(span.start, span.end, span.label) for span in spans]


@pytest.mark.parametrize("method", ALL)
def test_what_all_say_stands_with_every_method(method: Method) -> None:
    reading = [WHOLE, Span(10, 14, "NAME"), CITY]  # the first two touch
    assert vote(method, [A, B, C], [reading] * 3) == reading
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
    readings = [[WHOLE, CITY, Span(30, 40, "DATE")], [WHOLE, CITY], [WHOLE]]
    assert places(vote(method, [A, B, C], readings)) == kept


def test_two_who_differ_are_no_majority_unless_one_weighs_more() -> None:
    readings = [[WHOLE], [CITY]]
    assert vote(Method.MAJORITY, [A, B], readings) == []
    assert vote(Method.WEIGHTED, [A, B], readings) == []
    assert vote(Method.WEIGHTED, [A, Member("b", 1.01)], readings) == [CITY]


def test_weights_count_in_a_weighted_vote_alone() -> None:
    heavy = [Member("a", 5), B, C]
    assert vote(Method.MAJORITY, heavy, [[WHOLE], [], []]) == []
    assert vote(Method.WEIGHTED, heavy, [[WHOLE], [], []]) == [WHOLE]
    assert vote(Method.WEIGHTED, heavy, [[], [WHOLE], [WHOLE]]) == []


def test_where_most_mark_a_place_but_differ_on_its_ends_the_longest_span_stands() -> None:
    readings = [[Span(0, 10, "NAME")], [Span(0, 14, "NAME")], [Span(4, 20, "NAME")]]
    assert places(vote(Method.MAJORITY, [A, B, C], readings)) == [(4, 20, "NAME")]
    assert places(vote(Method.UNION, [A, B, C], readings)) == [(0, 20, "NAME")]
    assert vote(Method.INTERSECTION, [A, B, C], readings) == []  # all must say the same
    assert places(vote(Method.MAJORITY, [A, B, C], [*readings[:2], []])) == [(0, 14, "NAME")]
    apart = [[Span(0, 10, "NAME")], [Span(20, 30, "NAME")], []]
    assert vote(Method.MAJORITY, [A, B, C], apart) == []


def test_a_span_that_most_gave_wins_over_a_longer_one() -> None:
    agreed, longer = Span(4, 10, "NAME"), Span(0, 14, "NAME")
    assert vote(Method.MAJORITY, [A, B, C], [[agreed], [agreed], [longer]]) == [agreed]
    four = [Member(name) for name in "abcd"]
    assert vote(Method.MAJORITY, four, [[agreed], [agreed], [longer], [Span(0, 10, "NAME")]]) == [agreed]


def test_a_member_who_runs_two_spans_together_is_outvoted() -> None:
    two, one = [Span(0, 5, "X"), Span(5, 9, "X")], [Span(0, 9, "X")]
    assert vote(Method.MAJORITY, [A, B, C], [two, two, one]) == two
    assert vote(Method.MAJORITY, [A, B, C], [one, one, two]) == one
    assert vote(Method.UNION, [A, B, C], [one, two, []]) == one


def test_what_one_member_says_twice_is_one_vote() -> None:
    twice = [Span(0, 9, "X"), Span(0, 9, "X", 0.5), Span(2, 5, "X")]
    assert vote(Method.MAJORITY, [A, B, C], [twice, [], []]) == []


def test_who_differs_about_the_label_alone_still_sees_an_identifier() -> None:
    readings = [[Span(0, 10, "CITY", 0.7)], [Span(0, 10, "STATE", 0.9)], []]
    (span,) = vote(Method.MAJORITY, [A, B, C], readings)
    assert span == Span(0, 10, "STATE", 0.3, "majority:b")  # the surer; how sure they all are of STATE
    assert vote(Method.MAJORITY, [A, B, C], [readings[0], [], []]) == []
    assert vote(Method.INTERSECTION, [A, B, C], [[Span(0, 10, label)] for label in ("CITY", "STATE", "ZIP")]) == []
    # Votes for a place and label come first; then who is surer, the longest, the earliest, the first label by name.
    four = [Member(name) for name in "abcd"]
    outvoted = [[Span(0, 10, "CITY", 0.9)], [Span(0, 4, "STATE", 0.2)], [Span(0, 4, "STATE", 0.2)], []]
    assert places(vote(Method.MAJORITY, four, outvoted)) == [(0, 4, "STATE")]
    alike = [[Span(0, 10, "ZIP")], [Span(0, 10, "CITY")], []]
    assert places(vote(Method.MAJORITY, [A, B, C], alike)) == [(0, 10, "CITY")]
    longest = [[Span(0, 10, "CITY", 0.5)], [Span(0, 12, "ZIP", 0.5)], []]
    assert places(vote(Method.MAJORITY, [A, B, C], longest)) == [(0, 12, "ZIP")]
    # By weight, where votes are weighed.
    assert places(vote(Method.WEIGHTED, [A, Member("b", 2), Member("c", 2)], readings)) == [(0, 10, "STATE")]
    assert vote(Method.WEIGHTED, [A, B, Member("c", 3)], readings) == []


def test_labels_that_differ_take_nothing_from_a_span_that_stands() -> None:
    agreed = Span(5, 12, "NAME")
    readings = [[agreed, Span(0, 8, "CITY")], [agreed, Span(2, 9, "STATE")], []]
    assert vote(Method.MAJORITY, [A, B, C], readings) == [agreed]
    # Beside it one does: what most see is longer than what they agree on.
    readings = [[agreed, Span(14, 20, "CITY")], [agreed, Span(14, 18, "STATE")], []]
    assert places(vote(Method.MAJORITY, [A, B, C], readings)) == [(5, 12, "NAME"), (14, 20, "CITY")]


def test_two_disputed_stretches_may_get_one_span() -> None:
    four = [Member(name) for name in "abcd"]
    readings = [[Span(0, 1, "X")], [Span(0, 3, "X")], [Span(0, 3, "Y")], [Span(2, 3, "X", 0.0)]]
    assert places(vote(Method.MAJORITY, four, readings)) == [(0, 1, "X"), (2, 3, "X")]
    readings[0] = [Span(0, 1, "X", 0.0)]  # now the longer one is as sure
    assert places(vote(Method.MAJORITY, four, readings)) == [(0, 3, "X")]


def test_of_overlapping_spans_the_surest_stays_and_a_union_leaves_nothing_unmarked() -> None:
    sure, less = Span(0, 10, "NAME", 0.9), Span(5, 15, "CITY", 0.6)
    both = [[sure, less], [sure, less]]
    assert vote(Method.MAJORITY, [A, B], both) == [sure]
    assert vote(Method.UNION, [A, B], both) == [sure, less]
    assert vote(Method.UNION, [A, B], [[Span(0, 30, "ADDRESS")], [Span(4, 9, "CITY", 0.5)]]) == [Span(0, 30, "ADDRESS")]


def test_confidence_is_the_mean_of_how_sure_the_members_are() -> None:
    (span,) = vote(Method.MAJORITY, [A, B, C], [[Span(0, 10, "X", 0.9)], [Span(0, 10, "X")], []])
    assert (span.confidence, span.source) == (round(1.9 / 3, 4), "majority:a+b")
    (span,) = vote(Method.WEIGHTED, [Member("a", 3), B], [[Span(0, 10, "X", 0.5)], [Span(0, 5, "X", 0.5)]])
    assert places([span]) == [(0, 10, "X")]
    assert (span.confidence, span.source) == (round((3 * 0.5 + 1 * 0.25) / 4, 4), "weighted:a+b")
    (span,) = vote(Method.UNION, [A, B], [[Span(0, 10, "X", 0.0)], []])
    assert (span.confidence, span.source) == (0.0, "union:a")


def test_a_long_source_still_names_everybody() -> None:
    names = [f"{letter}" * 60 for letter in "abcd"]
    source = source_of(Method.INTERSECTION, names)
    assert len(source) <= SOURCE
    assert [name[:3] for name in source.removeprefix("intersection:").split("+")] == ["aaa", "bbb", "ccc", "ddd"]
    assert len(source_of(Method.UNION, [str(number) for number in range(100)])) <= SOURCE


@pytest.mark.parametrize(
    ("members", "readings", "why"),
    [
        ([A], [[WHOLE]], "at least 2"),
        ([A, B], [[WHOLE]], "2 members with 1"),
        ([A, Member("b", 0)], [[], []], "above 0"),
        ([A, Member("b", math.inf)], [[], []], "above 0"),
        ([A, Member("b", math.nan)], [[], []], "above 0"),
    ],
)
def test_what_can_t_vote_is_refused(members: list[Member], readings: list[list[Span]], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        vote(Method.MAJORITY, members, readings)


spans = st.builds(
    lambda start, length, label, sure: Span(start, start + length, label, sure),
    st.integers(0, 30), st.integers(1, 12), st.sampled_from("XYZ"), st.sampled_from([None, 0.0, 0.5, 1.0]),
)  # fmt: skip
readings = st.lists(st.lists(spans, max_size=6), min_size=2, max_size=5)


def meets(one, two):
    return one[0] < two[1] and two[0] < one[1]


def marked(reading):
    return {(at, span.label) for span in reading for at in range(span.start, span.end)}


@given(readings, st.sampled_from(ALL))
def test_outcomes_are_sorted_distinct_and_end_where_a_member_ends(given_readings, method) -> None:
    members = [Member(str(at), 1 + at) for at in range(len(given_readings))]
    out = vote(method, members, given_readings)
    assert out == sorted(set(out))
    assert {span.start for span in out} <= {span.start for reading in given_readings for span in reading}
    assert {span.end for span in out} <= {span.end for reading in given_readings for span in reading}
    assert all(0 <= span.confidence <= 1 and span.source for span in out)
    if method is not Method.UNION:
        assert all(one.end <= two.start for one, two in pairwise(out))


@given(readings)
def test_a_union_marks_what_any_marks_and_an_intersection_only_what_all_mark(given_readings) -> None:
    members = [Member(str(at)) for at in range(len(given_readings))]
    each = [marked(reading) for reading in given_readings]
    union = {at for at, _ in marked(vote(Method.UNION, members, given_readings))}
    assert union == {at for reading in each for at, _ in reading}
    assert marked(vote(Method.INTERSECTION, members, given_readings)) <= set.intersection(*each)


@given(readings)
def test_a_majority_holds_what_most_gave_and_only_places_that_a_member_gave(given_readings) -> None:
    members = [Member(str(at)) for at in range(len(given_readings))]
    out = set(places(vote(Method.MAJORITY, members, given_readings)))
    given_places = [set(places(reading)) for reading in given_readings]
    assert out <= set.union(*given_places)
    for place in set.union(*given_places):
        alone = all(place == other or not meets(place, other) for other in set.union(*given_places))
        if alone:
            assert (place in out) == (2 * sum(place in reading for reading in given_places) > len(members))


@given(readings)
def test_a_majority_leaves_no_stretch_unmarked_that_most_mark(given_readings) -> None:
    """Each such stretch meets a span, of whatever label, unless all that was given there runs into one that stands."""
    members = [Member(str(at)) for at in range(len(given_readings))]
    out = vote(Method.MAJORITY, members, given_readings)
    each = [{at for at, _ in marked(reading)} for reading in given_readings]
    most = {at for at in set.union(*each) if 2 * sum(at in one for one in each) > len(members)}
    given_places = {(span.start, span.end) for reading in given_readings for span in reading}
    stands = [(span.start, span.end) for span in out]
    for run in (list(run) for is_most, run in groupby(range(64), most.__contains__) if is_most):
        stretch = (run[0], run[-1] + 1)
        there = [place for place in given_places if meets(place, stretch)]
        assert any(meets(stretch, other) for other in stands) or all(
            any(meets(place, other) for other in stands) for place in there
        )


@given(readings, st.sampled_from([Method.UNION, Method.MAJORITY, Method.INTERSECTION]))
def test_the_order_of_members_changes_no_span(given_readings, method) -> None:
    members = [Member(str(at)) for at in range(len(given_readings))]
    assert vote(method, members, given_readings) == vote(method, members[::-1], given_readings[::-1])
