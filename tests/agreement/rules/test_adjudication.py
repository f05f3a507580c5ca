"""Which locations are open, decided or changed: examples and properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.agreement.rules.disagreement import majority
from annotations.agreement.rules.units import AdjudicatedLocation, LocationState, items, touched, with_own, without
from annotations.text.spans import Span

NAME, LONG, CITY = Span(6, 11, "P"), Span(0, 11, "P"), Span(20, 26, "C")


def decided(item, spans):
    return AdjudicatedLocation(item.start, item.end, tuple(spans), item.location.versions)


def states(found):
    return [item.state for item in found]


def test_a_decision_stands_while_an_annotator_has_reopened_the_note():
    before = {"1": [NAME], "2": [LONG], "3": [LONG]}
    decision = decided(items(before, [])[0], [LONG])
    # The annotator with the longest span reopens the note: the decision keeps the location as it was.
    assert states(items({"1": [NAME], "3": [LONG]}, [decision])) == [LocationState.DECIDED]
    (item,) = items({"1": [NAME]}, [decision])
    assert (item.start, item.end, item.state) == (0, 11, LocationState.DECIDED)
    # They submit the same spans again, and later other ones.
    assert states(items(before, [decision])) == [LocationState.DECIDED]
    assert states(items(before | {"2": [NAME]}, [decision])) == [LocationState.CHANGED]
    assert states(items(before | {"2": []}, [decision])) == [LocationState.CHANGED]
    # A later annotator matters only where their spans differ from the outcome.
    assert states(items(before | {"4": [LONG]}, [decision])) == [LocationState.DECIDED]
    assert states(items(before | {"4": [NAME]}, [decision])) == [LocationState.CHANGED]
    assert states(items(before | {"4": [LONG, CITY]}, [decision])) == [LocationState.DECIDED, LocationState.OPEN]
    # A decision changes if all annotators delete their spans.
    (item,) = items(dict.fromkeys(before, ()), [decision])
    assert (item.state, item.outcome) == (LocationState.CHANGED, (LONG,))


def test_an_annotation_set_that_joins_two_decided_locations_changes_both():
    first, second = Span(0, 4, "P"), Span(8, 12, "P")
    before = {"1": [first, second], "2": []}
    decisions = [decided(item, [span]) for item, span in zip(items(before, []), (first, second), strict=True)]
    (item,) = items({"1": [first, second], "2": [Span(0, 12, "P")]}, decisions)
    assert item.state == LocationState.CHANGED
    assert item.outcome == (first, second), "the old decisions stand until an adjudicator changes them"


def test_an_adjudicator_s_own_span_is_a_location():
    start, end, spans = with_own(items({"1": [NAME], "2": [NAME]}, []), CITY)
    assert (start, end, spans) == (20, 26, (CITY,))
    added = AdjudicatedLocation(20, 26, (CITY,), {"1": (), "2": ()})
    found = items({"1": [NAME], "2": [NAME]}, [added])
    assert states(found) == [LocationState.AGREED, LocationState.DECIDED]
    # Now an annotator marks the same text with another label.
    found = items({"1": [NAME], "2": [NAME, Span(20, 26, "H")]}, [added])
    assert states(found) == [LocationState.AGREED, LocationState.CHANGED]


def test_an_own_span_replaces_the_spans_that_it_overlaps():
    annotation_sets = {"1": [Span(0, 3, "H"), Span(4, 10, "C")], "2": [Span(0, 10, "H")]}
    (item,) = items(annotation_sets, [])
    assert with_own([item], Span(4, 10, "X")) == (0, 10, (Span(4, 10, "X"),))  # nothing was decided before
    (item,) = items(annotation_sets, [decided(item, [Span(0, 3, "H"), Span(4, 10, "C")])])
    assert with_own([item], Span(4, 10, "X")) == (0, 10, (Span(0, 3, "H"), Span(4, 10, "X")))
    assert with_own([item], Span(2, 14, "X")) == (0, 14, (Span(2, 14, "X"),))
    assert without(item, Span(0, 3, "H")) == (Span(4, 10, "C"),)
    # An own span over two locations joins them.
    found = items({"1": [Span(0, 5, "P")], "2": [Span(6, 11, "P")]}, [])
    assert (len(touched(found, 0, 11)), touched(found, 5, 6)) == (2, [])
    assert with_own(found, Span(0, 11, "P")) == (0, 11, (Span(0, 11, "P"),))


# ── Properties ───────────────────────────────────────────────────────────────────────────────────────────────────────

BOUNDS = st.tuples(st.integers(0, 40), st.integers(1, 8), st.sampled_from("ABC"))
SPANS = BOUNDS.map(lambda drawn: Span(drawn[0], drawn[0] + drawn[1], drawn[2]))

ANNOTATION_SETS = st.dictionaries(st.sampled_from("1234"), st.lists(SPANS, max_size=6), min_size=2)


@given(ANNOTATION_SETS, st.data())
def test_decisions_stand_as_long_as_no_annotator_changes_their_spans(annotation_sets, data):
    decisions = [decided(item, item.location.versions[min(annotation_sets)]) for item in items(annotation_sets, [])]
    assert set(states(items(annotation_sets, decisions))) <= {LocationState.DECIDED}
    # One annotator reopens the note: all decisions stand, and the locations are the same.
    gone = data.draw(st.sampled_from(sorted(annotation_sets)))
    remaining = {annotator: spans for annotator, spans in annotation_sets.items() if annotator != gone}
    merged = items(remaining, decisions)
    assert [(i.start, i.end, i.outcome) for i in merged] == [(d.start, d.end, d.spans) for d in decisions]
    assert set(states(merged)) <= {LocationState.DECIDED}


@given(ANNOTATION_SETS, st.sampled_from("1234"), st.lists(SPANS, max_size=6))
def test_a_new_annotation_set_changes_exactly_the_locations_where_it_differs(annotation_sets, annotator, spans):
    decisions = [decided(item, item.location.versions[min(annotation_sets)]) for item in items(annotation_sets, [])]
    kept = {span for decision in decisions for span in decision.spans}
    now = items(annotation_sets | {annotator: spans}, decisions)
    # Every adjudicated span still exists, whatever the new annotation set contains.
    assert {span for item in now for span in item.outcome} == kept
    for item in now:
        before = set(annotation_sets.get(annotator, ()))
        said = {span for span in spans if item.start <= span.start < item.end}
        was = {span for span in before if item.start <= span.start < item.end}
        if item.state == LocationState.DECIDED:
            assert said == was or (annotator not in annotation_sets and tuple(sorted(said)) == item.outcome)
        if said != was and item.decisions and annotator in annotation_sets:
            assert item.state == LocationState.CHANGED


#


TEXT = "Dr. Anna Maria Neri, Roma"
ANNA, NERI, WHOLE = Span(4, 8, "NAME"), Span(15, 19, "NAME"), Span(4, 19, "NAME")


OTHERS = [Span(9, 19, "NAME"), Span(4, 14, "NAME")]
MARIA, WOMAN = Span(9, 14, "NAME"), Span(9, 14, "WOMAN")
ONE, TWO = [Span(0, 5, "X")], [Span(0, 2, "X"), Span(3, 5, "X")]
HOME = [[Span(0, 6, "X")], [Span(0, 6, "X")], [Span(0, 10, "X")]]


DECIDED = [
    (TEXT, [], []),
    (TEXT, [[ANNA, NERI]], [ANNA, NERI]),  # a single annotator is a majority
    (TEXT, [[WHOLE], [WHOLE], []], [WHOLE]), (TEXT, [[WHOLE], [], []], []),
    # Where bounds differ, each token is decided by its own majority.
    (TEXT, [[WHOLE], *([span] for span in OTHERS)], [WHOLE]), (TEXT, [[WHOLE], [MARIA], [MARIA]], [MARIA]),
    # A new span needs more than half of those who chose the label.
    ("aa bb", [TWO, TWO, ONE], TWO), ("aa bb", [ONE, TWO, []], ONE), ("aa bb", [ONE, ONE, TWO], ONE),
    ("GambiaHome", HOME, HOME[0]),  # inside a word
    (TEXT, [[WHOLE, WOMAN], [WHOLE, WOMAN], [WHOLE]], [WHOLE, WOMAN]),  # nested
]  # fmt: skip


@pytest.mark.parametrize(("text", "annotation_sets", "spans"), DECIDED)
def test_more_than_half_decides(text: str, annotation_sets: list[list[Span]], spans: list[Span]) -> None:
    assert majority(text, annotation_sets) == spans


CARLO = [Span(0, 18, "H"), Span(9, 18, "H")]
STATES = [[Span(21, 25, "STATE")], [Span(21, 25, "CITY")], []]


TIES = [
    (TEXT, [[WHOLE], []]),
    (TEXT, STATES),
    (TEXT, [[WHOLE, WOMAN], [WHOLE]]),  # nested spans with other labels are voted on separately
    ("Ospedale San Carlo", [CARLO] * 3),  # overlapping spans with one label in one annotation set
    ("aa bb", [TWO, []]),
]


@pytest.mark.parametrize(("text", "annotation_sets"), TIES)
def test_ties_are_left_open(text: str, annotation_sets: list[list[Span]]) -> None:
    assert majority(text, annotation_sets) is None
