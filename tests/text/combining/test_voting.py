import math
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.text.attributes import Doubtful, doubtful
from annotations.text.combining import Method, VotingModel, conflicting_spans, merge, vote
from annotations.text.spans import Span, overlaps

ALL = list(Method)
A, B, C = VotingModel("a"), VotingModel("b"), VotingModel("c")
FOUR = [VotingModel(name) for name in "abcd"]
CITY, WHOLE = Span(20, 26, "CITY"), Span(0, 10, "NAME")


def plain(spans):
    return [(span.start, span.end, span.label) for span in spans]


@pytest.mark.parametrize("method", ALL)
def test_spans_of_all_members_win_with_every_method(method: Method) -> None:
    annotation_set = [WHOLE, Span(10, 14, "NAME"), CITY]  # the first two touch
    assert vote(method, [A, B, C], [annotation_set] * 3) == annotation_set and vote(method, [A, B], [[], []]) == []
    # Attributes of the members with these bounds are kept.
    given = [(("Status", "past"),), (("Family", True), ("Status", "current"))]
    (found,) = vote(method, [A, B], [[Span(0, 10, "NAME", attributes=each)] for each in given])
    assert found.attributes == (("Family", True), ("Status", "past"))


def test_one_two_and_three_of_three() -> None:
    date = Span(30, 40, "DATE")
    kept = {Method.UNION: [WHOLE, CITY, date], Method.MAJORITY: [WHOLE, CITY], Method.INTERSECTION: [WHOLE]}
    for method, spans in kept.items():
        assert vote(method, [A, B, C], [[WHOLE, CITY, date], [WHOLE, CITY], [WHOLE]]) == spans


def test_weights_count_only_in_a_weighted_vote() -> None:
    heavy = [VotingModel("a", 5), B, C]
    assert vote(Method.MAJORITY, heavy, [[WHOLE], [], []]) == []
    assert vote(Method.WEIGHTED, heavy, [[WHOLE], [], []]) == [WHOLE]
    assert vote(Method.WEIGHTED, heavy, [[], [WHOLE], [WHOLE]]) == []
    # Two members who differ have no majority unless one has more weight.
    assert vote(Method.MAJORITY, [A, B], [[WHOLE], [CITY]]) == vote(Method.WEIGHTED, [A, B], [[WHOLE], [CITY]]) == []
    assert vote(Method.WEIGHTED, [A, VotingModel("b", 1.01)], [[WHOLE], [CITY]]) == [CITY]


def test_where_most_members_mark_different_bounds_the_longest_span_wins() -> None:
    annotation_sets = [[Span(0, 10, "NAME")], [Span(0, 14, "NAME")], [Span(4, 20, "NAME")]]
    assert plain(vote(Method.MAJORITY, [A, B, C], annotation_sets)) == [(4, 20, "NAME")]
    assert plain(vote(Method.UNION, [A, B, C], annotation_sets)) == [(0, 20, "NAME")]
    assert vote(Method.INTERSECTION, [A, B, C], annotation_sets) == []  # all members must give the same span
    assert plain(vote(Method.MAJORITY, [A, B, C], [*annotation_sets[:2], []])) == [(0, 14, "NAME")]
    apart = [[Span(0, 10, "NAME")], [Span(20, 30, "NAME")], []]
    assert vote(Method.MAJORITY, [A, B, C], apart) == []


def test_more_votes_win() -> None:
    # A span with more votes wins over a longer one.
    agreed, longer = Span(4, 10, "NAME"), Span(0, 14, "NAME")
    assert vote(Method.MAJORITY, [A, B, C], [[agreed], [agreed], [longer]]) == [agreed]
    assert vote(Method.MAJORITY, FOUR, [[agreed], [agreed], [longer], [Span(0, 10, "NAME")]]) == [agreed]
    # A member who joins two spans is outvoted.
    two, one = [Span(0, 5, "X"), Span(5, 9, "X")], [Span(0, 9, "X")]
    assert vote(Method.MAJORITY, [A, B, C], [two, two, one]) == two
    assert vote(Method.MAJORITY, [A, B, C], [one, one, two]) == one
    assert vote(Method.UNION, [A, B, C], [one, two, []]) == one
    # A duplicate span of a member is one vote.
    twice = [Span(0, 9, "X"), Span(0, 9, "X", 0.5), Span(2, 5, "X")]
    assert vote(Method.MAJORITY, [A, B, C], [twice, [], []]) == []
    # Two disputed stretches may get one span.
    sets = [[Span(0, 1, "X")], [Span(0, 3, "X")], [Span(0, 3, "Y")], [Span(2, 3, "X", 0.0)]]
    assert vote(Method.MAJORITY, FOUR, sets) == [Span(0, 1, "X"), Span(2, 3, "X")]
    sets[0] = [Span(0, 1, "X", 0.0)]  # now both spans have the same confidence
    assert vote(Method.MAJORITY, FOUR, sets) == [Span(0, 3, "X")]


