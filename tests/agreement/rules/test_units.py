"""Units and granularities: the patterns of values of a note."""

from collections import Counter, defaultdict

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.agreement.rules.coefficients import cohen, fleiss, in_words, one_by_one, sums_of, verdict
from annotations.agreement.rules.counting import AgreementCounts
from annotations.agreement.rules.units import ComparedUnit, Granularity, NoteAnnotationSets, Setup, compared
from annotations.text.bio import OUTSIDE, encode
from annotations.text.matching import match
from annotations.text.spans import Span

TEXT = "Uomo di 60 anni"
CATEGORIES = {"AGE": "AGE", "DOCTOR": "NAME", "PATIENT": "NAME"}


def patterns_of(
    *annotation_sets, text=TEXT, unit=ComparedUnit.TOKEN, granularity=Granularity.SUBCATEGORY, order=(), **options
):
    names = "abc"[: len(annotation_sets)]
    sets = {name: spans for name, spans in zip(names, annotation_sets, strict=True) if spans is not None}
    counted = Counter()
    tally = counts_of([NoteAnnotationSets(text, sets, **options)], names, order, unit)
    patterns = compared(tally.patterns, granularity, CATEGORIES)
    for at, times in zip(tally.pattern_of.tolist(), tally.times.tolist(), strict=True):
        counted[patterns[at]] += times
    return counted


def counts_of(notes, names, order=(), unit=ComparedUnit.ENTITY):
    categories = defaultdict(lambda: "ANY") | CATEGORIES
    return AgreementCounts(notes, Setup(names, order, categories), unit)


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
    assert patterns_of([Span(0, 1, "O"), Span(2, 3, "I-94")], [], text="a b") == {("B-O", "O"): 1, ("I-94", "O"): 1}
    assert patterns_of([Span(0, 1, "I-94")], [], **options) == {("I-94", "O"): 1, ("O", "O"): 1}


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
    sets = {name: [Span(*bounds) for bounds in spans] for name, spans in (("a", ours), ("b", theirs))}
    counted = counts_of([NoteAnnotationSets("x" * 20, sets)], "ab").shared[Granularity.SUBCATEGORY]["a", "b"]
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


# Coefficients, compared with published examples, with examples by hand and with the `krippendorff` package


def counted(*units):
    return Counter(tuple(None if value == "-" else value for value in unit) for unit in units)


KRIPPENDORFF = [
    # Krippendorff 2011, section A: binary, two observers, ten units.
    (["0100000010", "1110010000"], 0.095),
    # Krippendorff 2011, section B: nominal, two observers, twelve units.
    (["aabbdcccedda", "babbbccceddd"], 0.692),
]


# ── Published ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("annotators", "alpha"), KRIPPENDORFF)
def test_krippendorff_s_published_examples(annotators, alpha):
    assert sums_of(counted(*zip(*annotators, strict=True))).alpha().value == pytest.approx(alpha, abs=0.0005)
    # Krippendorff 2011, section C: nominal, with missing values.
    units = ["11-1", "2232", "3333", "3333", "2222", "1234", "4444", "1121", "2222", "-555", "--11", "--3-"]
    assert sums_of(counted(*units)).alpha().value == pytest.approx(0.743, abs=0.0005)


FLEISS = [
    "444444", "222555", "233335", "555555", "222444", "113333", "333355", "113334", "114444", "555555",
    "144444", "124444", "222333", "144444", "224445", "333335", "111455", "111112", "224444", "133555",
    "555555", "244444", "224555", "114444", "144445", "222224", "111155", "224444", "133333", "555555",
]  # fmt: skip


def test_fleiss_published_example():
    """Fleiss 1971, table 1: 30 patients, six psychiatrists, five diagnoses; kappa 0.430."""
    totals = sums_of(counted(*FLEISS)).totals
    shares = {"1": 0.144, "2": 0.144, "3": 0.167, "4": 0.306, "5": 0.239}
    assert {value: round(n / 180, 3) for value, n in totals.items()} == shares
    kappa, units = fleiss(counted(*FLEISS))
    assert (units, kappa.value) == (30, pytest.approx(0.430, abs=0.0005))
    # Words of Landis and Koch
    words = {-0.1: "poor", 0.0: "slight", 0.2: "slight", 0.21: "fair", 0.6: "moderate", 0.71: "substantial"}
    assert {value: in_words(value) for value in words} == words


