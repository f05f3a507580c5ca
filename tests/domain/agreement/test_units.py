"""Units and granularities: the patterns of values of a note."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.agreement import (
    Granularity,
    NoteAnnotationSets,
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


def patterns_of(*annotation_sets, text=TEXT, **options):
    names = [chr(ord("a") + n) for n in range(len(annotation_sets))]
    note = NoteAnnotationSets(
        text, {name: spans for name, spans in zip(names, annotation_sets, strict=True) if spans is not None}
    )
    return patterns([note], names, category_of=CATEGORIES, **options)


def test_all_tokens():
    """Table 3.4 of Catelli 2021, first row: two annotators mark 60, the third marks 60 anni."""
    short, long = [Span(8, 10, "AGE")], [Span(8, 15, "AGE")]
    assert patterns_of(short, short, long) == {("O", "O", "O"): 2, ("AGE", "AGE", "AGE"): 1, ("O", "O", "AGE"): 1}
    assert patterns_of(short, short, long, granularity=Granularity.BIO)["O", "O", "I-AGE"] == 1
    assert patterns_of(short, short, long, unit=Unit.MARKED).total() == 2
    assert agreement(patterns_of(short, short, long)).observed == pytest.approx((1 + 1 + 1 + 1 / 3) / 4)


def test_tokens_are_split_at_the_spans_of_every_annotator():
    assert patterns_of([Span(8, 9, "AGE")], [Span(8, 10, "AGE")])["O", "AGE"] == 1


def test_characters_and_entities():
    short, long = [Span(8, 10, "AGE")], [Span(8, 15, "AGE")]
    assert patterns_of(short, long, unit=Unit.CHARACTER) == {("O", "O"): 8, ("AGE", "AGE"): 2, ("O", "AGE"): 5}
    assert patterns_of(short, long, unit=Unit.ENTITY) == {("AGE", "O"): 1, ("O", "AGE"): 1}


def test_granularity():
    doctor, patient = [Span(0, 4, "DOCTOR")], [Span(0, 4, "PATIENT")]
    assert agreement(patterns_of(doctor, patient)).observed == pytest.approx(3 / 4)
    assert agreement(patterns_of(doctor, patient, granularity=Granularity.CATEGORY)).observed == 1
    assert agreement(patterns_of(doctor, patient, granularity=Granularity.BINARY)).observed == 1


@pytest.mark.parametrize("granularity", list(Granularity))
def test_coarser_gives_the_same_as_counting_again(granularity):
    annotation_sets = ([Span(0, 4, "DOCTOR"), Span(8, 10, "AGE")], [Span(0, 7, "PATIENT")], [Span(8, 15, "AGE")])
    fine = patterns_of(*annotation_sets, granularity=Granularity.BIO)
    assert coarser(fine, granularity, CATEGORIES) == patterns_of(*annotation_sets, granularity=granularity)


def test_labels_that_look_like_tags_are_distinguished_from_tags():
    """A label code may be O, or look like a tag: I-94 is the number of an American form."""
    categories = {"O": "O", "I-94": "ID"}
    options = {"text": "ab", "unit": Unit.CHARACTER}
    assert patterns_of([Span(0, 1, "O")], [], **options) == {("B-O", "O"): 1, ("O", "O"): 1}
    tagged = patterns_of([Span(0, 1, "O"), Span(2, 3, "I-94")], [], text="a b", granularity=Granularity.BIO)
    assert coarser(tagged, Granularity.SUBCATEGORY, categories) == {("B-O", "O"): 1, ("I-94", "O"): 1}
    assert patterns_of([Span(0, 1, "I-94")], [], **options) == {("I-94", "O"): 1, ("O", "O"): 1}


def test_unmarked_units_are_counted():
    assert unmarked(patterns_of([Span(8, 10, "AGE")], [Span(8, 15, "AGE")], None)) == 2


def test_unmarked_counts_as_o_and_not_submitted_as_missing():
    assert patterns_of([Span(8, 10, "AGE")], [], None)["AGE", "O", None] == 1


def test_a_note_with_one_annotator_does_not_count():
    assert patterns_of([Span(8, 10, "AGE")], None) == {}


@given(st.text(alphabet="ab1 2.\u0301é\n", max_size=40), st.data())
def test_another_tokenizer_with_the_default_rule_gives_the_same_counts(text, data):
    """The default rule creates only the marked tokens; another tokenizer creates all of them."""
    annotation_sets = {}
    for name in "ab":
        edges = data.draw(st.lists(st.tuples(st.integers(0, len(text)), st.integers(0, len(text))), max_size=4))
        annotation_sets[name] = [Span(min(e), max(e), "AGE") for e in edges if e[0] != e[1]]
    note = NoteAnnotationSets(text, annotation_sets)
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
def test_tags_are_those_of_encode(case):
    """With overlaps, duplicates and white space at the ends of spans."""
    text, drawn = case
    spans = [Span(min(a, b), max(a, b), label) for a, b, label in drawn if a != b]
    encoded = encode(text, spans, label_order="BA")
    regions = patterns(
        [NoteAnnotationSets(text, {"a": spans, "b": []})], "ab", granularity=Granularity.BIO, label_order="BA"
    )
    assert regions == Counter((tag, "O") for tag in encoded.tags)
