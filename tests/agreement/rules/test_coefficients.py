"""Coefficients, compared with published examples, with examples by hand and with the `krippendorff` package."""

from collections import Counter

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.agreement.rules.coefficients import cohen, fleiss, in_words, one_by_one, sums_of
from annotations.text.bio import OUTSIDE


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


def test_cohen_by_hand():
    """20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: Po = 0.7, Pe = 0.5 · 0.6 + 0.5 · 0.4 = 0.5, kappa 0.4."""
    both = cohen(Counter({("y", "y"): 20, ("y", "n"): 5, ("n", "y"): 10, ("n", "n"): 15, ("y", None): 7}), 0, 1)
    assert (both.units, both.observed.value) == (50, 0.7)
    assert both.kappa.value == pytest.approx(0.4)


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
        found = one.alpha(sum(sums.totals.values())).value
        assert found == (None if expected is None else pytest.approx(expected))


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
