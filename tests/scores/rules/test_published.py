"""Published figures: the headline rows beside a second list, typed from the sources without looking at the code."""

import re
from pathlib import Path

import pytest

from annotations.scores.rules.published import ALL, ON_PAGE, headlines
from annotations.scores.rules.published.tables import Column, Row, Table

ROOT = Path(__file__).resolve().parents[3]
TABLES = {table.source: table for table in ALL}
SIX = ["entity, subcategory", "entity, category", "entity, binary"]
SIX = [f"{name}: F1" for name in [*SIX, *(name.replace("entity", "token") for name in SIX)]]
CRF = "Bi-LSTM + CRF"


def row_of(source: str, name: str) -> Row:
    (row,) = [row for row in TABLES[source].rows if row.name == name]
    return row


def figures(source: str, name: str, columns: list[str]) -> list[float | None]:
    names = (column.name for column in TABLES[source].columns)
    by_name = dict(zip(names, row_of(source, name).figures, strict=True))
    return [by_name[column] for column in columns]


@pytest.mark.parametrize(
    "source",
    ["Catelli 2021, table 3.1", "Catelli 2021, table 3.2 (subcategories)", "Catelli 2021, table 3.2 (categories)"],
)
def test_counts_add_up(source):
    *rows, last = TABLES[source].rows
    if last.label != "Total":
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
    table = Table("S", "t", "c", columns, (Row((0.948, 1029, -7.1), system="A", grouping="SGF = 2"), Row((None,) * 3)))
    assert [line.cells for line in table.lines] == [("0.9480", "1,029", "−7.1000"), ("–", "–", "–")]
    assert table.lines[0].name == "A · SGF = 2" and columns[0].name == "F1" and table.footnotes == []
    rows = tuple(Row((1, 2, 3), note=note) for note in ("", "b", "a", "b"))
    table = Table("S", "t", "c", columns, rows)
    assert [line.footnote for line in table.lines] == [0, 1, 2, 1] and table.footnotes == ["b", "a"]
    with pytest.raises(ValueError, match="2 of 3 figures"):
        Table("S", "t", "c", columns, (Row((0.1, 0.2)),))


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
