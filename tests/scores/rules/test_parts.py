"""Rates, intervals, similarity, MEDDOCAN's scores and mappings: examples by hand and properties."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.agreement.rules import bootstrap
from annotations.scores.rules import Rates, Scorer, intervals
from annotations.scores.rules.causes import ErrorId, category_shares, counts_by_category
from annotations.scores.rules.intervals import FEW_NOTES, few_notes, wilson
from annotations.scores.rules.operating import (
    OperatingCurve,
    ReviewCounts,
    for_precision,
    for_recall,
    nearest,
    review_points,
)
from annotations.scores.rules.rates import macro, weighted
from annotations.scores.rules.scorer import close, merged, merged_rates
from annotations.text.labels import LabelMapping, MappingError
from annotations.text.spans import Span


def plain_distance(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def similarity(a: str, b: str) -> float:
    longest = max(len(a), len(b))
    return 1 - plain_distance(a, b) / longest if longest else 1.0


def test_the_published_example_of_similarity() -> None:
    # The example of Singh et al. 2025, section 4.3: “Mrs. Mary Smith” and “Mary Smith” differ in 5 of 15 characters.
    text = "Mrs. Mary Smith"
    assert close(text, (0, 15), (5, 15), threshold=10 / 15)
    assert not close(text, (0, 15), (5, 15), threshold=10 / 15 + 1e-9)
    text = "".join(Random(3).choices("abcdefghijklmnopqrstuvwxyz", k=30_000))  # compared in time
    assert not close(text, (0, 15_000), (10_000, 30_000))


@given(st.text("ab ", min_size=1, max_size=30), st.tuples(*[st.integers(0, 30)] * 4), st.sampled_from([0.3, 0.6, 0.9]))
def test_close_is_equivalent_to_the_similarity(text: str, ends: tuple[int, int, int, int], threshold: float) -> None:
    a, b, c, d = (min(end, len(text)) for end in ends)
    if a < b and c < d and a < d and c < b:
        assert close(text, (a, b), (c, d), threshold) == (similarity(text[a:b], text[c:d]) >= threshold)


# The examples are from R. G. Newcombe, Statistics in Medicine 17, 1998, table I: 81 of 263 gives 0.2553 to 0.3662.
@pytest.mark.parametrize(
    "hits, of, low, high",
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilsons_interval_as_published(hits: int, of: int, low: float, high: float) -> None:
    assert wilson(hits, of) == pytest.approx((low, high), abs=5e-5)
    assert (wilson(0, 0), (wilson(5, 5) or (0, 0))[1]) == (None, 1.0)


def test_averages_count_their_classes() -> None:
    classes = [Rates.paired(1, 2, 1), Rates.paired(0, 0, 3), Rates.paired(0, 1, 0)]
    found = macro(classes)
    # The second class has gold and was never predicted: its precision counts as 0. The third has no recall.
    assert [found[key] for key in ("precision", "recall", "classes", "precision_classes")] == [0.5 / 3, 0.5, 2, 3]
    assert found["precision_spread"] == pytest.approx((1 / 18) ** 0.5) and found["recall_spread"] == 0.5
    by_gold = weighted(classes)
    assert (by_gold["precision"], by_gold["recall"]) == (0.125, 0.25)
    assert macro([])["f1"] is None and weighted([Rates.paired(0, 1, 0)])["f1"] is None
    # As in Catelli 2021, table 4.2, where FAX has precision 0.0000 and was never predicted.
    classes = [Rates.paired(10, 10, 10), Rates.paired(0, 0, 2)]
    found = macro(classes)
    assert (found["precision"], found["precision_spread"], found["f1"]) == (0.5, 0.5, 0.5)
    assert weighted(classes)["precision"] == pytest.approx(10 / 12)


# MEDDOCAN, sub-track 2. Spans of "Juan García, C/ Mayor 3, 28001 Madrid".
#        0         1         2         3
#        0123456789012345678901234567890123456
TEXT = "Juan García, C/ Mayor 3, 28001 Madrid"


def test_neighbors_are_merged_unless_something_alphanumeric_lies_between() -> None:
    assert merged(TEXT, [(0, 4), (5, 11), (13, 23), (25, 30), (31, 37)]) == [(0, 37)]
    assert merged(TEXT, [(0, 4), (13, 23)]) == [(0, 4), (13, 23)]
    assert merged("a_b", [(0, 1), (2, 3)]) == [(0, 3)]  # '_' is not alphanumeric
    assert merged(TEXT, [(0, 23), (5, 11)]) == [(0, 23)]


MERGED = [
    # A name predicted in two pieces: only the merged span is right.
    ({(0, 11)}, {(0, 4), (5, 11)}, (1, 1, 1)),
    # The merged spans differ, so only strict spans can be right.
    ({(0, 11), (31, 37)}, {(0, 4), (31, 37)}, (1, 2, 2)),
    # Both strict spans and the merged one are right, so the task counts three.
    ({(25, 30), (31, 37)}, {(25, 30), (31, 37)}, (3, 3, 3)),
    # Different pieces in gold and prediction, but the same merged span.
    ({(13, 23), (25, 37)}, {(13, 30), (31, 37)}, (1, 1, 1)),
    (set(), {(0, 4)}, (0, 1, 0)),
    ({(0, 4)}, set(), (0, 0, 1)),
]


@pytest.mark.parametrize("gold, predicted, rates", MERGED)
def test_merged_spans_as_the_task_counts_them(gold, predicted, rates) -> None:
    right, of_predicted, of_gold = rates
    assert merged_rates(TEXT, gold, predicted) == Rates.paired(right, of_predicted, of_gold)


def test_the_tasks_own_published_example() -> None:
    """The example on the task's website: seven gold tags, four found, none spurious: P 1.0, R 0.5714, F1 0.7273."""
    words = "uno dos tres cuatro cinco seis siete"
    bounds = [(0, 3), (4, 7), (8, 12), (13, 19), (20, 25), (26, 30), (31, 36)]
    gold = [Span(start, end, "X") for start, end in bounds]
    scorer = Scorer(["X"], {"X": "X"})
    scorer.add(words + ".\nOtra frase.", gold, [gold[1], gold[2], gold[3], gold[5]])
    table = scorer.table()
    ner = table["meddocan"]["ner"]
    assert (ner["precision"], round(ner["recall"], 4), round(ner["f1"], 4)) == (1.0, 0.5714, 0.7273)
    assert table["meddocan"]["leak"] == 3 / 2  # three missed, two sentences


