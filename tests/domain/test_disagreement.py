"""Places of disagreement by hand, on table 3.4 of the thesis, and by their properties."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.disagreement import (
    Consensus,
    Kind,
    bio_rows,
    consensus,
    disagreements,
    disputed_labels,
    kind_between,
    kinds_by_pair,
    majority_version,
    marked_agreement,
    places,
    tokens_differ,
)
from annotations.domain.spans import Span

# Table 3.4 of 002: the sentence, and for each annotator the tags of its tokens.
TABLE = [
    ("Uomo di 60 anni", "O O B-AGE O", "O O B-AGE O", "O O B-AGE I-AGE"),
    (
        "ASL Latina Paziente Maschio",
        "B-HOSPITAL I-HOSPITAL O O",
        "B-HOSPITAL I-HOSPITAL O O",
        "B-HOSPITAL B-CITY O O",
    ),
    ("COVID-19: caso 98", "O O O O O B-IDNUM", "O O O O O B-IDNUM", "O O O O O O"),
    ("Giunge al PS", "O O O", "O O B-LOCATION_OTHER", "O O B-HOSPITAL"),
    ("Performance of radiologists", "O O O", "O O B-DOCTOR", "O O B-PROFESSION"),
]
READINGS = {
    "Uomo di 60 anni": {"1": [Span(8, 10, "AGE")], "2": [Span(8, 10, "AGE")], "3": [Span(8, 15, "AGE")]},
    "ASL Latina Paziente Maschio": {
        "1": [Span(0, 10, "HOSPITAL")],
        "2": [Span(0, 10, "HOSPITAL")],
        "3": [Span(0, 3, "HOSPITAL"), Span(4, 10, "CITY")],
    },
    "COVID-19: caso 98": {"1": [Span(15, 17, "IDNUM")], "2": [Span(15, 17, "IDNUM")], "3": []},
    "Giunge al PS": {"1": [], "2": [Span(10, 12, "LOCATION_OTHER")], "3": [Span(10, 12, "HOSPITAL")]},
    "Performance of radiologists": {"1": [], "2": [Span(15, 27, "DOCTOR")], "3": [Span(15, 27, "PROFESSION")]},
}


@pytest.mark.parametrize(("sentence", "first", "second", "third"), TABLE)
def test_the_rows_of_table_3_4(sentence, first, second, third):
    readings = READINGS[sentence]
    (place,) = disagreements(readings)
    rows = bio_rows(sentence, place.start, place.end, readings)
    assert {reader: " ".join(tags) for reader, tags in rows.tags.items()} == {"1": first, "2": second, "3": third}


@pytest.mark.parametrize(
    ("sentence", "pairs", "state", "vote"),
    [
        (
            "Uomo di 60 anni",
            {("1", "3"): Kind.BOUNDARY, ("2", "3"): Kind.BOUNDARY},
            Consensus.MAJORITY,
            (Span(8, 10, "AGE"),),
        ),
        (
            "ASL Latina Paziente Maschio",
            {("1", "3"): Kind.BOTH, ("2", "3"): Kind.BOTH},
            Consensus.MAJORITY,
            (Span(0, 10, "HOSPITAL"),),
        ),
        (
            "COVID-19: caso 98",
            {("1", "3"): Kind.MISSED, ("2", "3"): Kind.MISSED},
            Consensus.MAJORITY,
            (Span(15, 17, "IDNUM"),),
        ),
        # Two of three marked it, each with another label: a majority for something, none for what.
        (
            "Giunge al PS",
            {("1", "2"): Kind.MISSED, ("1", "3"): Kind.MISSED, ("2", "3"): Kind.LABEL},
            Consensus.SPLIT,
            None,
        ),
        (
            "Performance of radiologists",
            {("1", "2"): Kind.MISSED, ("1", "3"): Kind.MISSED, ("2", "3"): Kind.LABEL},
            Consensus.SPLIT,
            None,
        ),
    ],
)
def test_kinds_and_votes_of_table_3_4(sentence, pairs, state, vote):
    (place,) = places(READINGS[sentence])
    assert kinds_by_pair(place) == pairs
    assert consensus(sentence, place) == state
    assert majority_version(sentence, place) == vote


def test_agreement_of_the_sentences_of_table_3_4_by_hand():
    """Marked tokens, by label: 60 all agree, anni 1 of 3 pairs; ASL 1, Latina 1/3; 98 1/3; PS 0; radiologists 0."""
    by_hand = [(1 + 1 / 3) / 2, (1 + 1 / 3) / 2, 1 / 3, 0, 0]
    for (sentence, *_rows), expected in zip(TABLE, by_hand, strict=True):
        assert marked_agreement(sentence, places(READINGS[sentence])) == pytest.approx(expected)


def test_one_annotator_alone_and_all_alike():
    text = "Mario Rossi a Torino"
    name, city = Span(0, 11, "PATIENT"), Span(14, 20, "CITY")
    one, both = places({"a": [name], "b": [], "c": []}), places({"a": [name, city], "b": [name, city]})
    assert consensus(text, one[0]) == Consensus.ONE
    assert majority_version(text, one[0]) == ()  # two of three say nothing
    assert [consensus(text, place) for place in both] == [Consensus.ALL, Consensus.ALL]
    assert disagreements({"a": [name, city], "b": [city, name]}) == []
    assert majority_version(text, places({"a": [name], "b": []})[0]) is None, "a tie is for a person"


def test_touching_spans_are_two_places_and_overlapping_ones_are_one():
    found = places({"a": [Span(0, 4, "X"), Span(4, 8, "X")], "b": [Span(6, 10, "X"), Span(12, 13, "Y")]})
    assert [(place.start, place.end) for place in found] == [(0, 4), (4, 10), (12, 13)]
    assert found[1].versions == {"a": (Span(4, 8, "X"),), "b": (Span(6, 10, "X"),)}
    joined = places({"a": [Span(0, 4, "X")], "b": [Span(6, 8, "X")]}, besides=[(3, 7)])
    assert [(place.start, place.end) for place in joined] == [(0, 8)]


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ([Span(0, 5, "A")], [Span(0, 5, "A")], None),
        ([Span(0, 5, "A")], [], Kind.MISSED),
        ([Span(0, 5, "A")], [Span(0, 4, "A")], Kind.BOUNDARY),
        ([Span(0, 5, "A")], [Span(0, 5, "B")], Kind.LABEL),
        ([Span(0, 5, "A")], [Span(0, 4, "B")], Kind.BOTH),
        ([Span(0, 9, "A"), Span(2, 4, "B")], [Span(0, 9, "A")], Kind.MISSED),  # the inner one
        ([Span(0, 9, "A")], [Span(0, 4, "A"), Span(5, 9, "A")], Kind.BOUNDARY),  # one span or two
        ([Span(0, 9, "A"), Span(2, 4, "B")], [Span(0, 9, "A"), Span(2, 4, "C")], Kind.LABEL),
    ],
)
def test_kinds(one, other, kind):
    assert kind_between(tuple(one), tuple(other)) == kind
    assert kind_between(tuple(other), tuple(one)) == kind


def test_disputed_labels_leave_out_what_all_have():
    (place,) = places({"a": [Span(0, 9, "A"), Span(2, 4, "B")], "b": [Span(0, 9, "A"), Span(2, 4, "C")]})
    assert disputed_labels(place) == {"B", "C"}


def test_one_span_or_two_is_no_difference_of_tokens():
    text = "Mario Rossi"
    (place,) = places({"a": [Span(0, 11, "P")], "b": [Span(0, 5, "P"), Span(6, 11, "P")]})
    assert kinds_by_pair(place) == {("a", "b"): Kind.BOUNDARY}
    assert not tokens_differ(text, place)
    (place,) = places({"a": [Span(0, 11, "P")], "b": [Span(0, 5, "P")]})
    assert tokens_differ(text, place)


def test_a_span_that_began_before_the_sentence_goes_on_in_it():
    text = "Vive a Torre\nAnnunziata da 3 anni."
    rows = bio_rows(text, 24, 25, {"a": [Span(7, 23, "CITY")], "b": [Span(27, 28, "AGE")]})
    assert text[rows.start : rows.start + 10] == "Annunziata"
    assert rows.tags["a"][:2] == ["I-CITY", "O"]


# ── Properties ───────────────────────────────────────────────────────────────────────────────────────────────────────

TEXT = "ab 12 cd, ef 3 gh. Ij kl mn 45 op qr"
STARTS = st.integers(0, len(TEXT) - 1)
SPANS = st.builds(
    lambda start, length, label: Span(start, min(len(TEXT), start + length), label),
    STARTS,
    st.integers(1, 8),
    st.sampled_from("ABC"),
)
READERS = st.dictionaries(st.sampled_from("1234"), st.lists(SPANS, max_size=6), min_size=2)


@given(READERS)
def test_places_cover_exactly_where_readings_differ(readings):
    found = places(readings)
    assert all(one.end <= other.start for one, other in pairwise(found))
    for place in found:
        # What a version holds is all that its reader marked there, and nothing crosses a place's ends.
        for reader, spans in readings.items():
            inside = {span for span in spans if span.start < place.end and place.start < span.end}
            assert set(place.versions[reader]) == inside
            assert all(place.start <= span.start and span.end <= place.end for span in inside)
    where = {(place.start, place.end) for place in disagreements(readings)}
    differ = {
        span
        for one in readings.values()
        for other in readings.values()
        for span in set(one) ^ set(other)
    }  # fmt: skip
    assert where == {(p.start, p.end) for p in found if any(p.start <= s.start and s.end <= p.end for s in differ)}


@given(st.lists(SPANS, max_size=6), st.integers(2, 5))
def test_equal_readings_differ_nowhere(spans, readers):
    readings = {str(reader): spans for reader in range(readers)}
    assert disagreements(readings) == []
    assert marked_agreement(TEXT, places(readings)) == (1.0 if any_token(spans) else None)


def any_token(spans):
    return any(TEXT[span.start : span.end].strip() for span in spans)


@given(READERS)
def test_a_majority_version_stays_inside_its_place(readings):
    for place in places(readings):
        vote = majority_version(TEXT, place)
        assert vote is None or all(place.start <= span.start and span.end <= place.end for span in vote)
        assert (consensus(TEXT, place) == Consensus.ALL) == place.agreed
