"""Rates, intervals, similarity, MEDDOCAN's spans, mappings: each by hand and by what must hold."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.scoring import LabelMapping, MappingError, Rates, Scorer
from annotations.domain.scoring.intervals import wilson
from annotations.domain.scoring.meddocan import merged, merged_rates
from annotations.domain.scoring.rates import macro, weighted
from annotations.domain.scoring.similarity import close, distance, similarity
from annotations.domain.spans import Span


def plain_distance(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


@given(st.text("abcé\U0001f600", max_size=70), st.text("abcé\U0001f600", max_size=70))
def test_the_distance_is_levenshteins(a: str, b: str) -> None:
    assert distance(a, b) == plain_distance(a, b)


def test_the_similarity_of_004s_own_example() -> None:
    # 'Mrs. Mary Smith' and 'Mary Smith': five characters of fifteen.
    assert similarity("Mrs. Mary Smith", "Mary Smith") == pytest.approx(10 / 15)
    assert similarity("", "") == 1.0


@given(st.text("ab ", min_size=1, max_size=30), st.tuples(*[st.integers(0, 30)] * 4), st.sampled_from([0.3, 0.6, 0.9]))
def test_the_shortcut_is_the_similarity(text: str, ends: tuple[int, int, int, int], threshold: float) -> None:
    a, b, c, d = (min(end, len(text)) for end in ends)
    if a < b and c < d and a < d and c < b:
        assert close(text, (a, b), (c, d), threshold) == (similarity(text[a:b], text[c:d]) >= threshold)


def test_a_very_long_pair_is_compared_in_time() -> None:
    text = "".join(Random(3).choices("abcdefghijklmnopqrstuvwxyz", k=30_000))
    assert not close(text, (0, 15_000), (10_000, 30_000))


# Published with the interval: 81 of 263 gives 0.2553 to 0.3662 (Newcombe, Statistics in Medicine 17, 1998, table I).
@pytest.mark.parametrize(
    "hits, of, low, high",
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilsons_interval_as_published(hits: int, of: int, low: float, high: float) -> None:
    assert wilson(hits, of) == pytest.approx((low, high), abs=5e-5)


def test_wilsons_interval_at_the_ends() -> None:
    assert wilson(0, 0) is None
    assert wilson(5, 5)[1] == 1.0  # type: ignore[index]


def test_averages_say_how_many_classes_they_have() -> None:
    classes = [Rates.paired(1, 2, 1), Rates.paired(0, 0, 3), Rates.paired(0, 1, 0)]
    found = macro(classes)
    assert (found.precision, found.recall, found.classes, found.predicted_classes) == (0.25, 0.5, 2, 2)
    assert found.precision_spread == 0.25 and found.recall_spread == 0.5
    by_gold = weighted(classes)
    assert (by_gold.precision, by_gold.recall) == (0.5, 0.25)
    assert macro([]).f1 is None and weighted([Rates.paired(0, 1, 0)]).f1 is None


# MEDDOCAN, sub-track 2. Spans of "Juan García, C/ Mayor 3, 28001 Madrid".
#        0         1         2         3
#        0123456789012345678901234567890123456
TEXT = "Juan García, C/ Mayor 3, 28001 Madrid"


def test_neighbours_merge_over_what_is_not_alphanumeric() -> None:
    assert merged(TEXT, [(0, 4), (5, 11), (13, 23), (25, 30), (31, 37)]) == [(0, 37)]
    assert merged(TEXT, [(0, 4), (13, 23)]) == [(0, 4), (13, 23)]
    assert merged("a_b", [(0, 1), (2, 3)]) == [(0, 3)]  # '_' is not alphanumeric
    assert merged(TEXT, [(0, 23), (5, 11)]) == [(0, 23)]


@pytest.mark.parametrize(
    "gold, predicted, rates",
    [
        # One name in two pieces: nothing is strictly right, the merged span is.
        ({(0, 11)}, {(0, 4), (5, 11)}, (1, 1, 1)),
        # The merged spans differ: the strict ones decide.
        ({(0, 11), (31, 37)}, {(0, 4), (31, 37)}, (1, 2, 2)),
        # Both strict spans and the span that they merge to are right: the task counts three.
        ({(25, 30), (31, 37)}, {(25, 30), (31, 37)}, (3, 3, 3)),
        # Pieces on either side, and the same once merged.
        ({(13, 23), (25, 37)}, {(13, 30), (31, 37)}, (1, 1, 1)),
        (set(), {(0, 4)}, (0, 1, 0)),
        ({(0, 4)}, set(), (0, 0, 1)),
    ],
)
def test_merged_spans_as_the_task_counts_them(gold, predicted, rates) -> None:
    right, of_predicted, of_gold = rates
    assert merged_rates(TEXT, gold, predicted) == Rates.paired(right, of_predicted, of_gold)


def test_the_tasks_own_published_example() -> None:
    """Its examples page: seven gold tags, four of them found and none spurious: P 1.0, R 0.5714, F1 0.7273."""
    words = "uno dos tres cuatro cinco seis siete"
    places = [(0, 3), (4, 7), (8, 12), (13, 19), (20, 25), (26, 30), (31, 36)]
    gold = [Span(start, end, "X") for start, end in places]
    scorer = Scorer(["X"], {"X": "X"})
    scorer.add(words + ".\nOtra frase.", gold, [gold[1], gold[2], gold[3], gold[5]])
    table = scorer.table()
    ner = table.as_dict()["meddocan"]["ner"]
    assert (ner["precision"], round(ner["recall"], 4), round(ner["f1"], 4)) == (1.0, 0.5714, 0.7273)
    assert table.leak == 3 / 2  # three missed, two sentences


def test_a_mapping_is_total_or_refused() -> None:
    mapping = LabelMapping("a", "b", {"CITY": "PLACE", "SEX": None})
    assert mapping([Span(0, 1, "CITY"), Span(1, 2, "SEX")]) == [Span(0, 1, "PLACE")]
    with pytest.raises(MappingError, match="from a to b lacks DATE, ZIP"):
        mapping.check(["ZIP", "CITY", "DATE"])
    with pytest.raises(MappingError):
        mapping([Span(0, 1, "ZIP")])
