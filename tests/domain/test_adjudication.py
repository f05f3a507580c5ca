"""Which places are open, decided, or for a second look: by hand and by properties."""

from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.adjudication import Decision, Standing, items, touched, with_own, without
from annotations.domain.majority import majority
from annotations.domain.spans import Span

NAME, LONG, CITY = Span(6, 11, "P"), Span(0, 11, "P"), Span(20, 26, "C")


def decided(item, spans):
    return Decision(item.start, item.end, tuple(spans), item.place.versions)


def standings(found):
    return [item.standing for item in found]


def test_open_agreed_and_decided():
    readings = {"1": [NAME, CITY], "2": [LONG, CITY]}
    found = items(readings, [])
    assert standings(found) == [Standing.OPEN, Standing.AGREED]
    found = items(readings, [decided(found[0], [LONG])])
    assert standings(found) == [Standing.DECIDED, Standing.AGREED]
    assert found[0].outcome == (LONG,)


def test_a_reader_who_reopened_is_waited_for():
    before = {"1": [NAME], "2": [LONG], "3": [LONG]}
    decision = decided(items(before, [])[0], [LONG])
    # The one who made the place as long as it is reopens: the decision holds the place together.
    (item,) = items({"1": [NAME], "3": [LONG]}, [decision])
    assert item.standing == Standing.DECIDED
    (item,) = items({"1": [NAME]}, [decision])
    assert (item.start, item.end, item.standing) == (0, 11, Standing.DECIDED)
    # They hand in the same again, and then something else.
    assert standings(items(before, [decision])) == [Standing.DECIDED]
    assert standings(items(before | {"2": [NAME]}, [decision])) == [Standing.CHANGED]
    assert standings(items(before | {"2": []}, [decision])) == [Standing.CHANGED]


def test_a_reader_who_comes_later_matters_only_where_they_say_something_else():
    before = {"1": [NAME], "2": [LONG]}
    decision = decided(items(before, [])[0], [LONG])
    assert standings(items(before | {"3": [LONG]}, [decision])) == [Standing.DECIDED]
    assert standings(items(before | {"3": [NAME]}, [decision])) == [Standing.CHANGED]
    assert standings(items(before | {"3": [LONG, CITY]}, [decision])) == [Standing.DECIDED, Standing.OPEN]


def test_a_reading_that_joins_two_decided_places_shows_both_again():
    first, second = Span(0, 4, "P"), Span(8, 12, "P")
    before = {"1": [first, second], "2": []}
    decisions = [decided(item, [span]) for item, span in zip(items(before, []), (first, second), strict=True)]
    (item,) = items({"1": [first, second], "2": [Span(0, 12, "P")]}, decisions)
    assert item.standing == Standing.CHANGED
    assert item.outcome == (first, second), "the old decisions stand until somebody changes them"


def test_where_all_annotators_took_their_spans_back():
    decision = decided(items({"1": [NAME], "2": []}, [])[0], [NAME])
    (item,) = items({"1": [], "2": []}, [decision])
    assert (item.standing, item.outcome) == (Standing.CHANGED, (NAME,))


def test_what_an_adjudicator_added_is_a_place_of_its_own():
    start, end, spans = with_own(items({"1": [NAME], "2": [NAME]}, []), CITY)
    assert (start, end, spans) == (20, 26, (CITY,))
    added = Decision(20, 26, (CITY,), {"1": (), "2": ()})
    found = items({"1": [NAME], "2": [NAME]}, [added])
    assert standings(found) == [Standing.AGREED, Standing.DECIDED]
    # An annotator now marks the same stretch in another way.
    found = items({"1": [NAME], "2": [NAME, Span(20, 26, "H")]}, [added])
    assert standings(found) == [Standing.AGREED, Standing.CHANGED]


def test_an_own_span_takes_the_place_of_what_it_overlaps():
    readings = {"1": [Span(0, 3, "H"), Span(4, 10, "C")], "2": [Span(0, 10, "H")]}
    (item,) = items(readings, [])
    assert with_own([item], Span(4, 10, "X")) == (0, 10, (Span(4, 10, "X"),))  # nothing was decided before
    (item,) = items(readings, [decided(item, [Span(0, 3, "H"), Span(4, 10, "C")])])
    assert with_own([item], Span(4, 10, "X")) == (0, 10, (Span(0, 3, "H"), Span(4, 10, "X")))
    assert with_own([item], Span(2, 14, "X")) == (0, 14, (Span(2, 14, "X"),))
    assert without(item, Span(0, 3, "H")) == (Span(4, 10, "C"),)


def test_an_own_span_over_two_places_joins_them():
    found = items({"1": [Span(0, 5, "P")], "2": [Span(6, 11, "P")]}, [])
    assert len(touched(found, 0, 11)) == 2
    assert with_own(found, Span(0, 11, "P")) == (0, 11, (Span(0, 11, "P"),))
    assert touched(found, 5, 6) == []


# ── Properties ───────────────────────────────────────────────────────────────────────────────────────────────────────

SPANS = st.builds(
    lambda start, length, label: Span(start, start + length, label),
    st.integers(0, 40),
    st.integers(1, 8),
    st.sampled_from("ABC"),
)
READINGS = st.dictionaries(st.sampled_from("1234"), st.lists(SPANS, max_size=6), min_size=2)


@given(READINGS, st.data())
def test_decisions_stay_as_long_as_nobody_says_something_else(readings, data):
    found = items(readings, [])
    decisions = [decided(item, item.place.versions[min(readings)]) for item in found]
    assert set(standings(items(readings, decisions))) <= {Standing.DECIDED}
    # One reopens: all decisions stand, and the places are the same.
    gone = data.draw(st.sampled_from(sorted(readings)))
    left = {reader: spans for reader, spans in readings.items() if reader != gone}
    merged = items(left, decisions)
    assert [(i.start, i.end, i.outcome) for i in merged] == [(d.start, d.end, d.spans) for d in decisions]
    assert set(standings(merged)) <= {Standing.DECIDED}


@given(READINGS, st.sampled_from("1234"), st.lists(SPANS, max_size=6))
def test_a_new_reading_reopens_exactly_the_places_that_it_changes(readings, reader, spans):
    found = items(readings, [])
    decisions = [decided(item, item.place.versions[min(readings)]) for item in found]
    kept = {span for decision in decisions for span in decision.spans}
    now = items(readings | {reader: spans}, decisions)
    # Every decided span stands somewhere still, whatever the new reading says.
    assert {span for item in now for span in item.outcome} == kept
    for item in now:
        before = set(readings.get(reader, ()))
        said = {span for span in spans if item.start <= span.start < item.end}
        was = {span for span in before if item.start <= span.start < item.end}
        if item.standing == Standing.DECIDED:
            assert said == was or (reader not in readings and tuple(sorted(said)) == item.outcome)
        if said != was and item.decisions and reader in readings:
            assert item.standing == Standing.CHANGED


APART = st.lists(st.tuples(st.integers(0, 12), st.sampled_from("AB")), max_size=6).map(
    lambda places: [Span(at * 3, at * 3 + 2, label) for at, label in dict(places).items()]
)


@given(APART, st.integers(1, 5))
def test_the_majority_of_equal_readings_is_that_reading(spans, readers):
    text = "ab " * 13
    vote = majority(text, [spans] * readers)
    assert vote.spans == sorted(spans)
    assert vote.open == []