def test_an_incomplete_mapping_is_refused() -> None:
    mapping = LabelMapping("a", "b", {"CITY": "PLACE", "SEX": None})
    assert mapping([Span(0, 1, "CITY"), Span(1, 2, "SEX")]) == [Span(0, 1, "PLACE")]
    with pytest.raises(MappingError, match="from a to b lacks these labels: DATE, ZIP"):
        mapping.check(["ZIP", "CITY", "DATE"])
    with pytest.raises(MappingError):
        mapping([Span(0, 1, "ZIP")])


# ── The interval of F1 on few notes ──────────────────────────────────────────────────────────────────────────────────


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
        return scorer.table()

    few = table(FEW_NOTES - 1)
    per_note = [Rates.paired(1 if at % 2 else 2, 2, 2) for at in range(FEW_NOTES - 1)]
    assert few["few_notes"] == few_notes(per_note)
    assert few["few_notes"]["low"] < few["levels"][0]["micro"]["f1"] < few["few_notes"]["high"]
    monkeypatch.setattr(intervals, "resample", None)
    assert table(FEW_NOTES)["few_notes"] is None


# ── Masking at several thresholds ────────────────────────────────────────────────────────────────────────────────────


GOLD = [Span(0, 4, "NAME"), Span(10, 14, "CITY")]


def curve():
    found = OperatingCurve([0.1, 0.5])
    # Without a threshold, one name is found; at 0.5 half of the city; at 0.1 all of it, and four other characters.
    at_each = [[Span(0, 4, "NAME")], [Span(0, 4, "NAME"), Span(10, 12, "X")], [Span(0, 4, "A"), Span(10, 18, "B")]]
    found.add(GOLD, at_each)
    found.add([], [[], [], []])
    return found.points()


def test_a_curve_counts_characters_and_notes_whatever_the_labels():
    assert curve() == [
        {"threshold": None, "recall": 0.5, "precision": 1.0, "leak_free": 0.5},
        {"threshold": 0.5, "recall": 0.75, "precision": 1.0, "leak_free": 0.5},
        {"threshold": 0.1, "recall": 1.0, "precision": round(8 / 12, 6), "leak_free": 1.0},
    ]


def test_a_curve_without_notes_has_no_figures():
    assert OperatingCurve([0.5]).points()[1] == {
        "threshold": 0.5, "recall": None, "precision": None, "leak_free": None
    }  # fmt: skip


def test_a_threshold_is_chosen_for_a_recall_or_a_precision():
    points = curve()
    assert [(found := for_recall(points, wanted)) and found["threshold"] for wanted in (0.7, 0.9)] == [0.5, 0.1]
    assert [(found := for_precision(points, wanted)) and found["threshold"] for wanted in (0.6, 0.9)] == [0.1, 0.5]
    assert for_precision([{**point, "precision": 0.5} for point in points], 0.9) is None
    assert for_recall([{**point, "recall": 0.5} for point in points], 0.9) is None


