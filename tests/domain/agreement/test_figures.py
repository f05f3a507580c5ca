"""The function that computes all figures: rounds, intervals, order of annotators, JSON."""

import json
import random
from itertools import permutations

import numpy as np
import pytest

from annotations.domain.agreement import (
    Granularity,
    NoteAnnotationSets,
    Setup,
    Unit,
    agreement,
    figures,
    granularities,
    patterns,
)
from annotations.domain.agreement.bootstrap import SEED, interval, resample
from annotations.domain.spans import Span

CATEGORY = {"AGE": "AGE", "DOCTOR": "NAME", "PATIENT": "NAME"}
TEXT = "Il dott. Rossi vede Anna Bianchi, 54 anni, a Torino. " * 2


def some_notes(count=12, annotators="abc", seed=1):
    """Notes in which each annotator leaves out or relabels some spans; not every annotator has every note."""
    chance = random.Random(seed)
    notes = []
    for number in range(count):
        annotation_sets = {}
        for annotator in annotators:
            if annotator == "c" and chance.random() < 0.3:
                continue
            spans = [Span(9, 14, "DOCTOR"), Span(20, 32, "PATIENT"), Span(34, 36, "AGE"), Span(62, 67, "DOCTOR")]
            annotation_sets[annotator] = [
                Span(s.start, s.end, chance.choice(["DOCTOR", "PATIENT"]) if chance.random() < 0.2 else s.label)
                for s in spans
                if chance.random() < 0.85
            ]
        notes.append(NoteAnnotationSets(TEXT, annotation_sets, number, round=1 + number % 2, mixed=number == 3))
    return notes


SETUP = Setup(list("abc"), list(CATEGORY), CATEGORY)


@pytest.mark.parametrize("unit", list(Unit))
def test_every_unit_and_granularity(unit):
    """The overall figures are those of the patterns; the JSON form keeps everything."""
    notes = some_notes()
    found = figures(notes, SETUP, unit)
    assert list(found["granularities"]) == granularities(unit)
    for granularity, report in found["granularities"].items():
        counted = patterns(
            notes, SETUP.annotators, unit=unit, granularity=Granularity(granularity), category_of=CATEGORY
        )
        expected = agreement(counted)
        assert report["units"] == expected.units
        assert report["observed"]["value"] == pytest.approx(expected.observed)
        assert report["alpha"]["value"] == pytest.approx(expected.alpha)
        assert report["alpha"]["low"] <= report["alpha"]["value"] <= report["alpha"]["high"]
        assert sum(row["units"] for row in report["rounds"]) == report["units"]
        assert sum(row["units"] for row in report["per_note"]) == report["units"]
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_figures_of_a_round_are_those_of_its_notes_alone():
    notes = some_notes()
    found = figures(notes, SETUP, Unit.TOKEN)
    assert (found["notes"], found["mixed"]) == (12, 1)
    for row in found["granularities"]["bio"]["rounds"]:
        alone = figures([n for n in notes if n.round == row["round"]], SETUP, Unit.TOKEN)["granularities"]["bio"]
        for name in ("alpha", "observed"):
            assert row[name] == alone[name], "with the same interval"
        assert (row["units"], row["notes"]) == (alone["units"], 6)
    assert [row["mixed"] for row in found["granularities"]["bio"]["rounds"]] == [0, 1]


def test_the_order_of_annotators_changes_only_the_order_of_rows():
    notes = some_notes()
    before = figures(notes, SETUP, Unit.MARKED)
    for order in permutations("abc"):
        after = figures(notes, Setup(order, SETUP.labels, CATEGORY), Unit.MARKED)
        for granularity, report in before["granularities"].items():
            other = after["granularities"][granularity]
            assert {name: other[name]["value"] for name in ("alpha", "observed", "full", "majority", "fleiss")} == (
                pytest.approx({n: report[n]["value"] for n in ("alpha", "observed", "full", "majority", "fleiss")})
            )
            pairs = [{frozenset((r["a"], r["b"])): r["kappa"]["value"] for r in x["pairs"]} for x in (report, other)]
            assert pairs[0] == pytest.approx(pairs[1])
            assert [r["note"] for r in report["per_note"]] == [r["note"] for r in other["per_note"]]


