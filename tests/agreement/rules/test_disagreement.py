"""Disagreements: examples from table 3.4 of Catelli 2021, further examples, and properties."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.agreement.rules import disagreement
from annotations.agreement.rules.disagreement import Consensus, DisagreementKind, locations
from annotations.text.spans import Span
from tests.agreement.rules.test_table_3_4 import NOTES

ANNOTATION_SETS = {note.text: note.annotation_sets for note in NOTES}


def disagreements(annotation_sets):
    return [location for location in locations(annotation_sets) if not location.unanimous]


# Table 3.4 of Catelli 2021: the sentence, and each annotator's tags for its tokens.
TABLE = [
    ("Uomo di 60 anni", "O O B-AGE O", "O O B-AGE O", "O O B-AGE I-AGE"),
    ("ASL Latina Paziente Maschio", "B-HOSPITAL I-HOSPITAL O O", "B-HOSPITAL I-HOSPITAL O O", "B-HOSPITAL B-CITY O O"),
    ("COVID-19: caso 98", "O O O O O B-IDNUM", "O O O O O B-IDNUM", "O O O O O O"),
    ("Giunge al PS", "O O O", "O O B-LOCATION_OTHER", "O O B-HOSPITAL"),
    ("Performance of radiologists", "O O O", "O O B-DOCTOR", "O O B-PROFESSION"),
]


@pytest.mark.parametrize(("sentence", "first", "second", "third"), TABLE)
def test_the_rows_of_table_3_4(sentence, first, second, third):
    annotation_sets = ANNOTATION_SETS[sentence]
    (location,) = disagreements(annotation_sets)
    rows = disagreement.bio_rows(sentence, location.start, location.end, annotation_sets)
    assert {annotator: " ".join(tags) for annotator, tags in rows.tags.items()} == {"1": first, "2": second, "3": third}


KINDS_AND_VOTES = [
    (
        TABLE[0][0],
        (None, DisagreementKind.BOUNDARY, DisagreementKind.BOUNDARY),
        Consensus.MAJORITY,
        (Span(8, 10, "AGE"),),
    ),
    (
        TABLE[1][0],
        (None, DisagreementKind.BOTH, DisagreementKind.BOTH),
        Consensus.MAJORITY,
        (Span(0, 10, "HOSPITAL"),),
    ),
    (
        TABLE[2][0],
        (None, DisagreementKind.MISSED, DisagreementKind.MISSED),
        Consensus.MAJORITY,
        (Span(15, 17, "IDNUM"),),
    ),
    # Two of three annotators marked it with different labels, so no label has a majority.
    (TABLE[3][0], (DisagreementKind.MISSED, DisagreementKind.MISSED, DisagreementKind.LABEL), Consensus.SPLIT, None),
    (TABLE[4][0], (DisagreementKind.MISSED, DisagreementKind.MISSED, DisagreementKind.LABEL), Consensus.SPLIT, None),
]


# The kinds between annotators 1 and 2, 1 and 3, and 2 and 3
@pytest.mark.parametrize(("sentence", "kinds", "state", "vote"), KINDS_AND_VOTES)
def test_kinds_and_votes_of_table_3_4(sentence, kinds, state, vote):
    (location,) = locations(ANNOTATION_SETS[sentence])
    pairs = dict(zip([("1", "2"), ("1", "3"), ("2", "3")], kinds, strict=True))
    assert disagreement.kinds_by_pair(location) == {pair: kind for pair, kind in pairs.items() if kind}
    found = (disagreement.consensus(sentence, location), disagreement.majority_version(sentence, location))
    assert found == (state, vote)


def test_one_annotator_alone_and_all_in_agreement():
    text = "Mario Rossi a Torino"
    name, city = Span(0, 11, "PATIENT"), Span(14, 20, "CITY")
    one, both = locations({"a": [name], "b": [], "c": []}), locations({"a": [name, city], "b": [name, city]})
    assert disagreement.consensus(text, one[0]) == Consensus.ONE
    assert disagreement.majority_version(text, one[0]) == ()  # two of three marked nothing
    assert [disagreement.consensus(text, location) for location in both] == [Consensus.ALL, Consensus.ALL]
    assert disagreements({"a": [name, city], "b": [city, name]}) == []
    assert disagreement.majority_version(text, locations({"a": [name], "b": []})[0]) is None, (
        "a tie is left to an adjudicator"
    )


def test_touching_spans_are_two_locations_and_overlapping_spans_are_one():
    found = locations({"a": [Span(0, 4, "X"), Span(4, 8, "X")], "b": [Span(6, 10, "X"), Span(12, 13, "Y")]})
    assert [(location.start, location.end) for location in found] == [(0, 4), (4, 10), (12, 13)]
    assert found[1].versions == {"a": (Span(4, 8, "X"),), "b": (Span(6, 10, "X"),)}
    joined = locations({"a": [Span(0, 4, "X")], "b": [Span(6, 8, "X")]}, besides=[(3, 7)])
    assert [(location.start, location.end) for location in joined] == [(0, 8)]


KINDS = [
    ([Span(0, 5, "A")], [Span(0, 5, "A")], None),
    ([Span(0, 5, "A")], [], DisagreementKind.MISSED),
    ([Span(0, 5, "A")], [Span(0, 4, "A")], DisagreementKind.BOUNDARY),
    ([Span(0, 5, "A")], [Span(0, 5, "B")], DisagreementKind.LABEL),
    ([Span(0, 5, "A")], [Span(0, 4, "B")], DisagreementKind.BOTH),
    ([Span(0, 9, "A"), Span(2, 4, "B")], [Span(0, 9, "A")], DisagreementKind.MISSED),  # the inner one
    ([Span(0, 9, "A")], [Span(0, 4, "A"), Span(5, 9, "A")], DisagreementKind.BOUNDARY),  # one span or two
    ([Span(0, 9, "A"), Span(2, 4, "B")], [Span(0, 9, "A"), Span(2, 4, "C")], DisagreementKind.LABEL),
]


@pytest.mark.parametrize(("one", "other", "kind"), KINDS)
def test_kinds(one, other, kind):
    assert (
        disagreement.kind_between(tuple(one), tuple(other))
        == disagreement.kind_between(tuple(other), tuple(one))
        == kind
    )


def test_disputed_labels_are_those_of_spans_that_not_all_have():
    (location,) = locations({"a": [Span(0, 9, "A"), Span(2, 4, "B")], "b": [Span(0, 9, "A"), Span(2, 4, "C")]})
    assert disagreement.disputed_labels(location) == {"B", "C"}


def test_one_span_or_two_is_no_difference_of_tokens():
    text = "Mario Rossi"
    (location,) = locations({"a": [Span(0, 11, "P")], "b": [Span(0, 5, "P"), Span(6, 11, "P")]})
    assert disagreement.kinds_by_pair(location) == {("a", "b"): DisagreementKind.BOUNDARY}
    assert not disagreement.tokens_differ(text, location)
    (location,) = locations({"a": [Span(0, 11, "P")], "b": [Span(0, 5, "P")]})
    assert disagreement.tokens_differ(text, location)


def test_a_span_that_starts_before_the_sentence_continues_in_it():
    text = "Vive a Torre\nAnnunziata da 3 anni."
    rows = disagreement.bio_rows(text, 24, 25, {"a": [Span(7, 23, "CITY")], "b": [Span(27, 28, "AGE")]})
    assert text[rows.start : rows.start + 10] == "Annunziata"
    assert rows.tags["a"][:2] == ["I-CITY", "O"]


# ── Properties ───────────────────────────────────────────────────────────────────────────────────────────────────────

TEXT = "ab 12 cd, ef 3 gh. Ij kl mn 45 op qr"
STARTS = st.integers(0, len(TEXT) - 1)
BOUNDS = st.tuples(STARTS, st.integers(1, 8), st.sampled_from("ABC"))
SPANS = BOUNDS.map(lambda drawn: Span(drawn[0], min(len(TEXT), drawn[0] + drawn[1]), drawn[2]))

ANNOTATOR_SETS = st.dictionaries(st.sampled_from("1234"), st.lists(SPANS, max_size=6), min_size=2)


@given(ANNOTATOR_SETS)
def test_locations_are_exactly_where_annotation_sets_differ(annotation_sets):
    found = locations(annotation_sets)
    assert all(one.end <= other.start for one, other in pairwise(found))
    for location in found:
        # A version contains all spans that its annotator marked there, and no span crosses the ends of a location.
        for annotator, spans in annotation_sets.items():
            inside = {span for span in spans if span.start < location.end and location.start < span.end}
            assert set(location.versions[annotator]) == inside
            assert all(location.start <= span.start and span.end <= location.end for span in inside)
    where = {(location.start, location.end) for location in disagreements(annotation_sets)}
    differ = {
        span
        for one in annotation_sets.values()
        for other in annotation_sets.values()
        for span in set(one) ^ set(other)
    }  # fmt: skip
    assert where == {(p.start, p.end) for p in found if any(p.start <= s.start and s.end <= p.end for s in differ)}


@given(ANNOTATOR_SETS)
def test_a_majority_version_stays_inside_its_location(annotation_sets):
    for location in locations(annotation_sets):
        vote = disagreement.majority_version(TEXT, location)
        assert vote is None or all(location.start <= span.start and span.end <= location.end for span in vote)
        assert (disagreement.consensus(TEXT, location) == Consensus.ALL) == location.agreed