def test_alpha_is_judged_by_its_interval_too():
    judged = {(0.91, 0.85): "good", (0.85, 0.7): "unsure", (0.85, None): "unsure", (0.7, 0.6): "tentative",
              (0.6, 0.5): "poor", (-0.1, None): "poor", (None, None): "undefined"}  # fmt: skip
    assert {pair: verdict(*pair) for pair in judged} == judged


# ── By hand ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_shares_with_and_without_unmarked_units():
    """AAB has a majority, AB- has none; OO and OOO are unmarked."""
    sums = sums_of(counted("AAB", "AAA", "AB-", "OO-", "OOO"))
    assert (sums.units, sums.full, sums.majority, sums.unmarked, sums.unmarked_values) == (5, 3, 4, 2, 5)
    rest, same = sums.without_unmarked(), sums_of(counted("AAB", "AAA", "AB-"))
    assert (rest.units, rest.full, rest.majority, rest.totals) == (same.units, same.full, same.majority, same.totals)
    assert rest.alpha().value == pytest.approx(same.alpha().value)
    assert rest.observed().value == pytest.approx(same.observed().value)


# ── Undefined coefficients ───────────────────────────────────────────────────────────────────────────────────────────
def test_undefined_coefficients_have_a_reason():
    for units, why in (([], "submitted"), (["A-", "-B"], "submitted"), (["OO", "OO"], "same (O)")):
        alpha = sums_of(counted(*units)).alpha()
        assert alpha.value is None and why in alpha.why
    assert "by all annotators" in fleiss(counted("AB-", "-AB"))[0].why
    assert "the same" in fleiss(counted("AA", "AA"))[0].why
    assert "no note in common" in cohen(counted("A-", "-B"), 0, 1).kappa.why
    both = cohen(counted("AA", "AA"), 0, 1)
    assert (both.observed.value, both.kappa.value, "the same" in both.kappa.why) == (1.0, None, True)


# ── Random sets ──────────────────────────────────────────────────────────────────────────────────────────────────────
VALUES = st.sampled_from(["O", "A", "B", "C", None])
UNITS = st.integers(2, 5).flatmap(lambda n: st.lists(st.tuples(*[VALUES] * n), min_size=1, max_size=40))


@given(UNITS)
def test_alpha_is_the_package_s(units):
    alpha = sums_of(Counter(units)).alpha().value
    codes = {"O": 0, "A": 1, "B": 2, "C": 3, None: np.nan}
    data = np.array([[codes[value] for value in unit] for unit in units], dtype=float).T
    pairable = [unit for unit in units if sum(value is not None for value in unit) > 1]
    used = {value for unit in pairable for value in unit if value is not None}
    if len(used) < 2:
        assert alpha is None
        return
    assert alpha == pytest.approx(krippendorff.alpha(reliability_data=data, level_of_measurement="nominal"))


@given(UNITS)
def test_alpha_of_one_label_is_that_of_the_binary_data(units):
    """The alpha of one label, compared with that of patterns with only two values, "it" and O."""
    sums = sums_of(Counter(units))
    for value, one in one_by_one(Counter(units)).items():
        binary = Counter(tuple(None if v is None else "it" if v == value else OUTSIDE for v in unit) for unit in units)
        expected = sums_of(binary).alpha().value
        assert one.alpha(sum(sums.totals.values())).value == (None if expected is None else pytest.approx(expected))


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=60))
def test_cohen_is_the_confusion_matrix_s(units):
    """Compared with the textbook computation, as in scikit-learn, from the confusion matrix and its margins."""
    both = [(a, b) for a, b in units if a is not None and b is not None]
    found = cohen(Counter(units), 0, 1)
    assert found.units == len(both)
    if not both:
        return
    values = sorted({value for pair in both for value in pair})
    matrix = np.array([[sum(pair == (a, b) for pair in both) for b in values] for a in values])
    expected = np.outer(matrix.sum(axis=1), matrix.sum(axis=0)) / len(both)
    off = 1 - np.eye(len(values))
    if len(values) == 1:
        assert found.kappa.value is None
    else:
        assert found.kappa.value == pytest.approx(1 - (off * matrix).sum() / (off * expected).sum())
