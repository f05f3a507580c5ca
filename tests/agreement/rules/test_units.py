"""Units and granularities: the patterns of values of a note."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.agreement.rules.coefficients import sums_of
from annotations.agreement.rules.figures import PairCounts
from annotations.agreement.rules.units import ComparedUnit, Granularity, NoteAnnotationSets, compared, tagged_by_note
from annotations.text.bio import encode
from annotations.text.matching import match
from annotations.text.spans import Span
from annotations.text.tokens import tokenize

TEXT = "Uomo di 60 anni"
CATEGORIES = {"AGE": "AGE", "DOCTOR": "NAME", "PATIENT": "NAME"}


def patterns_of(
    *annotation_sets, text=TEXT, unit=ComparedUnit.TOKEN, granularity=Granularity.SUBCATEGORY, order=(), **options
):
    names = "abc"[: len(annotation_sets)]
    sets = {name: spans for name, spans in zip(names, annotation_sets, strict=True) if spans is not None}
    counted = Counter()
    for _, tagged in tagged_by_note([NoteAnnotationSets(text, sets, **options)], names, unit=unit, label_order=order):
        for pattern, times in zip(compared(list(tagged), granularity, CATEGORIES), tagged.values(), strict=True):
            counted[pattern] += times
    return counted


def test_all_tokens():
    """Table 3.4 of Catelli 2021, first row: two annotators mark 60, the third marks 60 anni."""
    short, long = [Span(8, 10, "AGE")], [Span(8, 15, "AGE")]
    assert patterns_of(short, short, long) == {("O", "O", "O"): 2, ("AGE", "AGE", "AGE"): 1, ("O", "O", "AGE"): 1}
    assert patterns_of(short, short, long, granularity=Granularity.BIO)["O", "O", "I-AGE"] == 1
    assert patterns_of(short, short, long, unit=ComparedUnit.MARKED).total() == 2
    assert sums_of(patterns_of(short, short, long)).observed().value == pytest.approx((1 + 1 + 1 + 1 / 3) / 4)


def test_characters_entities_and_missing_annotation_sets():
    short, long = [Span(8, 10, "AGE")], [Span(8, 15, "AGE")]
    assert patterns_of(short, long, unit=ComparedUnit.CHARACTER) == {("O", "O"): 8, ("AGE", "AGE"): 2, ("O", "AGE"): 5}
    assert patterns_of(short, long, unit=ComparedUnit.ENTITY) == {("AGE", "O"): 1, ("O", "AGE"): 1}
    # Tokens are split at the spans of every annotator.
    assert patterns_of([Span(8, 9, "AGE")], short)["O", "AGE"] == 1
    # Unmarked counts as O, and not submitted as missing.
    assert sums_of(patterns_of(short, long, None)).unmarked == 2
    assert patterns_of(short, [], None)["AGE", "O", None] == 1
    assert patterns_of(short, None) == {}


def test_granularity():
    doctor, patient = [Span(0, 4, "DOCTOR")], [Span(0, 4, "PATIENT")]
    assert sums_of(patterns_of(doctor, patient)).observed().value == pytest.approx(3 / 4)
    assert sums_of(patterns_of(doctor, patient, granularity=Granularity.CATEGORY)).observed().value == 1
    assert sums_of(patterns_of(doctor, patient, granularity=Granularity.BINARY)).observed().value == 1


def test_labels_that_look_like_tags_are_distinguished_from_tags():
    """A label code may be O, or look like a tag: I-94 is the number of an American form."""
    options = {"text": "ab", "unit": ComparedUnit.CHARACTER}
    assert patterns_of([Span(0, 1, "O")], [], **options) == {("B-O", "O"): 1, ("O", "O"): 1}
    tagged = patterns_of([Span(0, 1, "O"), Span(2, 3, "I-94")], [], text="a b")
    assert tagged == {("B-O", "O"): 1, ("I-94", "O"): 1}
    assert patterns_of([Span(0, 1, "I-94")], [], **options) == {("I-94", "O"): 1, ("O", "O"): 1}


@given(st.text(alphabet="ab1 2.\u0301é\n", max_size=40), st.data())
def test_another_tokenizer_with_the_default_rule_gives_the_same_counts(text, data):
    """The default rule creates only the marked tokens; another tokenizer creates all of them."""
    annotation_sets = {}
    for name in "ab":
        edges = data.draw(st.lists(st.tuples(st.integers(0, len(text)), st.integers(0, len(text))), max_size=4))
        annotation_sets[name] = [Span(min(e), max(e), "AGE") for e in edges if e[0] != e[1]]
    sets = annotation_sets.values()
    assert patterns_of(*sets, text=text) == patterns_of(*sets, text=text, tokenizer=lambda text: tokenize(text))


@given(st.text(alphabet="ab1 2.\n", min_size=1, max_size=30), st.data())
def test_tags_are_those_of_encode(text, data):
    """With overlaps, duplicates and white space at the ends of spans."""
    bound = st.integers(0, len(text))
    drawn = data.draw(st.lists(st.tuples(bound, bound, st.sampled_from("AB")), max_size=6))
    spans = [Span(min(a, b), max(a, b), label) for a, b, label in drawn if a != b]
    regions = patterns_of(spans, [], text=text, granularity=Granularity.BIO, order="BA")
    assert regions == Counter((tag, "O") for tag in encode(text, spans, label_order="BA").tags)


# ── Pairwise F1 ──────────────────────────────────────────────────────────────────────────────────────────────────────


def shared(ours, theirs):
    counted = PairCounts()
    counted.add(set(ours), set(theirs))
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
