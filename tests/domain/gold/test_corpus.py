"""Tokens and spans of notes by label, as in tables 3.1 to 3.3 of Catelli 2021."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.gold.corpus import Count, Part, part_of, together
from annotations.domain.spans import Span
from annotations.domain.tokens import Token, covered, split_at, tokenize


def part(*notes):
    made = Part()
    for text, spans in notes:
        made.add_note(text, [Span(*span) for span in spans])
    return made


def test_the_means_of_table_3_3():
    # Two notes: "Uomo di 60 anni" and "Giunge al PS".
    found = part(("Uomo di 60 anni", [(8, 15, "AGE")]), ("Giunge al PS", []))
    assert (found.notes, found.tokens, found.all) == (2, 7, Count(1, 2))
    assert found.per_note(found.tokens) == 3.5
    assert found.per_note(found.all.spans) == 0.5
    assert found.all.tokens_per_span == 2


def test_a_token_in_two_overlapping_spans_counts_in_both():
    found = part(("Ospedale Torino", [(0, 15, "HOSPITAL"), (9, 15, "CITY")]))
    assert found.labels == {"HOSPITAL": Count(1, 2), "CITY": Count(1, 1)}
    assert found.of(["HOSPITAL", "CITY", "DATE"]) == Count(2, 3)


def test_bio_tags_are_counted_as_in_table_6_of_salierno():
    # The sentence of table 5: B-OMISSIS for ROSSI and ROMA, I-OMISSIS for the address after it.
    text = "ricorso nr. 14270 Sig.ra ROSSI residente ROMA Via del corso"
    found = part((text, [(25, 30, "OMISSIS"), (41, 59, "OMISSIS")]), ("ricorso", []))
    assert (found.begin, found.inside, found.outside) == (2, 3, 9)
    assert found.per_note(found.begin) == 1


def test_in_overlapping_spans_each_token_has_one_tag():
    found = part(("Ospedale Torino centro", [(0, 15, "HOSPITAL"), (9, 22, "CITY")]))
    assert (found.begin, found.inside, found.outside) == (2, 1, 0)


def test_a_tokenizer_counts_its_own_tokens():
    made = Part()
    made.add_note(
        "12/03/2021 Roma", [Span(0, 10, "DATE"), Span(11, 15, "CITY")], lambda text: [Token(0, 10), Token(11, 15)]
    )
    assert (made.tokens, made.labels) == (2, {"DATE": Count(1, 1), "CITY": Count(1, 1)})


def test_nothing_counted_has_no_means():
    assert Part().per_note(0) is None and Part().all.tokens_per_span is None


def test_parts_are_added_and_stored():
    one, other = part(("a b", [(0, 1, "X")])), part(("c", [(0, 1, "X")]), ("d", [(0, 1, "Y")]))
    whole = together([one, other])
    assert (whole.notes, whole.tokens, whole.labels) == (3, 4, {"X": Count(2, 2), "Y": Count(1, 1)})
    assert part_of(whole.data()) == whole
    assert one.labels == {"X": Count(1, 1)}, "adding changed a part"


@pytest.mark.parametrize("text", ["Mario Rossi, 54 anni", "a1b2", "  x  "])
@given(data=st.data())
def test_the_counts_equal_those_of_all_tokens(text, data):
    offsets = st.tuples(st.integers(0, len(text) - 1), st.integers(1, len(text))).filter(lambda pair: pair[0] < pair[1])
    spans = [Span(*pair, "X") for pair in data.draw(st.lists(offsets, max_size=4))]
    found = Part()
    found.add_note(text, spans)
    tokens = split_at(tokenize(text), (edge for span in spans for edge in (span.start, span.end)))
    inside = [covered(tokens, span.start, span.end) for span in spans]
    assert found.tokens == len(tokens)
    assert found.all == Count(len(spans), sum(past - first for first, past in inside))
