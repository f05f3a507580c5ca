"""OMOP NOTE: many notes in one table, as CSV or Parquet."""

import io

import pyarrow
import pytest
from pyarrow import parquet

from annotations.domain.documents.base import Extracted
from tests.domain.documents.helpers import mapped, read, refusal, results

ROWS = [
    {"note_id": 1, "person_id": 7, "note_text": 'D. José, "cita"\nlínea 2', "note_date": "2020-01-01"},
    {"note_id": 2, "person_id": 8, "note_text": "😀", "note_date": "2020-01-02"},
]


def csv(rows=ROWS, separator=","):
    def cell(value):
        return '"' + str(value).replace('"', '""') + '"'

    lines = [separator.join(rows[0]), *(separator.join(map(cell, row.values())) for row in rows)]
    return "\r\n".join(lines) + "\r\n"


def table(rows=ROWS):
    out = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("note.csv", csv()),
        ("note.csv", csv().replace("note_text", "NOTE_TEXT")),
        ("note.tsv", csv(separator="\t")),
        ("note.csv", csv(separator=";")),
        ("note.csv", "\ufeff" + csv()),
        ("note.csv", csv().encode("utf-16")),
        ("note.parquet", table()),
    ],
)
def test_each_row_is_a_note(name, data):
    found = results(name, data)
    assert [(each.name, each.text, each.patient_id) for each in found] == [
        ("note/1", 'D. José, "cita"\nlínea 2', "7"),
        ("note/2", "😀", "8"),
    ]


def test_the_source_map_leads_to_the_line():
    assert mapped(read("note.csv", csv([ROWS[0]]))) == [("row 3", 'D. José, "cita"\nlínea 2')]
    assert mapped(results("note.parquet", table())[1]) == [("row 2", "😀")]


def test_rows_that_hold_no_note_are_named_by_line():
    rows = [
        ROWS[1],
        {**ROWS[1], "note_text": "again"},
        {**ROWS[1], "note_id": 3, "note_text": " "},
        {**ROWS[1], "note_id": ""},
    ]
    found = results("note.csv", csv(rows))
    problems = [problem for each in found if not isinstance(each, Extracted) for problem in each.problems]
    assert [(problem.line, problem.code) for problem in problems] == [(3, "note_id"), (4, "no text"), (5, "note_id")]


def test_a_guessed_encoding_is_said():
    data = csv([{"note_id": 1, "note_text": "D. José Muñoz Núñez, de 45 años"}]).encode("cp1252")
    note = read("note.csv", data)
    assert note.text == "D. José Muñoz Núñez, de 45 años"
    assert note.encoding == "cp1252" and "guessed" in note.warnings[0]


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("note.csv", "note_id,note_text\r\n", "no rows"),
        ("note.csv", 'note_id,note_text\r\n1,"open', "csv"),
        ("note.csv", "xnote_id,note_text\r\n1,2\r\n", "columns"),
        ("note.parquet", table()[:-20], "parquet"),
        ("note.parquet", table([{"id": 1}]), "columns"),
    ],
)
def test_broken_tables_are_refused(name, data, code):
    problem = refusal(name, data)
    assert (problem.file, problem.code) == (name, code)


def test_a_long_note_in_a_cell():
    text = "palabra " * 50_000
    assert read("note.csv", csv([{"note_id": 1, "note_text": text}])).text == text
