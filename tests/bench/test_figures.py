from pathlib import Path

import pytest

from tests.bench import corpus
from tests.bench.figures import Figure, over_rounds, percentile, table


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        ([5.0], 50, 5),
        ([1, 2, 3, 4], 50, 2),
        ([4, 1, 3, 2, 5], 50, 3),
        (list(range(1, 101)), 95, 95),
        (list(range(1, 101)), 100, 100),
        ([1, 2], 0, 1),
    ],
)
def test_percentiles_are_values_that_were_measured(values, percent, expected):
    assert percentile(values, percent) == expected


def test_an_aim_is_a_limit_above_or_below():
    assert Figure("p", "n", 10, aim=10).met and not Figure("p", "n", 10.1, aim=10).met
    assert Figure("p", "n", 500, aim=500, at_least=True).met and not Figure("p", "n", 499, aim=500, at_least=True).met
    assert Figure("p", "n", 1).met is None


def test_the_table_shows_median_spread_aim_and_what_was_missed():
    shown = table([over_rounds("p", "a span", [2.5, 1.25, 9.0], "ms", aim=2), Figure("p", "rate", 1234.5, "per s")])
    _, _, span, rate = shown.splitlines()
    assert span.split() == ["a", "span", "2.50", "ms", "1.25", "–", "9.00", "≤", "2", "ms", "MISSED"]
    assert rate.split() == ["rate", "1,234", "per", "s"]


def test_invented_notes_have_the_shape_of_the_real_ones(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(corpus, "MEDDOCAN", tmp_path / "nowhere")
    made = corpus.folder(tmp_path)
    spans = 0
    for file in made.glob("*.ann"):
        text = file.with_suffix(".txt").read_text(encoding="utf-8")
        for line in file.read_text(encoding="utf-8").splitlines():
            _, place, quote = line.split("\t")
            _, start, end = place.split()
            assert text[int(start) : int(end)] == quote
            spans += 1
    assert (len(list(made.glob("*.txt"))), spans) == (corpus.NOTES, corpus.SPANS)
