"""Calibration curves, compared with scikit-learn; the influence of few examples; cross-fitted figures."""

import json
import random
from dataclasses import replace
from functools import cache
from itertools import pairwise
from math import exp, log, log1p

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from models_runtime.training.rules import carried, curves
from models_runtime.training.rules.curves import AS_IT_IS, EDGE, GROUPS, fit


def logit_of(confidence, a, b, c):
    return a * log(confidence) - b * log1p(-confidence) + c


def seen(a, b, c, *, each=40, seed=3):
    """Counts at 199 confidences, drawn from the curve with the parameters a, b, c."""
    chance = random.Random(seed)
    for step in range(1, 200):
        share = 1 / (1 + exp(-logit_of(step / 200, a, b, c)))
        yield step / 200, each, sum(chance.random() < share for _ in range(each))


def test_without_a_prior_it_is_logistic_regression():
    points = list(seen(0.6, 1.4, 0.3))
    features = np.array([(log(x), -log1p(-x)) for x, _, _ in points for _ in range(2)])
    answers = np.array([answer for _ in points for answer in (1, 0)])
    weights = np.array([float(n) for _, spans, right in points for n in (right, spans - right)])
    theirs = LogisticRegression(C=1e10, tol=1e-10, max_iter=10_000).fit(features, answers, sample_weight=weights)
    ours = fit(points, prior=AS_IT_IS, weight=1e-9)
    assert ours.parameters == pytest.approx((*theirs.coef_[0], theirs.intercept_[0]), abs=1e-4)


def test_the_default_curve_changes_nothing():
    for confidence in (0.0001, 0.1, 0.5, 0.9, 0.9999):
        assert AS_IT_IS(confidence) == pytest.approx(confidence)
    assert fit([], prior=curves.Curve(2, 1, 0.5), weight=1) == curves.Curve(2, 1, 0.5)


def test_a_curve_for_reversed_confidences_is_flat_and_does_not_reverse_the_order():
    curve = fit([(x, n, n - right) for x, n, right in seen(1, 1, 0)], prior=AS_IT_IS, weight=1)
    assert (curve.a, curve.b) == (0, 0) and curve(0.1) == curve(0.9) == pytest.approx(0.5, abs=0.02)


confidences = st.floats(0, 1, allow_nan=False)
counts = st.tuples(confidences, st.integers(0, 50), st.integers(0, 50)).map(lambda p: (p[0], max(p[1:]), min(p[1:])))


@given(st.lists(counts, max_size=30), st.sampled_from([0.1, 1.0, 5.0]))
def test_any_counts_give_a_rising_curve_between_0_and_1(points, weight):
    curve = fit(points, prior=AS_IT_IS, weight=weight)
    values = [curve(at / 20) for at in range(21)]
    assert all(0 < value < 1 for value in values) and all(low <= high + 1e-12 for low, high in pairwise(values))
    assert curve.a >= 0 and curve.b >= 0
    # A steep curve never reaches 0 or 1.
    curve = fit([(1.0, 50, 50)] * 30, prior=AS_IT_IS, weight=0.1)
    steep = curves.Curve(curve.a * 20, curve.b * 20, curve.c)
    assert 0 < steep(0.0) < 1e-9 and 1 - 1e-9 < steep(1.0) < 1


def outcomes(*groups):
    """Outcomes from (label, confidence, spans, right); the spans are distributed over the folds."""
    made = curves.Outcomes()
    for label, confidence, spans, right in groups:
        for at in range(spans):
            made.add(label, confidence, right=at % spans < right, fold=at % 5)
    return made


def test_a_common_label_has_its_own_curve_and_a_rare_one_that_of_all_labels():
    found = curves.fitted(
        outcomes(("NAME", 0.9, 1000, 500), ("DATE", 0.9, 1000, 1000), ("AGE", 0.9, curves.LEAST_OWN - 1, 0))
    )
    assert set(found.curves.labels) == {"NAME", "DATE"} and found.curves("NAME", 0.9) == pytest.approx(0.5, abs=0.02)
    assert found.curves("DATE", 0.9) > 0.98
    assert found.curves("AGE", 0.9) == found.curves("never seen", 0.9) == pytest.approx(0.743, abs=0.02)


