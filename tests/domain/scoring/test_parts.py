"""Rates, intervals, similarity, MEDDOCAN's scores and mappings: examples by hand and properties."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.scoring import LabelMapping, MappingError, Rates, Scorer
from annotations.domain.scoring.intervals import wilson
from annotations.domain.scoring.meddocan import merged, merged_rates
from annotations.domain.scoring.rates import macro, weighted
from annotations.domain.scoring.similarity import close
from annotations.domain.spans import Span


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


@given(st.text("ab ", min_size=1, max_size=30), st.tuples(*[st.integers(0, 30)] * 4), st.sampled_from([0.3, 0.6, 0.9]))
def test_close_is_equivalent_to_the_similarity(text: str, ends: tuple[int, int, int, int], threshold: float) -> None:
    a, b, c, d = (min(end, len(text)) for end in ends)
    if a < b and c < d and a < d and c < b:
        assert close(text, (a, b), (c, d), threshold) == (similarity(text[a:b], text[c:d]) >= threshold)


def test_a_very_long_pair_is_compared_in_time() -> None:
    text = "".join(Random(3).choices("abcdefghijklmnopqrstuvwxyz", k=30_000))
    assert not close(text, (0, 15_000), (10_000, 30_000))


# The examples are from R. G. Newcombe, Statistics in Medicine 17, 1998, table I: 81 of 263 gives 0.2553 to 0.3662.
@pytest.mark.parametrize(
    "hits, of, low, high",
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilsons_interval_as_published(hits: int, of: int, low: float, high: float) -> None:
    assert wilson(hits, of) == pytest.approx((low, high), abs=5e-5)


def test_wilsons_interval_at_the_ends() -> None:
    assert wilson(0, 0) is None
    assert wilson(5, 5)[1] == 1.0  # type: ignore[index]


def test_averages_count_their_classes() -> None:
    classes = [Rates.paired(1, 2, 1), Rates.paired(0, 0, 3), Rates.paired(0, 1, 0)]
    found = macro(classes)
    # The second class has gold and was never predicted: its precision counts as 0. The third has no recall.
    assert (found.precision, found.recall, found.classes, found.precision_classes) == (0.5 / 3, 0.5, 2, 3)
    assert found.precision_spread == pytest.approx((1 / 18) ** 0.5) and found.recall_spread == 0.5
    by_gold = weighted(classes)
    assert (by_gold.precision, by_gold.recall) == (0.125, 0.25)
    assert macro([]).f1 is None and weighted([Rates.paired(0, 1, 0)]).f1 is None


def test_a_perfect_class_and_one_never_predicted() -> None:
    """As in Catelli 2021, table 4.2, where FAX has precision 0.0000 and was never predicted."""
    classes = [Rates.paired(10, 10, 10), Rates.paired(0, 0, 2)]
    found = macro(classes)
    assert (found.precision, found.precision_spread, found.f1) == (0.5, 0.5, 0.5)
    assert weighted(classes).precision == pytest.approx(10 / 12)


# MEDDOCAN, sub-track 2. Spans of "Juan García, C/ Mayor 3, 28001 Madrid".
#        0         1         2         3
#        0123456789012345678901234567890123456
TEXT = "Juan García, C/ Mayor 3, 28001 Madrid"


def test_neighbors_are_merged_unless_something_alphanumeric_lies_between() -> None:
    assert merged(TEXT, [(0, 4), (5, 11), (13, 23), (25, 30), (31, 37)]) == [(0, 37)]
    assert merged(TEXT, [(0, 4), (13, 23)]) == [(0, 4), (13, 23)]
    assert merged("a_b", [(0, 1), (2, 3)]) == [(0, 3)]  # '_' is not alphanumeric
    assert merged(TEXT, [(0, 23), (5, 11)]) == [(0, 23)]


@pytest.mark.parametrize(
    "gold, predicted, rates",
    [
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
    ],
)
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
    ner = table.as_dict()["meddocan"]["ner"]
    assert (ner["precision"], round(ner["recall"], 4), round(ner["f1"], 4)) == (1.0, 0.5714, 0.7273)
    assert table.leak == 3 / 2  # three missed, two sentences


def test_an_incomplete_mapping_is_refused() -> None:
    mapping = LabelMapping("a", "b", {"CITY": "PLACE", "SEX": None})
    assert mapping([Span(0, 1, "CITY"), Span(1, 2, "SEX")]) == [Span(0, 1, "PLACE")]
    with pytest.raises(MappingError, match="from a to b lacks these labels: DATE, ZIP"):
        mapping.check(["ZIP", "CITY", "DATE"])
    with pytest.raises(MappingError):
        mapping([Span(0, 1, "ZIP")])
