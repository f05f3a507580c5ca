"""The function that computes all figures: rounds, intervals, order of annotators, JSON."""

import json
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.agreement.rules import bootstrap, units
from annotations.agreement.rules.bootstrap import SEED, interval, resample
from annotations.agreement.rules.coefficients import sums_of
from annotations.agreement.rules.counting import AgreementCounts
from annotations.agreement.rules.figures import figures
from annotations.text.spans import Span, Token, tokenize

CATEGORY = {"AGE": "AGE", "DOCTOR": "NAME", "PATIENT": "NAME"}
TEXT = "Il dott. Rossi vede Anna Bianchi, 54 anni, a Torino. " * 2


def some_notes(count=12, annotators="abc", seed=1):
    """Notes in which each annotator leaves out or relabels some spans; not every annotator has every note."""
    chance = random.Random(seed)
    spans = [(9, 14, "DOCTOR"), (20, 32, "PATIENT"), (34, 36, "AGE"), (62, 67, "DOCTOR")]
    notes = []
    for number in range(count):
        annotation_sets = {}
        for annotator in annotators:
            if annotator == "c" and chance.random() < 0.3:
                continue
            annotation_sets[annotator] = [
                Span(start, end, chance.choice(["DOCTOR", "PATIENT"]) if chance.random() < 0.2 else label)
                for start, end, label in spans
                if chance.random() < 0.85
            ]
        notes.append(units.NoteAnnotationSets(TEXT, annotation_sets, number, round=1 + number % 2, mixed=number == 3))
    return notes


SETUP = units.Setup(list("abc"), list(CATEGORY), CATEGORY)


NAMES = ("alpha", "observed", "full", "majority", "fleiss")


@pytest.mark.parametrize("unit", list(units.ComparedUnit))
def test_every_unit_and_granularity(unit):
    """The overall figures are those of the patterns; the JSON form keeps everything."""
    notes = some_notes()
    found = figures(notes, SETUP, unit)
    assert list(found["granularities"]) == units.granularities(unit)
    for granularity, report in found["granularities"].items():
        expected = sums_of(
            Counter(
                pattern
                for _, (start, end), pattern in units.table(
                    notes, SETUP.annotators, unit=unit, granularity=units.Granularity(granularity),
                    category_of=CATEGORY, label_order=SETUP.labels,
                )
                for _ in range(end - start if unit is units.ComparedUnit.CHARACTER else 1)
            )
        )  # fmt: skip
        assert report["units"] == expected.units
        assert report["observed"]["value"] == pytest.approx(expected.observed().value)
        assert report["alpha"]["value"] == pytest.approx(expected.alpha().value)
        assert report["alpha"]["low"] <= report["alpha"]["value"] <= report["alpha"]["high"]
        for part in ("rounds", "per_note"):
            assert sum(row["units"] for row in report[part]) == report["units"]
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def words_and_signs(text):
    """Another tokenizer: characters, two by two where there are two."""
    return [Token(at, min(at + 2, len(text))) for at in range(0, len(text), 2)]


@given(st.data())
def test_counts_are_those_of_the_units_one_by_one(data):
    """With overlaps, duplicates, spans without tokens, missing sets, wide characters and another tokenizer."""
    notes = []
    for number in range(data.draw(st.integers(1, 4))):
        text = data.draw(st.text(alphabet="abé1٣ .\n\u200b😀\ud800", min_size=1, max_size=20))
        bound = st.integers(0, len(text))
        spans = st.tuples(bound, bound, st.sampled_from([*CATEGORY])).filter(lambda row: row[0] != row[1])
        sets = data.draw(st.dictionaries(st.sampled_from("abcd"), st.lists(spans, max_size=5), min_size=1))
        annotation_sets = {
            name: [Span(min(start, end), max(start, end), label) for start, end, label in rows]
            for name, rows in sets.items()
        }
        tokenizer = data.draw(st.sampled_from([tokenize, words_and_signs]))
        notes.append(units.NoteAnnotationSets(text, annotation_sets, number, tokenizer=tokenizer))
    unit = data.draw(st.sampled_from(list(units.ComparedUnit)))
    finest = units.granularities(unit)[-1]
    tally = AgreementCounts(notes, units.Setup("abc", ["DOCTOR"], CATEGORY), unit)
    patterns = units.compared(tally.patterns, finest, CATEGORY)
    found = Counter()
    for note, pattern, times in zip(tally.note_of, tally.pattern_of, tally.times.tolist(), strict=True):
        found[tally.note_ids[note], patterns[pattern]] += times
    expected = Counter()
    rows = units.table(notes, "abc", unit=unit, granularity=finest, category_of=CATEGORY, label_order=["DOCTOR"])
    for note, (start, end), pattern in rows:
        expected[note.note, pattern] += end - start if unit is units.ComparedUnit.CHARACTER else 1
    assert found == expected


