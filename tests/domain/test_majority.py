from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.majority import OpenPlace, majority
from annotations.domain.spans import Span, SpanError
from annotations.domain.tokens import Token, split_at, tokenize
from tests.domain.strategies import LABELS, spans_of, texts

TEXT = "Dr. Anna Maria Neri, Roma"
ANNA, NERI, WHOLE = Span(4, 8, "NAME"), Span(15, 19, "NAME"), Span(4, 19, "NAME")


def test_nobody_read_it() -> None:
    assert majority(TEXT, []).spans == majority(TEXT, []).open == []


def test_one_reader_is_a_majority() -> None:
    result = majority(TEXT, [[ANNA, NERI]])
    assert (result.spans, result.open) == ([ANNA, NERI], [])


def test_two_of_three() -> None:
    result = majority(TEXT, [[WHOLE], [WHOLE], []])
    assert (result.spans, result.open) == ([WHOLE], [])


def test_one_of_three_is_outvoted_by_o() -> None:
    result = majority(TEXT, [[WHOLE], [], []])
    assert (result.spans, result.open) == ([], [])


def test_a_tie_is_left_open() -> None:
    result = majority(TEXT, [[WHOLE], []])
    assert result.spans == []
    assert result.open == [OpenPlace(4, 19, (("NAME", 1), ("O", 1)))]


def test_three_opinions_are_left_open_in_label_order() -> None:
    place = (21, 25)
    readings = [[Span(*place, "STATE")], [Span(*place, "CITY")], []]
    assert majority(TEXT, readings).open == [OpenPlace(*place, (("CITY", 1), ("STATE", 1), ("O", 1)))]
    ordered = majority(TEXT, readings, label_order=["STATE", "CITY"]).open
    assert ordered == [OpenPlace(*place, (("STATE", 1), ("CITY", 1), ("O", 1)))]


def test_where_readers_differ_on_the_ends_the_middle_holds() -> None:
    result = majority(TEXT, [[WHOLE], [Span(9, 19, "NAME")], [Span(4, 14, "NAME")]])
    assert (result.spans, result.open) == ([WHOLE], [])
    result = majority(TEXT, [[WHOLE], [Span(9, 14, "NAME")], [Span(9, 14, "NAME")]])
    assert (result.spans, result.open) == ([Span(9, 14, "NAME")], [])


def test_a_new_span_needs_more_than_half_of_those_who_chose_the_label() -> None:
    text, one, two = "aa bb", [Span(0, 5, "X")], [Span(0, 2, "X"), Span(3, 5, "X")]
    assert majority(text, [two, two, one]).spans == two
    assert majority(text, [one, two, []]).spans == one  # one of two is not more than half
    assert majority(text, [one, one, two]).spans == one


def test_split_inside_a_word() -> None:
    result = majority("GambiaHome", [[Span(0, 6, "X")], [Span(0, 6, "X")], [Span(0, 10, "X")]])
    assert (result.spans, result.open) == ([Span(0, 6, "X")], [])


def test_nested_spans_with_other_labels_are_voted_on_by_themselves() -> None:
    inner = Span(9, 14, "WOMAN")
    result = majority(TEXT, [[WHOLE, inner], [WHOLE, inner], [WHOLE]])
    assert (result.spans, result.open) == ([WHOLE, inner], [])
    result = majority(TEXT, [[WHOLE, inner], [WHOLE]])
    assert result.spans == [WHOLE]
    assert result.open == [OpenPlace(9, 14, (("NAME", 2), ("WOMAN", 1)))]


def test_spans_with_one_label_that_overlap_in_a_reading_are_for_a_person() -> None:
    result = majority("Ospedale San Carlo", [[Span(0, 18, "H"), Span(9, 18, "H")]] * 3)
    assert result.spans == [Span(0, 18, "H")]
    assert result.open == [OpenPlace(9, 18, (("H", 3),))]


def test_open_places_part_where_a_reader_begins_a_span() -> None:
    result = majority("aa bb", [[Span(0, 2, "X"), Span(3, 5, "X")], []])
    assert [(place.start, place.end) for place in result.open] == [(0, 2), (3, 5)]


def test_a_span_outside_is_refused() -> None:
    with pytest.raises(SpanError):
        majority("ab", [[Span(0, 3, "X")]])


@st.composite
def readings(draw: st.DrawFn) -> tuple[str, list[list[Span]]]:
    """Up to five readings, in each of which no two spans overlap."""
    text = draw(texts(10))
    made = []
    for _ in range(draw(st.integers(0, 5))):
        apart: list[Span] = []
        for span in sorted(draw(spans_of(text, 5, LABELS[:2]))):
            if not apart or span.start >= apart[-1].end:
                apart.append(span)
        made.append(apart)
    return text, made


def tag(token: Token, reading: list[Span]) -> tuple[str, Span | None]:
    for span in reading:
        if span.start <= token.start and token.end <= span.end:
            return span.label, span
    return "O", None


@given(readings())
def test_against_a_plain_count(made: tuple[str, list[list[Span]]]) -> None:
    """DOMAIN: more than half of the readers per token and label; a new span where B is the majority of its choosers."""
    text, given_readings = made
    n = len(given_readings)
    tokens = split_at(tokenize(text), [edge for r in given_readings for s in r for edge in (s.start, s.end)])
    expected: list[list] = []
    before = "O"
    open_at = set()
    for token in tokens:
        tags = [tag(token, reading) for reading in given_readings]
        counts = Counter(label for label, _ in tags)
        winner = next((label for label, count in counts.items() if 2 * count > n), None)
        if winner is None and set(counts) - {"O"}:
            open_at.add(token.start)
        if winner in (None, "O"):
            before = "O"
            continue
        begins = sum(span is not None and label == winner and span.start == token.start for label, span in tags)
        if before == winner and 2 * begins <= counts[winner]:
            expected[-1][1] = token.end
        else:
            expected.append([token.start, token.end, winner])
        before = winner
    result = majority(text, given_readings)
    assert result.spans == [Span(*each) for each in expected]
    assert {t.start for t in tokens for place in result.open if place.start <= t.start < place.end} == open_at
    for place in result.open:
        assert sum(count for _, count in place.votes) == n
        inside = [token for token in tokens if place.start <= token.start < place.end]
        for token in inside:
            assert dict(place.votes) == Counter(tag(token, reading)[0] for reading in given_readings)


@given(readings())
def test_unanimous_readings_come_back(made: tuple[str, list[list[Span]]]) -> None:
    text, given_readings = made
    for reading in given_readings[:1]:
        result = majority(text, [reading] * 3)
        assert (result.spans, result.open) == (reading, [])