def test_no_figure_is_nan_and_undefined_figures_have_a_reason():
    """No notes; one annotator; no marked spans; spans by one of two annotators."""
    cases = [
        [],
        [NoteAnnotationSets(TEXT, {"a": [Span(0, 2, "AGE")]}, 1)],
        [NoteAnnotationSets(TEXT, {"a": [], "b": []}, 1)],
        [NoteAnnotationSets("", {"a": [], "b": []}, 1), NoteAnnotationSets("", {"b": [], "c": []}, 2)],
        [NoteAnnotationSets(TEXT, {"a": [Span(0, 2, "AGE")], "b": []}, 1)],
    ]
    for notes in cases:
        for unit in Unit:
            found = figures(notes, SETUP, unit)
            json.dumps(found, allow_nan=False)
            for report in found["granularities"].values():
                for name in ("alpha", "observed", "full", "majority", "fleiss"):
                    assert (report[name]["value"] is None) == bool(report[name]["why"])
                    assert report[name]["value"] is not None or report[name]["low"] is None
                for row in report["pairs"]:
                    assert all((row[n]["value"] is None) == bool(row[n]["why"]) for n in ("kappa", "exact", "overlap"))


def test_one_note_has_no_interval_but_a_reason():
    found = figures(some_notes(1), SETUP, Unit.TOKEN)["granularities"]["subcategory"]["alpha"]
    assert found["low"] is None
    assert "at least two" in found["no_interval"]


def test_bio_of_characters_is_refused():
    with pytest.raises(ValueError, match="BIO"):
        figures([], SETUP, Unit.CHARACTER, wanted=[Granularity.BIO])
    with pytest.raises(ValueError, match="twice"):
        figures([], Setup("aa"), Unit.TOKEN)


# ── The bootstrap ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_intervals_are_equal_to_those_of_a_direct_bootstrap():
    """The same draws, with the figures computed separately for each sample."""
    notes = some_notes(9)
    found = figures(notes, SETUP, Unit.TOKEN, samples=40)["granularities"]["subcategory"]
    drawn = np.random.default_rng(SEED).integers(0, 9, size=(40, 9))
    alphas, ages = [], []
    for sample in drawn:
        taken = [notes[at] for at in sample]
        report = figures(taken, SETUP, Unit.TOKEN, wanted=[Granularity.SUBCATEGORY], samples=0)
        report = report["granularities"]["subcategory"]
        alphas.append(report["alpha"]["value"])
        ages.append(next(row["alpha"]["value"] for row in report["labels"] if row["value"] == "AGE"))
    low, high = np.quantile(alphas, [0.025, 0.975])
    assert (found["alpha"]["low"], found["alpha"]["high"]) == pytest.approx((low, high))
    age = next(row["alpha"] for row in found["labels"] if row["value"] == "AGE")
    assert (age["low"], age["high"]) == pytest.approx(tuple(np.quantile(ages, [0.025, 0.975])))


def test_samples_in_which_a_coefficient_is_undefined():
    assert interval(np.array([np.nan] * 40 + [0.5] * 960)).low == 0.5
    none = interval(np.array([np.nan] * 60 + [0.5] * 940))
    assert none.low is None and "60 of 1,000" in none.why


def test_a_sample_has_as_many_draws_as_there_are_notes():
    sums = resample(np.ones((7, 1)), samples=50)
    assert sums.shape == (50, 1)
    assert (sums == 7).all()


def test_recall_of_three_whose_notes_hold_nothing_has_no_figure():
    age = [Span(0, 1, "AGE")]
    notes = [
        NoteAnnotationSets(TEXT, {"a": [], "b": [], "c": []}, 0),
        NoteAnnotationSets(TEXT, {"a": age, "b": age}, 1),
    ]
    *_, three = figures(notes, SETUP, Unit.TOKEN, samples=20)["recall"]["overlap"]["annotators"]
    assert (three["annotators"], three["value"]) == (3, None)
    assert three["why"]