def test_a_review_counts_decisions_and_what_stays_readable():
    """A name that only two suggestions together mask, a city without any, and a suggestion where gold has nothing."""
    text = "Ann  Lee of Rome saw Bob."
    counts = ReviewCounts()
    gold = [Span(0, 8, "NAME"), Span(0, 8, "DOCTOR"), Span(12, 16, "CITY")]
    # The white space between the parts of the name is not covered.
    counts.add(text, gold, [Span(0, 3, "X", 0.9), Span(5, 8, "X", 0.5), Span(21, 24, "X", 0.29), Span(5, 6, "Y")])
    counts.add("nothing", [], [])
    curve = counts.curve()
    assert (curve["notes"], curve["gold"], curve["graded"]) == (2, 2, True)
    points = {point["threshold"]: point for point in review_points(curve, 10)}
    assert points[0.0] == {"threshold": 0.0, "precision": 0.75, "recall": 0.5, "decisions": 200.0, "leaks": 50.0}
    assert points[0.3]["precision"] == 1.0 and points[0.5]["leaks"] == 50.0 and points[0.6]["leaks"] == 100.0
    assert points[1.0]["decisions"] == 50.0, "a suggestion without a confidence counts at each threshold"
    assert review_points(curve)[29]["decisions"] == 200.0 and review_points(curve)[30]["decisions"] == 150.0
    empty = review_points(ReviewCounts().curve())[0]
    assert [empty[key] for key in ("precision", "recall", "decisions", "leaks")] == [None] * 4


def test_the_nearest_threshold():
    assert [nearest(curve(), at)["threshold"] for at in (0.01, 0.29, 0.31, 0.9)] == [0.1, 0.1, 0.5, 0.5]
    assert nearest([], 0.1) is None


# Errors by category: what identifies an error, its causes, and shares of false positives and negatives


CATEGORY_OF = {"CITY": "LOCATION", "STATE": "LOCATION", "DATE": "DATE", "FAX": "CONTACT"}
# Catelli 2021, table 4.9, errors of the types DATE, LOCATION: CITY and LOCATION: STATE.
SPOKEN = "on HD Mon, We d, Fri s/p. cc: Dirk O. Reece, M.D., PCP, Pune, ME SRH"
DAYS, PUNE, ME = (6, 20, "DATE"), (56, 60, "CITY"), (62, 64, "STATE")


def scored(gold, predicted):
    scorer = Scorer(list(CATEGORY_OF), CATEGORY_OF)
    errors = scorer.add(SPOKEN, [Span(*one) for one in gold], [Span(*one) for one in predicted])
    return [(7, str(error.kind), error.gold, error.predicted) for error in errors], scorer.table()


def test_causes_by_category_as_in_table_4_9():
    """The days have AB and AM, the city AM, the state nothing yet."""
    rows, _table = scored([DAYS, PUNE, ME], [(6, 9, "DATE")])
    causes = {ErrorId(7, DAYS, (6, 9, "DATE")): {"AB", "AM"}, ErrorId(7, PUNE, None): {"AM"},
              ErrorId(9, PUNE, None): {"D"}}  # fmt: skip
    by_category, total = counts_by_category(rows, causes, CATEGORY_OF, ["AB", "AM"])
    assert by_category == {
        "DATE": {"errors": 1, "causes": {"AB": 1, "AM": 1}, "without_cause": 0},
        "LOCATION": {"errors": 2, "causes": {"AB": 0, "AM": 1}, "without_cause": 1},
    }
    assert total == {"errors": 3, "causes": {"AB": 1, "AM": 2}, "without_cause": 1}


def test_shares_of_errors_and_tokens_per_span():
    """Gold tokens: Mon , We d , Fri are 6; Pune and ME one each."""
    _rows, table = scored([DAYS, PUNE, ME], [(6, 9, "DATE"), (56, 60, "STATE"), (62, 64, "FAX")])
    found = {row["category"]: row for row in category_shares(table["levels"], table["labels"])}
    entity = {name: (row["entity"]["spurious"], row["entity"]["missed"]) for name, row in found.items()}
    assert entity == {"LOCATION": (0, 1), "DATE": (1, 1), "CONTACT": (1, 0)}, "a city taken for a state is a location"
    assert found["DATE"]["entity"]["spurious_share"] == found["DATE"]["entity"]["missed_share"] == 0.5
    assert found["DATE"]["token"]["missed"] == 5
    assert found["DATE"]["token"]["missed_share"] == pytest.approx(5 / 6)
    assert found["DATE"]["token"]["spurious_share"] == 0
    ratios = {name: row["tokens_per_span"] for name, row in found.items()}
    assert ratios == {"LOCATION": 1.0, "DATE": 6.0, "CONTACT": None}


def test_the_ratio_of_a_category_weights_its_labels_by_their_spans():
    _rows, table = scored([PUNE, (30, 43, "CITY"), ME], [])
    (row,) = category_shares(table["levels"], table["labels"])
    assert row["tokens_per_span"] == pytest.approx((1 + 4 + 1) / 3), "Dirk O . Reece are 4 tokens"