def test_members_who_differ_only_in_the_label_still_mark_an_identifier() -> None:
    annotation_sets = [[Span(0, 10, "CITY", 0.7)], [Span(0, 10, "STATE", 0.9)], []]
    (span,) = vote(Method.MAJORITY, [A, B, C], annotation_sets)
    assert span == Span(0, 10, "STATE", 0.3, "majority:b")  # higher confidence; mean over members
    assert vote(Method.MAJORITY, [A, B, C], [annotation_sets[0], [], []]) == []
    assert vote(Method.INTERSECTION, [A, B, C], [[Span(0, 10, label)] for label in ("CITY", "STATE", "ZIP")]) == []
    # The most votes for bounds and label win; then the confidence, the longest, the earliest, the first label by name.
    outvoted = [[Span(0, 10, "CITY", 0.9)], [Span(0, 4, "STATE", 0.2)], [Span(0, 4, "STATE", 0.2)], []]
    assert plain(vote(Method.MAJORITY, FOUR, outvoted)) == [(0, 4, "STATE")]
    alike = [[Span(0, 10, "ZIP")], [Span(0, 10, "CITY")], []]
    assert plain(vote(Method.MAJORITY, [A, B, C], alike)) == [(0, 10, "CITY")]
    longest = [[Span(0, 10, "CITY", 0.5)], [Span(0, 12, "ZIP", 0.5)], []]
    assert plain(vote(Method.MAJORITY, [A, B, C], longest)) == [(0, 12, "ZIP")]
    # In a weighted vote, the weights count.
    assert plain(vote(Method.WEIGHTED, [A, VotingModel("b", 2), VotingModel("c", 2)], annotation_sets)) == [
        (0, 10, "STATE")
    ]
    assert vote(Method.WEIGHTED, [A, B, VotingModel("c", 3)], annotation_sets) == []


def test_spans_with_different_labels_don_t_replace_a_winner() -> None:
    agreed = Span(5, 12, "NAME")
    annotation_sets = [[agreed, Span(0, 8, "CITY")], [agreed, Span(2, 9, "STATE")], []]
    assert vote(Method.MAJORITY, [A, B, C], annotation_sets) == [agreed]
    # Outside of the winner, one of the spans with different labels wins.
    annotation_sets = [[agreed, Span(14, 20, "CITY")], [agreed, Span(14, 18, "STATE")], []]
    assert plain(vote(Method.MAJORITY, [A, B, C], annotation_sets)) == [(5, 12, "NAME"), (14, 20, "CITY")]


def test_confidence_is_the_mean_over_members() -> None:
    (span,) = vote(Method.MAJORITY, [A, B, C], [[Span(0, 10, "X", 0.9)], [Span(0, 10, "X")], []])
    assert (span.confidence, span.source) == (round(1.9 / 3, 4), "majority:a+b")
    (span,) = vote(Method.WEIGHTED, [VotingModel("a", 3), B], [[Span(0, 10, "X", 0.5)], [Span(0, 5, "X", 0.5)]])
    assert plain([span]) == [(0, 10, "X")]
    assert (span.confidence, span.source) == (round((3 * 0.5 + 1 * 0.25) / 4, 4), "weighted:a+b")
    (span,) = vote(Method.UNION, [A, B], [[Span(0, 10, "X", 0.0)], []])
    assert (span.confidence, span.source) == (0.0, "union:a")


INVALID_MEMBERS = [
    ([A], [[WHOLE]], "2"), ([A, B], [[WHOLE]], "2 .* 1"), ([A, VotingModel("b", 0)], [[], []], "above 0"),
    ([A, VotingModel("b", math.inf)], [[], []], "above 0"), ([A, VotingModel("b", math.nan)], [[], []], "above 0"),
]  # fmt: skip


