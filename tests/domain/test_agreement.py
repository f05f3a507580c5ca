"""Agreement, against figures worked by hand, Krippendorff's published example, and the `krippendorff` package."""

from collections import Counter

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.agreement import (
    Granularity,
    NoteReadings,
    Unit,
    agreement,
    coarser,
    in_words,
    patterns,
    unmarked,
)
from annotations.domain.spans import Span
from annotations.domain.tokens import tokenize


def counted(*units):
    return Counter(tuple(None if value == "-" else value for value in unit) for unit in units)


def test_the_worked_example_of_the_definitions():
    result = agreement(counted("AAB", "AAA", "AB-"))
    assert result.observed == pytest.approx(4 / 9)
    assert (result.units, result.annotators) == (3, 3)


def test_krippendorff_s_published_example_with_missing_values():
    """K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section C: nominal alpha 0.743."""
    units = ["11-1", "2232", "3333", "3333", "2222", "1234", "4444", "1121", "2222", "-555", "--11", "--3-"]
    assert agreement(counted(*units)).alpha == pytest.approx(0.743, abs=0.0005)


def test_one_unit_by_hand():
    """Two readers, AB on one unit, AA on another: n = 4, A 3, B 1; Do = 2/4, De = 1 - 6/12, alpha 0."""
    result = agreement(counted("AA", "AB"))
    assert result.observed == 0.5
    assert result.alpha == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("units", "why"),
    [
        ([], "no note has been submitted"),
        (["A-", "-B"], "no note has been submitted"),
        (["OO", "OO"], "only one value"),
    ],
)
def test_undefined_says_why(units, why):
    result = agreement(counted(*units))
    assert result.alpha is None
    assert why in result.undefined


VALUES = st.sampled_from(["O", "A", "B", "C", None])


@given(st.integers(2, 5).flatmap(lambda n: st.lists(st.tuples(*[VALUES] * n), min_size=1, max_size=40)))
def test_alpha_equals_the_package_on_random_data_with_missing_values(units):
    result = agreement(Counter(units))
    codes = {"O": 0, "A": 1, "B": 2, "C": 3, None: np.nan}
    data = np.array([[codes[value] for value in unit] for unit in units], dtype=float).T
    pairable = [unit for unit in units if sum(value is not None for value in unit) > 1]
    used = {value for unit in pairable for value in unit if value is not None}
    if len(used) < 2:
        assert result.alpha is None
        return
    assert result.alpha == pytest.approx(krippendorff.alpha(reliability_data=data, level_of_measurement="nominal"))


@given(st.integers(2, 4).flatmap(lambda n: st.lists(st.tuples(*[VALUES] * n), min_size=1, max_size=30)))
def test_observed_equals_pair_by_pair_counting(units):
    shares = []
    for unit in units:
        present = [value for value in unit if value is not None]
        pairs = [(a, b) for i, a in enumerate(present) for b in present[i + 1 :]]
        if pairs:
            shares.append(sum(a == b for a, b in pairs) / len(pairs))
    result = agreement(Counter(units))
    assert result.observed == (pytest.approx(sum(shares) / len(shares)) if shares else None)
    assert result.units == len(shares)


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
    labels = read(*readings)
    if granularity is not Granularity.BIO:
        assert coarser(labels, granularity, CATEGORIES) == read(*readings, granularity=granularity)


def test_what_nobody_marked_is_counted_apart():
    assert unmarked(read([Span(8, 10, "AGE")], [Span(8, 15, "AGE")], None)) == 2


def test_whoever_says_nothing_says_o_and_whoever_did_not_read_is_missing():
    assert read([Span(8, 10, "AGE")], [], None)["AGE", "O", None] == 1


def test_a_note_with_one_reader_does_not_count():
    assert read([Span(8, 10, "AGE")], None) == {}


def test_bio_of_characters_makes_no_sense():
    with pytest.raises(ValueError, match="BIO"):
        read([], [], unit=Unit.CHARACTER, granularity=Granularity.BIO)


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (-0.1, "poor"),
        (0.0, "slight"),
        (0.2, "slight"),
        (0.21, "fair"),
        (0.6, "moderate"),
        (0.71, "substantial"),
        (0.9, "almost perfect"),
    ],
)
def test_landis_and_koch(value, word):
    assert in_words(value) == word


@given(st.text(alphabet="ab1 2.\u0301é\n", max_size=40), st.data())
def test_any_tokenizer_counts_as_the_default_rule_does(text, data):
    """The default rule makes only the tokens that somebody marked; another tokenizer has all of them made."""
    readings = {}
    for name in "ab":
        edges = data.draw(st.lists(st.tuples(st.integers(0, len(text)), st.integers(0, len(text))), max_size=4))
        readings[name] = [Span(min(e), max(e), "AGE") for e in edges if e[0] != e[1]]
    note = NoteReadings(text, readings)
    assert patterns([note], "ab") == patterns([note], "ab", tokenizer=lambda text: tokenize(text))
