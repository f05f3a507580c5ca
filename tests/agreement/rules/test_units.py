"""Units and granularities: the patterns of values of a note."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.agreement.rules import (
    ComparedUnit,
    Granularity,
    NoteAnnotationSets,
    agreement,
    coarser,
    patterns,
    unmarked,
)
from annotations.agreement.rules.figures import PairwiseF1, Shared, share
from annotations.text.bio import encode
from annotations.text.matching import match
from annotations.text.spans import Span
from annotations.text.tokens import tokenize

TEXT = "Uomo di 60 anni"
CATEGORIES = {"AGE": "AGE", "DOCTOR": "NAME", "PATIENT": "NAME"}


def patterns_of(*annotation_sets, text=TEXT, **options):
    names = "abc"[: len(annotation_sets)]
    sets = {name: spans for name, spans in zip(names, annotation_sets, strict=True) if spans is not None}
    return patterns([NoteAnnotationSets(text, sets)], names, category_of=CATEGORIES, **options)


def test_all_tokens():
    """Table 3.4 of Catelli 2021, first row: two annotators mark 60, the third marks 60 anni."""
    short, long = [Span(8, 10, "AGE")], [Span(8, 15, "AGE")]
    assert patterns_of(short, short, long) == {("O", "O", "O"): 2, ("AGE", "AGE", "AGE"): 1, ("O", "O", "AGE"): 1}
    assert patterns_of(short, short, long, granularity=Granularity.BIO)["O", "O", "I-AGE"] == 1
    assert patterns_of(short, short, long, unit=ComparedUnit.MARKED).total() == 2
    assert agreement(patterns_of(short, short, long)).observed == pytest.approx((1 + 1 + 1 + 1 / 3) / 4)


def test_characters_entities_and_missing_annotation_sets():
    short, long = [Span(8, 10, "AGE")], [Span(8, 15, "AGE")]
    assert patterns_of(short, long, unit=ComparedUnit.CHARACTER) == {("O", "O"): 8, ("AGE", "AGE"): 2, ("O", "AGE"): 5}
    assert patterns_of(short, long, unit=ComparedUnit.ENTITY) == {("AGE", "O"): 1, ("O", "AGE"): 1}
    # Tokens are split at the spans of every annotator.
    assert patterns_of([Span(8, 9, "AGE")], short)["O", "AGE"] == 1
    # Unmarked counts as O, and not submitted as missing.
    assert unmarked(patterns_of(short, long, None)) == 2
    assert patterns_of(short, [], None)["AGE", "O", None] == 1
    assert patterns_of(short, None) == {}


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
    options = {"text": "ab", "unit": ComparedUnit.CHARACTER}
    assert patterns_of([Span(0, 1, "O")], [], **options) == {("B-O", "O"): 1, ("O", "O"): 1}
    tagged = patterns_of([Span(0, 1, "O"), Span(2, 3, "I-94")], [], text="a b", granularity=Granularity.BIO)
    assert coarser(tagged, Granularity.SUBCATEGORY, categories) == {("B-O", "O"): 1, ("I-94", "O"): 1}
    assert patterns_of([Span(0, 1, "I-94")], [], **options) == {("I-94", "O"): 1, ("O", "O"): 1}


@given(st.text(alphabet="ab1 2.\u0301é\n", max_size=40), st.data())
def test_another_tokenizer_with_the_default_rule_gives_the_same_counts(text, data):
    """The default rule creates only the marked tokens; another tokenizer creates all of them."""
    annotation_sets = {}
    for name in "ab":
        edges = data.draw(st.lists(st.tuples(st.integers(0, len(text)), st.integers(0, len(text))), max_size=4))
        annotation_sets[name] = [Span(min(e), max(e), "AGE") for e in edges if e[0] != e[1]]
    note = NoteAnnotationSets(text, annotation_sets)
    assert patterns([note], "ab") == patterns([replace(note, tokenizer=lambda text: tokenize(text))], "ab")


@given(st.text(alphabet="ab1 2.\n", min_size=1, max_size=30), st.data())
def test_tags_are_those_of_encode(text, data):
    """With overlaps, duplicates and white space at the ends of spans."""
    bound = st.integers(0, len(text))
    drawn = data.draw(st.lists(st.tuples(bound, bound, st.sampled_from("AB")), max_size=6))
    spans = [Span(min(a, b), max(a, b), label) for a, b, label in drawn if a != b]
    notes = [NoteAnnotationSets(text, {"a": spans, "b": []})]
    regions = patterns(notes, "ab", granularity=Granularity.BIO, label_order="BA")
    assert regions == Counter((tag, "O") for tag in encode(text, spans, label_order="BA").tags)


# ── Pairwise F1 ──────────────────────────────────────────────────────────────────────────────────────────────────────


def shared(ours, theirs):
    counted = Shared()
    share(counted, set(ours), set(theirs))
    return counted.exact, counted.overlapping


def test_exact_first_then_one_to_one():
    assert shared([(0, 5, "A")], [(0, 5, "A")]) == (1, 1)
    assert shared([(0, 5, "A")], [(0, 5, "B")]) == (0, 0), "overlapping spans need the same label"
    assert shared([(0, 5, "A")], [(5, 9, "A")]) == (0, 0), "touching is not overlapping"
    assert shared([(0, 9, "A")], [(0, 4, "A"), (5, 9, "A")]) == (0, 1), "one to one"
    assert shared([(0, 5, "A"), (4, 9, "A")], [(0, 5, "A"), (3, 6, "A")]) == (1, 2)
    assert shared([(0, 6, "A"), (5, 9, "A")], [(0, 2, "A"), (3, 6, "A")]) == (0, 2), (
        "the longest overlap is not chosen greedily"
    )


def test_pairs_have_the_order_of_the_annotators():
    pairs = PairwiseF1()
    pairs.add(["a", "b", "c"], [{(0, 1, "A")}, {(0, 1, "A")}, set()])
    pairs.add(["a", "c"], [set(), set()])
    found = {names: (s.notes, s.exact) for names, s in pairs.pairs.items()}
    assert found == {("a", "b"): (1, 1), ("a", "c"): (2, 0), ("b", "c"): (1, 0)}


SPANS = st.sets(
    st.tuples(st.integers(0, 12), st.integers(1, 6), st.sampled_from("AB")).map(lambda t: (t[0], t[0] + t[1], t[2])),
    max_size=7,
)


@given(SPANS, SPANS)
def test_counts_are_those_of_matching_all_spans_and_symmetric(ours, theirs):
    pairs = match(
        [Span(*bounds) for bounds in sorted(ours)],
        [Span(*bounds) for bounds in sorted(theirs)],
        compatible=lambda p, g: p.label == g.label,
    )
    assert shared(ours, theirs) == (len(ours & theirs), len(pairs))
    assert shared(theirs, ours) == shared(ours, theirs)