def test_figures_of_a_round_are_those_of_its_notes_alone():
    notes = some_notes()
    found = figures(notes, SETUP, units.ComparedUnit.TOKEN)
    assert (found["notes"], found["mixed"]) == (12, 1)
    for row in found["granularities"]["bio"]["rounds"]:
        of_round = [note for note in notes if note.round == row["round"]]
        alone = figures(of_round, SETUP, units.ComparedUnit.TOKEN)["granularities"]["bio"]
        for name in ("alpha", "observed"):
            assert row[name] == alone[name], "with the same interval"
        assert (row["units"], row["notes"]) == (alone["units"], 6)
    assert [row["mixed"] for row in found["granularities"]["bio"]["rounds"]] == [0, 1]


def test_no_figure_is_nan_and_undefined_figures_have_a_reason():
    """No notes; one annotator; no marked spans; spans by one of two annotators."""
    age = [Span(0, 2, "AGE")]
    cases = [[], [{"a": age}], [{"a": [], "b": []}], [{"a": [], "b": []}, {"b": [], "c": []}], [{"a": age, "b": []}]]
    for sets in cases:
        notes = [units.NoteAnnotationSets(TEXT, each, number) for number, each in enumerate(sets)]
        for unit in units.ComparedUnit:
            found = figures(notes, SETUP, unit)
            json.dumps(found, allow_nan=False)
            for report in found["granularities"].values():
                for name in NAMES:
                    assert (report[name]["value"] is None) == bool(report[name]["why"])
                    assert report[name]["value"] is not None or report[name]["low"] is None
                for row in report["pairs"]:
                    assert all((row[n]["value"] is None) == bool(row[n]["why"]) for n in ("kappa", "exact", "overlap"))
    found = figures(some_notes(1), SETUP, units.ComparedUnit.TOKEN)["granularities"]["subcategory"]["alpha"]
    assert found["low"] is None and "at least two" in found["no_interval"]
    # Recall of three annotators whose notes hold nothing
    notes = [
        units.NoteAnnotationSets(TEXT, {"a": [], "b": [], "c": []}, 0),
        units.NoteAnnotationSets(TEXT, {"a": age, "b": age}, 1),
    ]
    *_, three = figures(notes, SETUP, units.ComparedUnit.TOKEN)["recall"]["overlap"]["annotators"]
    assert (three["annotators"], three["value"], bool(three["why"])) == (3, None, True)


# ── The bootstrap ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_intervals_are_equal_to_those_of_a_direct_bootstrap(monkeypatch):
    """The same draws, with the figures computed separately for each sample."""
    notes = some_notes(9)
    monkeypatch.setattr(bootstrap, "SAMPLES", 40)

    def age_of(report):
        return next(row["alpha"] for row in report["labels"] if row["value"] == "AGE")

    found = figures(notes, SETUP, units.ComparedUnit.TOKEN)["granularities"]["subcategory"]
    alphas, ages = [], []
    for sample in np.random.default_rng(SEED).integers(0, 9, size=(40, 9)):
        report = figures([notes[at] for at in sample], SETUP, units.ComparedUnit.TOKEN)["granularities"]["subcategory"]
        alphas.append(report["alpha"]["value"])
        ages.append(age_of(report)["value"])
    for interval_of, values in ((found["alpha"], alphas), (age_of(found), ages)):
        quantiles = tuple(np.quantile(values, [0.025, 0.975]))
        assert (interval_of["low"], interval_of["high"]) == pytest.approx(quantiles)
    # Samples in which a coefficient is undefined
    assert interval(np.array([np.nan] * 40 + [0.5] * 960)).low == 0.5
    none = interval(np.array([np.nan] * 60 + [0.5] * 940))
    assert none.low is None and "60 of 1,000" in none.why
    sums = resample(np.ones((7, 1)))
    assert sums.shape == (40, 1) and (sums == 7).all()