def test_few_examples_change_a_curve_only_a_little():
    few = curves.fitted(outcomes(("NAME", 0.9, 1000, 900), ("CITY", 0.9, curves.LEAST_OWN, 0))).curves("CITY", 0.9)
    many = curves.fitted(outcomes(("NAME", 0.9, 1000, 900), ("CITY", 0.9, 1000, 0))).curves("CITY", 0.9)
    assert many < 0.02 < 0.1 < few < 0.8


def test_too_few_spans_are_refused_with_their_number():
    with pytest.raises(curves.TooFew, match=f"too few spans with a confidence \\({curves.LEAST - 1}\\)"):
        curves.fitted(outcomes(("NAME", 0.9, curves.LEAST - 1, 1)))
    with pytest.raises(curves.TooFew):
        curves.fitted(curves.Outcomes())
    # Spans without a finite confidence do not count.
    made = outcomes(("NAME", 0.9, 100, 50))
    for nothing in (None, float("nan"), float("inf")):
        made.add("NAME", nothing, right=True, fold=0)
    assert curves.fitted(made).before.spans == 100


def test_the_figures_after_calibration_are_cross_fitted():
    """All spans of one patient are wrong: a curve fitted with them would look better than it is."""
    made = outcomes(("NAME", 0.9, 400, 360))
    for _ in range(100):
        made.add("NAME", 0.4, right=False, fold=2)
    found = curves.fitted(made)
    seen_all = found.curves("NAME", 0.4)
    (low, *_rest) = found.after.groups
    assert low.spans == 100 and low.share == 0 and low.confidence > seen_all + 0.1


def test_calibrated_confidences_are_nearer_to_the_observed_precision():
    made = curves.Outcomes()
    for at, (confidence, spans, right) in enumerate(seen(0.4, 0.7, -0.5)):
        for n in range(spans):
            made.add("NAME", confidence, right=n < right, fold=(at + n) % 5)
    found = curves.fitted(made)
    assert found.after.ece < 0.03 < found.before.ece and found.after.brier < found.before.brier


def test_reliability_by_hand():
    found = curves.Reliability.of([(0.9, 10, 8), (0.5, 10, 5)])
    assert (found.spans, found.right, found.confidence) == (20, 13, pytest.approx(0.7))
    assert found.ece == pytest.approx((10 * 0.1 + 10 * 0.0) / 20)
    assert found.brier == pytest.approx((8 * 0.01 + 2 * 0.81 + 5 * 0.25 + 5 * 0.25) / 20)
    assert [(g.confidence, g.spans, g.right) for g in found.groups] == [(0.5, 10, 5), (0.9, 10, 8)]


@given(st.lists(counts.filter(lambda p: p[1] > 0), min_size=1, max_size=60))
def test_there_are_at_most_ten_groups_and_each_span_is_in_one(points):
    found = curves.Reliability.of(points)
    assert len(found.groups) <= GROUPS and sum(g.spans for g in found.groups) == found.spans
    assert sum(g.right for g in found.groups) == found.right and 0 <= found.ece <= 1 and 0 <= found.brier <= 1


def test_stored_curves_are_restored_unchanged():
    made = curves.fitted(outcomes(("NAME", 0.9, 1000, 500), ("DATE", 1.0, 100, 99))).curves
    again = curves.Curves.from_dict(made.as_dict())
    assert again == made and again("DATE", 1.0) == made("DATE", 1 - EDGE) == round(made("DATE", 1.0), 4)


# ── Calibrations as text ─────────────────────────────────────────────────────────────────────────────────────────────


LABELS = ["CITY", "DOCTOR", "PATIENT"]


@cache
def curves_of(*labels):
    outcomes, added = curves.Outcomes(), curves.Outcomes()
    for at, label in enumerate(labels):
        for number in range(60):
            confidence = 0.5 + (number % 50) / 100
            outcomes.add(label, confidence, right=number % (3 + at % 5) > 0, fold=number % 5)
            added.add(label, confidence, right=number % 2 > 0, fold=number % 5)
    return curves.fitted(outcomes, added)


def calibration(labels=LABELS, revision="1-abc"):
    made = curves_of(*labels)
    return carried.CarriedCalibration(
        revision=revision, held_out=True, gold_number=3, gold_hash="f" * 64, notes=12, own_spans=0,
        left_out={"test": 4}, curves=made.curves.as_dict(), figures=made.figures(),
    )  # fmt: skip


def close(figures):
    return {name: pytest.approx(value, abs=1e-4) for name, value in figures.items() if name != "groups"}


