"""Published figures: the headline rows beside a second list, typed from the sources without looking at the code."""

import re
from pathlib import Path

import pytest

from annotations.domain.scoring.published import ALL, ON_PAGE, headlines
from annotations.domain.scoring.published.tables import Column, Row, Table

ROOT = Path(__file__).resolve().parents[3]
TABLES = {table.source: table for table in ALL}
SIX = ["entity, subcategory", "entity, category", "entity, binary"]
SIX = [f"{name}: F1" for name in [*SIX, *(name.replace("entity", "token") for name in SIX)]]
RATES = ["precision", "recall", "F1"]
UNITS = {level: [f"{unit}, {level}: {rate}" for unit in ("entity", "token") for rate in RATES] for level in
         ("subcategory", "binary")}  # fmt: skip
FUSED = "entity, text similarity of at least 0.6 and position, any label"
REDACTOR = [*(f"{FUSED}: {rate}" for rate in RATES), "all or nothing, any label: recall"]
JUDGED = [f"{how}, {label}: F1" for how in ("counted in the rewritten text", "majority of three judges")
          for label in ("NAME", "LOCATION/ADDRESS")]  # fmt: skip
SUB_WORDS = [f"sub-word token, O, B-OMISSIS, I-OMISSIS: {name}" for name in ("accuracy", *RATES)]
SERVICES = ["RedactOR: recall", "RedactOR: precision", "RedactOR: F1", "AWS: F1", "JSL: F1"]
OVERLAP = [f"token, spans overlap, binary: {rate}" for rate in RATES]
CAUGHT = ["single calls: errors caught", "agent: errors caught", "agent: share"]
CRF = "Bi-LSTM + CRF"
AGREEMENT = ["observed agreement", "Krippendorff's α"]
CATELLI, SINGH = "Catelli 2021", "Singh et al. 2025"
MIRANDA = "Miranda et al. 2025, table 2, as far as section 4.4 repeats it"
SALIERNO = "Salierno et al. 2024, section 6.2 (figure 4)"

# Source, row, columns, figures. A “-” in the figures stands where the source prints none.
TYPED = [
    (f"{CATELLI}, table 4.1", f"{CRF} · Flair + GloVe · SGF = 1", SIX, ".9239 .9445 .9486 .9443 .9713 .9756"),
    (f"{CATELLI}, table 4.4", "BERT base · SGF = 1", SIX, ".9215 .9430 .9509 .9470 .9698 .9758"),
    (f"{CATELLI}, table 4.5", "H. Yang and Garibaldi 2015", SIX, "- .9360 - - .9611 -"),
    (f"{CATELLI}, table 4.11", f"{CRF} · FastText", SIX, ".7034 .7130 .7297 .7821 .8155 .8395"),
    (f"{CATELLI}, table 4.17", f"{CRF} · BPEmb (IT) + Flair (IT) · IT", SIX, ".8110 .8278 .8317 .8856 .9115 .9190"),
    (f"{CATELLI}, table 4.18", f"{CRF} · MultiBPEmb · EN-IT", SIX, ".7614 .7743 .7914 .8201 .8569 .8835"),
    (f"{CATELLI}, table 4.2 (subcategory)", "Total", UNITS["subcategory"], ".9552 .9409 .9480 .9754 .9602 .9677"),
    (f"{CATELLI}, table 4.12 (subcategory)", "HOSPITAL", UNITS["subcategory"], ".6073 .7955 .6884 .8891 .9490 .9180"),
    (f"{CATELLI}, table 4.12 (binary)", "NAMED ENTITY", UNITS["binary"], ".8664 .7982 .8308 .9792 .8697 .9211"),
    (f"{CATELLI}, section 3.1.2", "Three annotators, 115 notes", AGREEMENT, ".68 .71"),
    (f"{CATELLI}, table 3.3", "Tokens per document", ["average"], "262.8"),
    (MIRANDA, "gemma3 12b", JUDGED, ".81 .88 .40 .64"),
    (SALIERNO, "GiusBERTo · 512 tokens", SUB_WORDS, ".9712 .85 .9246 .8864"),
    (f"{SINGH}, table 1", "RedactOR (GPT-4o) · 256 words, 2 passes", REDACTOR, ".9769 .9525 .9646 .79"),
    (f"{SINGH}, table 2", "All", SERVICES, ".9159 .9790 .9465 .9270 .9751"),
    (f"{SINGH}, table 3", "All", ["RedactOR: recall", "AWS: recall", "JSL: recall"], ".8214 .7701 .8906"),
    ("Xu et al. 2026, table 1", "GPT-5, original annotations · CARMEN-ES", OVERLAP, ".9076 .9675 .9365"),
    ("Xu et al. 2026, table 2", "Transcripts-DE", CAUGHT, "248 292 .9932"),
]


def row_of(source: str, name: str) -> Row:
    (row,) = [row for row in TABLES[source].rows if row.name == name]
    return row


def figures(source: str, name: str, columns: list[str]) -> list[float | None]:
    names = (column.name for column in TABLES[source].columns)
    by_name = dict(zip(names, row_of(source, name).figures, strict=True))
    return [by_name[column] for column in columns]


@pytest.mark.parametrize("source, name, columns, typed", TYPED, ids=[f"{case[0]}: {case[1]}" for case in TYPED])
def test_the_rows_are_those_of_the_second_list(source, name, columns, typed):
    assert figures(source, name, columns) == [None if text == "-" else float(text) for text in typed.split()]


def test_misprints_of_table_4_17_are_noted():
    swapped = figures("Catelli 2021, table 4.17", "BERT base (IT) Cased · IT", SIX)
    as_elsewhere = figures("Catelli 2021, table 4.11", "BERT base Cased", SIX)
    assert (swapped[2], swapped[3]) == (as_elsewhere[3], as_elsewhere[2])
    assert "0.7969" in row_of("Catelli 2021, table 4.17", "BERT base (IT) Cased · IT").note
    for training in ("EN", "IT", "MIX", "EN-IT"):
        where = ("Catelli 2021, table 4.17", f"mBERT Cased · {training}")
        row = figures(*where, SIX)
        assert row[2] == row[5] and "repeats" in row_of(*where).note


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
