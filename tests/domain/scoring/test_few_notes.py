"""The interval of F1 on few notes: a percentile bootstrap over notes, and nothing for 20 notes or more."""

import numpy as np
import pytest

from annotations.domain.agreement import bootstrap
from annotations.domain.scoring import Rates, Scorer, intervals
from annotations.domain.scoring.intervals import FEW_NOTES, few_notes
from annotations.domain.spans import Span

LABELS = {"NAME": "NAME", "CITY": "PLACE"}


def test_it_is_equal_to_a_direct_bootstrap():
    counts = [(3, 4, 5), (0, 1, 2), (7, 7, 7), (2, 6, 3), (1, 1, 4)]
    found = few_notes([Rates.paired(*each) for each in counts])
    drawn = np.random.default_rng(bootstrap.SEED).integers(0, 5, size=(bootstrap.SAMPLES, 5))
    f1 = [sum((Rates.paired(*counts[at]) for at in row), Rates(0, 0, 0, 0)).f1 for row in drawn]
    low, high = np.quantile(f1, [0.025, 0.975])
    assert (found["low"], found["high"]) == (pytest.approx(low), pytest.approx(high))
    assert 0 < found["low"] < sum((Rates.paired(*each) for each in counts), Rates(0, 0, 0, 0)).f1 < found["high"] < 1
    assert found == few_notes([Rates.paired(*each) for each in counts])


@pytest.mark.parametrize("notes", [[(1, 1, 2)], [(0, 0, 0)] * 3])
def test_no_interval_says_why(notes):
    found = few_notes([Rates.paired(*each) for each in notes])
    assert (found["low"], found["high"]) == (None, None) and found["no_interval"]


def test_a_score_counts_exact_spans_by_note_and_many_notes_cost_nothing(monkeypatch):
    def table(notes):
        scorer = Scorer(list(LABELS), LABELS)
        for at in range(notes):
            gold = [Span(0, 4, "NAME"), Span(5, 8, "CITY")]
            scorer.add("Anna who", gold, [gold[0], Span(5, 8, "NAME")] if at % 2 else gold)
        return scorer.table().as_dict()

    few = table(FEW_NOTES - 1)
    per_note = [Rates.paired(1 if at % 2 else 2, 2, 2) for at in range(FEW_NOTES - 1)]
    assert few["few_notes"] == few_notes(per_note)
    assert few["few_notes"]["low"] < few["levels"][0]["micro"]["f1"] < few["few_notes"]["high"]
    monkeypatch.setattr(intervals, "resample", None)
    assert table(FEW_NOTES)["few_notes"] is None
