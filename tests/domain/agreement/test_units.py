"""Units and granularities: which patterns of values a note gives."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.agreement import (
    Granularity,
    NoteReadings,
    Unit,
    agreement,
    coarser,
    patterns,
    unmarked,
)
from annotations.domain.bio import encode
from annotations.domain.spans import Span
from annotations.domain.tokens import tokenize

TEXT = "Uomo di 60 anni"
CATEGORIES = {"AGE": "AGE", "DOCTOR": "NAME", "PATIENT": "NAME"}


def read(*readings, text=TEXT, **options):
    names = [chr(ord("a") + n) for n in range(len(readings))]
    note = NoteReadings(text, {name: spans for name, spans in zip(names, readings, strict=True) if spans is not None})
    return patterns([note], names, category_of=CATEGORIES, **options)


def test_tokens_all_of_them():
    """Table 3.4 of the thesis (002), first row: two readers mark 60, the third 60 anni."""
    short, long = [Span(8, 10, "AGE")], [Span(8, 15, "AGE")]
    assert read(short, short, long) == {("O", "O", "O"): 2, ("AGE", "AGE", "AGE"): 1, ("O", "O", "AGE"): 1}
    assert read(short, short, long, granularity=Granularity.BIO)["O", "O", "I-AGE"] == 1
    assert read(short, short, long, unit=Unit.MARKED).total() == 2
    assert agreement(read(short, short, long)).observed == pytest.approx((1 + 1 + 1 + 1 / 3) / 4)


def test_tokens_are_split_at_every_reader_s_boundaries():
    assert read([Span(8, 9, "AGE")], [Span(8, 10, "AGE")])["O", "AGE"] == 1


def test_characters_and_entities():
    short, long = [Span(8, 10, "AGE")], [Span(8, 15, "AGE")]
    assert read(short, long, unit=Unit.CHARACTER) == {("O", "O"): 8, ("AGE", "AGE"): 2, ("O", "AGE"): 5}
    assert read(short, long, unit=Unit.ENTITY) == {("AGE", "O"): 1, ("O", "AGE"): 1}


def test_granularity():
    doctor, patient = [Span(0, 4, "DOCTOR")], [Span(0, 4, "PATIENT")]
    assert agreement(read(doctor, patient)).observed == pytest.approx(3 / 4)
    assert agreement(read(doctor, patient, granularity=Granularity.CATEGORY)).observed == 1
    assert agreement(read(doctor, patient, granularity=Granularity.BINARY)).observed == 1


@pytest.mark.parametrize("granularity", list(Granularity))
def test_coarser_is_the_same_as_counting_anew(granularity):
    readings = ([Span(0, 4, "DOCTOR"), Span(8, 10, "AGE")], [Span(0, 7, "PATIENT")], [Span(8, 15, "AGE")])
    fine = read(*readings, granularity=Granularity.BIO)
    assert coarser(fine, granularity, CATEGORIES) == read(*readings, granularity=granularity)


def test_a_label_called_o_or_like_a_tag_is_told_from_tags():
    """I-94 is the number of an American form; codes of labels may look like that."""
    categories = {"O": "O", "I-94": "ID"}
    read_so = {"text": "ab", "unit": Unit.CHARACTER}
    assert read([Span(0, 1, "O")], [], **read_so) == {("B-O", "O"): 1, ("O", "O"): 1}
    tagged = read([Span(0, 1, "O"), Span(2, 3, "I-94")], [], text="a b", granularity=Granularity.BIO)
    assert coarser(tagged, Granularity.SUBCATEGORY, categories) == {("B-O", "O"): 1, ("I-94", "O"): 1}
    assert read([Span(0, 1, "I-94")], [], **read_so) == {("I-94", "O"): 1, ("O", "O"): 1}


def test_what_nobody_marked_is_counted_apart():
    assert unmarked(read([Span(8, 10, "AGE")], [Span(8, 15, "AGE")], None)) == 2


def test_whoever_says_nothing_says_o_and_whoever_did_not_read_is_missing():
    assert read([Span(8, 10, "AGE")], [], None)["AGE", "O", None] == 1


def test_a_note_with_one_reader_does_not_count():
    assert read([Span(8, 10, "AGE")], None) == {}


def test_bio_of_characters_makes_no_sense():
    with pytest.raises(ValueError, match="BIO"):
        read([], [], unit=Unit.CHARACTER, granularity=Granularity.BIO)


@given(st.text(alphabet="ab1 2.\u0301é\n", max_size=40), st.data())
def test_any_tokenizer_counts_as_the_default_rule_does(text, data):
    """The default rule makes only the tokens that somebody marked; another tokenizer has all of them made."""
    readings = {}
    for name in "ab":
        edges = data.draw(st.lists(st.tuples(st.integers(0, len(text)), st.integers(0, len(text))), max_size=4))
        readings[name] = [Span(min(e), max(e), "AGE") for e in edges if e[0] != e[1]]
    note = NoteReadings(text, readings)
    assert patterns([note], "ab") == patterns([note], "ab", tokenizer=lambda text: tokenize(text))


@given(
    st.text(alphabet="ab1 2.\n", min_size=1, max_size=30).flatmap(
        lambda text: st.tuples(
            st.just(text),
            st.lists(
                st.tuples(st.integers(0, len(text)), st.integers(0, len(text)), st.sampled_from("AB")), max_size=6
            ),
        )
    )
)
def test_tags_are_those_of_the_one_encoding(case):
    """Overlaps, spans given twice, white space at their ends: the same winners as everywhere."""
    text, drawn = case
    spans = [Span(min(a, b), max(a, b), label) for a, b, label in drawn if a != b]
    encoded = encode(text, spans, label_order="BA")
    regions = patterns([NoteReadings(text, {"a": spans, "b": []})], "ab", granularity=Granularity.BIO, label_order="BA")
    assert regions == Counter((tag, "O") for tag in encoded.tags)