@pytest.mark.parametrize(("members", "annotation_sets", "why"), INVALID_MEMBERS)
def test_invalid_members_are_refused(members: list[VotingModel], annotation_sets: list[list[Span]], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        vote(Method.MAJORITY, members, annotation_sets)


spans = st.builds(
    lambda start, length, label, confidence: Span(start, start + length, label, confidence),
    st.integers(0, 30), st.integers(1, 12), st.sampled_from("XYZ"), st.sampled_from([None, 0.0, 0.5, 1.0]),
)  # fmt: skip
annotation_sets = st.lists(st.lists(spans, max_size=6), min_size=2, max_size=5)


def marked(annotation_set):
    return {(at, span.label) for span in annotation_set for at in range(span.start, span.end)}


def members_of(sets):
    return [VotingModel(str(at)) for at in range(len(sets))]


@given(annotation_sets)
def test_a_union_marks_what_any_member_marks_and_an_intersection_only_what_all_mark(sets) -> None:
    each = [marked(annotation_set) for annotation_set in sets]
    union = {at for at, _ in marked(vote(Method.UNION, members_of(sets), sets))}
    assert union == {at for annotation_set in each for at, _ in annotation_set}
    assert marked(vote(Method.INTERSECTION, members_of(sets), sets)) <= set.intersection(*each)


@given(annotation_sets)
def test_a_majority_has_the_spans_of_most_members_and_only_spans_of_members(sets) -> None:
    out = set(vote(Method.MAJORITY, members_of(sets), sets))
    every = set().union(*sets)
    assert out <= every
    for span in every:
        if all(span == other or not overlaps(span, other) for other in every):
            assert (span in out) == (2 * sum(span in annotation_set for annotation_set in sets) > len(sets))


@given(annotation_sets)
def test_a_majority_marks_every_stretch_that_most_members_mark(sets) -> None:
    """Each such stretch overlaps a result, unless all candidates there overlap another result."""
    out = vote(Method.MAJORITY, members_of(sets), sets)
    each = [{at for at, _ in marked(annotation_set)} for annotation_set in sets]
    most = {at for at in set.union(*each) if 2 * sum(at in one for one in each) > len(sets)}
    for run in (list(run) for is_most, run in groupby(range(64), most.__contains__) if is_most):
        stretch = Span(run[0], run[-1] + 1, "")
        there = [span for annotation_set in sets for span in annotation_set if overlaps(span, stretch)]
        assert all(any(overlaps(span, other) for other in out) for span in there) or any(
            overlaps(stretch, other) for other in out
        )


# ── Merged lists of several runs' suggestions ────────────────────────────────────────────────────────────────────────


NAMES = ("rules", "crf", "llm")


def told(merged):
    return [(s.start, s.end, s.label, s.confidence, s.source, s.provenance["agree"], s.clear) for s in merged]


def test_every_distinct_span_is_listed_once_with_its_runs():
    rules = [Span(0, 5, "PATIENT", 0.9, "title"), Span(20, 26, "CITY", 0.6)]
    crf = [Span(0, 5, "PATIENT"), Span(0, 11, "PATIENT", 0.3)]
    found = merge(NAMES, [rules, crf, [Span(0, 5, "DOCTOR", 0.75)]])
    assert told(found) == [
        (0, 5, "DOCTOR", 0.25, "llm", 1, 0),
        (0, 5, "PATIENT", 0.6333, "rules+crf", 2, 2),
        (0, 11, "PATIENT", 0.1, "crf", 1, 0),  # the conflicting spans have as many runs
        (20, 26, "CITY", 0.2, "rules", 1, 1),
    ]
    runs = [{"run": "rules", "confidence": 0.9, "source": "title"}, {"run": "crf", "confidence": None, "source": ""}]
    assert found[1].provenance == {"runs": runs, "agree": 2, "of": 3, "clear": 2}


def test_a_span_is_doubtful_if_all_its_runs_doubt_it():
    def doubted(start, end):
        return Doubtful(start, end, "PATIENT", None, "rewrite", removed=((end, end + 3),), places=2)

    found = merge(NAMES, [[Span(0, 5, "PATIENT")], [doubted(0, 5), doubted(20, 26)], [doubted(20, 26)]])
    assert [(s.start, s.provenance["agree"], "unsupported" in s.provenance) for s in found] == [
        (0, 2, False), (20, 2, True)
    ]  # fmt: skip
    assert found[1].provenance["removed"] == [[26, 29]] and found[1].provenance["places"] == 2
    assert doubtful(Span(20, 26, "PATIENT"), found[1].provenance) == doubted(20, 26)


def test_overlapping_spans_of_one_run_do_not_conflict():
    bounds = [(0, 10), (0, 4), (4, 10), (12, 14)]
    runs = [frozenset(names) for names in ("ab", "a", "c", "d")]
    assert [sorted(found) for found in conflicting_spans(bounds, runs)] == [[2], [], [0], []]
    assert conflicting_spans([], []) == []


SPANS = st.builds(
    lambda start, length, label: Span(start, start + length, label, 0.5),
    st.integers(0, 30), st.integers(1, 8), st.sampled_from("AB"),
)  # fmt: skip


def bounds(span):
    return span.start, span.end, span.label


@given(st.lists(st.lists(SPANS, max_size=8), min_size=3, max_size=3))
def test_no_span_is_lost_and_conflicts_are_mutual(annotation_sets):
    merged = merge(NAMES, annotation_sets)
    by_run = {name: set(map(bounds, spans)) for name, spans in zip(NAMES, annotation_sets, strict=True)}
    assert set(map(bounds, merged)) == set().union(*by_run.values()) and merged == sorted(set(merged))
    for span in merged:
        said = [name for name in NAMES if bounds(span) in by_run[name]]
        assert [backing.run for backing in span.backing] == said
    runs = [frozenset(b.run for b in span.backing) for span in merged]
    found = conflicting_spans([(s.start, s.end) for s in merged], runs)
    for at, one in enumerate(merged):
        for other in range(len(merged)):
            expected = other != at and overlaps(one, merged[other]) and not runs[at] & runs[other]
            assert (other in found[at]) == expected == (at in found[other])


def test_attributes_of_all_runs_are_kept_and_differing_ones_named():
    given = [(("Family", True), ("Status", "past")), (("Status", "current"),), ()]
    one, other = merge(NAMES, [[Span(0, 5, "PATIENT", attributes=each), Span(9, 12, "CITY")] for each in given])
    assert one.attributes == (("Family", True), ("Status", "past")) and one.differing == ("Status",)
    assert one.provenance["attributes"] == ["Status"]
    assert (other.attributes, "attributes" in other.provenance) == ((), False)
