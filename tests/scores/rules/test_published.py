"""Published figures: sums, rates, headlines and sources."""

import re
from pathlib import Path

import pytest
from hypothesis import given

from annotations.scores.rules import Scorer
from annotations.scores.rules.operating import MISSED, UNTOUCHED, SideBySide
from annotations.scores.rules.published import ALL, ON_PAGE, Column, Footnote, PrintedRow, Table, headlines
from annotations.text.spans import Span
from tests.text.strategies import texts_with_spans

ROOT = Path(__file__).resolve().parents[3]
TABLES = {table.source: table for table in ALL}


@pytest.mark.parametrize(
    "source",
    ["Catelli 2021, table 3.1", "Catelli 2021, table 3.2 (subcategories)", "Catelli 2021, table 3.2 (categories)"],
)
def test_counts_add_up(source):
    *rows, last = TABLES[source].rows
    if last.name != "Total":
        rows, last = [*rows, last], TABLES["Catelli 2021, table 3.2 (categories)"].rows[-1]
    assert [sum(column) for column in zip(*(row.figures for row in rows), strict=True)] == list(last.figures)
    assert all(ON_PAGE.values())  # each page has tables


@pytest.mark.parametrize("source", ["Singh et al. 2025, table 1", "Catelli 2021, table 4.2 (subcategory)"])
def test_rates_fit_together(source):
    table = TABLES[source]
    for row in table.rows:
        precision, recall, f1 = row.figures[:3]
        both = precision + recall
        assert f1 == pytest.approx(2 * precision * recall / both if both else 0, abs=1.5e-4), row.name


def test_only_a_named_system_of_the_right_corpus_stands_beside_a_level():
    beside = {(one.corpus, one.name): one.value for one in headlines("entity", "category")}
    assert beside == {
        ("i2b2 2014 (English)", "Bi-LSTM + CRF · Flair + GloVe · SGF = 32"): 0.9579,
        ("SIRM COVID-19 (Italian)", "Bi-LSTM + CRF · FastText + Flair"): 0.8294,
        ("SIRM COVID-19 (Italian)", "Bi-LSTM + CRF · MultiBPEmb + Flair multi fast · EN-IT"): 0.8595,
    }
    # GiusBERTo's figures are of no level: the source doesn't say how they are averaged.
    assert len(headlines("token", "binary")) == 3 and headlines("note", "binary") == []


def test_figures_are_shown_as_printed():
    columns = (Column("F1"), Column("entities"), Column("change"))
    rows = (*(PrintedRow(name, (0.948, 1029, -7.1)) for name in "ABC"), PrintedRow("D", (None, None, None)))
    footnotes = (Footnote("b", ("B", "D")), Footnote("a", ("C",)))
    table = Table("S", "t", "c", columns, rows, footnotes=footnotes)
    assert [line.footnote for line in table.lines] == [0, 1, 2, 1] and columns[0].name == "F1"
    assert [table.lines[0].cells, table.lines[3].cells] == [("0.9480", "1,029", "−7.1000"), ("–", "–", "–")]
    for each in ALL:
        names = {row.name for row in each.rows}
        assert {len(row.figures) for row in each.rows} == {len(each.columns)}, each.source
        assert {each.headline or min(names), *(name for note in each.footnotes for name in note.rows)} <= names


def test_sources_are_cited_as_in_the_references_and_listed_with_their_experiments():
    cited = (ROOT / "docs" / "references.md").read_text(encoding="utf-8")
    listed = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
    assert len(TABLES) == len(ALL)
    for table in ALL:
        author, part = table.source.split(", ", 1)
        assert f"| {author} |" in cited, table.source
        number = re.search(r"(?:table|section) \d[\d.]*", part)
        section = listed.split(f"## {author}", 1)[1].split("\n## ", 1)[0]
        assert number and re.search(rf"{number[0]}\b(?!\.\d)", section), table.source


# Comparison of several authors: the figures of each are its own score, and gold spans are sorted by who found them


TEXT = "Mario Rossi, 54 anni, visto a Torino dal dott. Bianchi."
ROSSI, AGE, CITY, DOCTOR = Span(0, 11, "PER"), Span(13, 15, "AGE"), Span(30, 36, "LOC"), Span(47, 54, "PER")
LABELS = {"PER": "NAME", "AGE": "AGE", "LOC": "LOC"}


def test_who_found_what():
    both = SideBySide(["a", "b"], list(LABELS), LABELS)
    found = both.add(
        TEXT, [ROSSI, AGE, CITY, DOCTOR], {"a": [ROSSI, AGE, Span(30, 33, "LOC")], "b": [ROSSI, Span(29, 36, "LOC")]}
    )
    rows = [(one.kind, one.gold[:2], one.near and one.near[:2]) for one in found]
    assert rows == [("only:a", (13, 15), (13, 15)), (MISSED, (30, 36), (29, 36)), (UNTOUCHED, (47, 54), None)]
    assert both.missed() == {"missed_by_all": 2, "untouched": 1}
    assert [both.table(author)["only"] for author in "ab"] == [1, 0]
    assert both.table("b")["table"]["characters"]["found"] == 11 + 6


def test_equal_bounds_with_another_label_are_missed_but_not_untouched():
    (one,) = SideBySide(["a", "b"], list(LABELS), LABELS).add(TEXT, [CITY], {"a": [Span(30, 36, "PER")], "b": []})
    assert (one.kind, one.near) == (MISSED, (30, 36, "PER"))


def test_spans_that_all_authors_found_are_not_listed():
    assert SideBySide(["a", "b"], list(LABELS), LABELS).add(TEXT, [ROSSI], {"a": [ROSSI], "b": [ROSSI, AGE]}) == []


@given(texts_with_spans(), texts_with_spans())
def test_each_author_has_the_figures_of_its_own_score(one, other):
    text, gold = one
    spans = [span for span in other[1] if span.end <= len(text)]
    order = sorted({span.label for span in [*gold, *spans]}) or ["X"]
    category_of = dict.fromkeys(order, "C")
    both = SideBySide(["a", "b"], order, category_of)
    both.add(text, gold, {"a": spans, "b": gold})
    alone = Scorer(order, category_of)
    alone.add(text, gold, spans)
    table = both.table("a")["table"]
    table.pop("characters")
    assert table == alone.table()