def test_a_calibration_is_read_as_it_was_written():
    one = calibration()
    (read,) = carried.from_text(carried.as_text([one], longest=65_000))
    assert replace(read, figures={}) == replace(one, figures={}), "curves are the same to the last digit"
    assert curves.Curves.from_dict(read.curves)("CITY", 0.77) == curves.Curves.from_dict(one.curves)("CITY", 0.77)
    for name in ("before", "after"):
        found, wanted = read.figures[name], one.figures[name]
        assert {key: value for key, value in found.items() if key != "groups"} == close(wanted)
        assert found["groups"] == [pytest.approx(group, abs=1e-4) for group in wanted["groups"]]
    assert [line["label"] for line in read.figures["labels"]] == LABELS


def test_what_does_not_fit_is_left_out_figures_by_label_first():
    many = [calibration([f"LABEL-{number}" for number in range(60)], f"revision-{n}") for n in range(2)]
    whole = carried.as_text(many, longest=10**6)
    assert [len(one.figures["labels"]) for one in carried.from_text(whole)] == [60, 60]
    shorter = carried.as_text(many, longest=len(whole) - 1)
    assert [len(one.figures["labels"]) for one in carried.from_text(shorter)] == [60, 0]
    bare = carried.as_text(many, longest=8_000)
    assert len(bare) <= 8_000 and [len(one.figures["labels"]) for one in carried.from_text(bare)] == [0]
    assert len(carried.from_text(bare)[0].curves["labels"]) == 60


def changed(path, value):
    data = json.loads(carried.as_text([calibration()], longest=65_000))
    at = data[0]
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return json.dumps(data).encode()


WRONG = {
    ("revision",): ["", "x\u202ey", "x" * 121],
    ("held_out",): [1],
    ("gold_number",): [-1, "1"],
    ("notes",): [10**9, True],
    ("left_out",): [[]],
    ("curves", "method"): ["other"],
    ("curves", "pool"): [[1, 1], [-0.1, 1, 0], [1, 1, 1e7]],
    ("curves", "labels", "CITY"): [[1, "1", 0], {"1": 1, "2": 1, "3": 1}],
    ("curves", "labels"): [{"a\u0007": [1, 1, 0]}, [], "ab", None, {f"L{n}": [1, 1, 0] for n in range(501)}],
    ("curves", "added"): ["abc"],
    ("curves",): [[], "beta-1"],
    ("figures",): [[]],
    ("figures", "labels"): [["ab"], [["label"]], "ab", {}],
    ("figures", "before"): [
        *({"0": 1, "1": 1, "2": 1}, [0.1, 0.1, {"abc": 1}], [0.1, 0.1, ["abc"]], [0.1, 0.1, []]),
        *([0.1, 1.1, [[0.5, 4, 2]]], [0.1, 0.1, [[0.5, 4, 5]]], [0.1, 0.1, [[0.5, 4, 2]] * 12]),
    ],
}


@pytest.mark.parametrize(("path", "value"), [(path, value) for path, values in WRONG.items() for value in values])
def test_anything_else_is_refused(path, value):
    with pytest.raises(carried.BadCalibration):
        carried.from_text(changed(path, value))


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b"[1]", b"[{}]", b"\xff", b"[NaN]", b"[" * 100_000])
def test_no_calibrations_at_all_are_refused(text):
    with pytest.raises(carried.BadCalibration):
        carried.from_text(text)


def test_nothing_is_written_that_would_be_refused():
    small = calibration(revision="small")
    many = curves.Curves.from_dict({"pool": [1, 1, 0], "labels": {f"L{n}": [1, 1, 0] for n in range(501)}})
    wide = replace(calibration(), curves=many.as_dict())
    assert [one.revision for one in carried.from_text(carried.as_text([wide, small], longest=10**6))] == ["small"]
    assert [
        carried.as_text([wide], longest=10**6), carried.as_text([small], longest=100), carried.as_text([], longest=99),
    ] == [b""] * 3  # fmt: skip
    line = small.figures["labels"][0]
    long = replace(small, figures=small.figures | {"labels": [line | {"label": f"L{n}"} for n in range(501)]})
    assert [one.figures["labels"] for one in carried.from_text(carried.as_text([long], longest=10**6))] == [[]]
    several = [replace(small, revision=f"r{n}") for n in range(60)]
    assert len(carried.from_text(carried.as_text([wide, *several], longest=10**6))) == 50
