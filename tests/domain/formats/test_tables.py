"""Tables of spans as CSV and as Excel workbooks."""

import csv
import io
import tracemalloc
import warnings
import zipfile

import openpyxl
import pytest

from annotations.domain.formats.base import Files, Loaded, OutNote
from annotations.domain.formats.tables import CsvFormat, XlsxFormat
from annotations.domain.notes import NoteError, ParsedNote
from annotations.domain.spans import Span
from tests.domain.formats.helpers import NAMES, read_all, read_one, refused, said, write_one

TEXT = "😀 Anna\r\nNeri =1+1"


def table(*rows: str, text: str = TEXT, ending: str = "csv") -> dict[str, bytes | str]:
    return {f"spans.{ending}": "\n".join(rows) + "\n", "a.txt": text}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_delimiters_and_encodings_are_detected(delimiter: str, encoding: str) -> None:
    rows = ["note,start,end,label,text,certainty", "a,2,6,NAME,Anna,lów"]
    data = "\r\n".join(rows).replace(",", delimiter).encode(encoding)
    note = read_one("csv", {"x.csv": data, "a.txt": TEXT})
    assert (note.text, note.spans) == (TEXT, [Span(2, 6, "NAME")])
    assert note.spans[0].attributes == (("certainty", "lów"),)
    assert CsvFormat().claims("x.csv", data)


def test_columns_of_other_programs() -> None:
    rows = ["sep=;", "Doc;Begin;Stop;Type;Mention;negated", "a.txt;3;7;NAME;Anna;TRUE"]
    note = read_one("csv", table(*rows, ending="tsv"))
    assert note.spans == [Span(2, 6, "NAME")]
    assert note.spans[0].attributes == (("negated", True),)


def test_rows_of_a_note_may_stand_anywhere() -> None:
    rows = ["note,start,end,label", "a,2,6,NAME", "b,0,1,NAME", "c,,,", ",,,", "a,8,12,NAME"]
    files = table(*rows) | {"b.txt": "B", "c.txt": "C", "d.txt": "D"}
    notes = [note for note in read_all("csv", files) if isinstance(note, ParsedNote)]
    assert [(note.name, note.spans) for note in notes] == [
        ("b", [Span(0, 1, "NAME")]),
        ("c", []),
        ("a", [Span(2, 6, "NAME"), Span(8, 12, "NAME")]),
        ("d", None),
    ]


def test_problems_have_lines() -> None:
    rows = [
        "note,start,end,label,text",
        "a,2,6,NAME,Anne",
        'a,2,12,NAME,"Anna\r\nNeri"',
        "a,2,6,PERSON,Anna",
        "a,2,99,NAME,",
        "a,2,1e5,NAME,",
        "b,0,1,NAME,",
        ",0,1,NAME,",
    ]
    one, two, three = read_all("csv", table(*rows))
    assert isinstance(one, NoteError)
    assert isinstance(two, NoteError)
    assert isinstance(three, NoteError)
    assert said(one.problems) == [(2, "quote"), (5, "label"), (6, "outside"), (7, "offsets")]
    assert said(two.problems) == [(8, "no text")]
    assert said(three.problems) == [(9, "no text")]


@pytest.mark.parametrize(
    ("whole", "line", "code"),
    [
        (b"", 1, "header"),
        (b"note,start,end\na,0,1\n", 1, "header"),
        (b"note,start,end,label,x,x\na,0,1,NAME,,\n", 1, "header"),
        (b"note,start,end,label\n", 1, "no notes"),
        (b'note,start,end,label\na,0,1,"NAME\n', 2, "csv"),
        (b"note,start,end,label\na,0,1,N\xfc\n", 2, "utf8"),
        (b"note,start,end,label\na,0,1,\0\n", 2, "nul"),
        (b'note,start,end,label\n"' + b"x" * 17_000_000, 2, "csv"),
    ],
    ids=["empty", "column", "twice", "rows", "quotation", "utf8", "nul", "long"],
)
def test_broken_tables(whole: bytes, line: int | None, code: str) -> None:
    assert said(refused("csv", {"spans.csv": whole})) == [(line, code)]


def test_a_note_named_by_its_file_that_is_missing() -> None:
    (problem,) = refused("csv", {"spans.csv": "File;Begin;Stop;Type\r\nn1.txt;0;4;NAME\r\n"})
    assert (problem.file, problem.line, problem.code) == ("spans.csv", 2, "no text")
    assert "n1.txt" in problem.message


def test_texts_are_left_out_if_a_table_can_not_be_read() -> None:
    (error,) = read_all("csv", table("note,start,end", "a,2,6"))
    assert isinstance(error, NoteError)
    assert said(error.problems) == [(1, "header")]


def test_the_same_note_in_two_tables_is_refused() -> None:
    rows = ["note,start,end,label", "a,2,6,NAME"]
    files = table(*rows) | {"other.csv": "\n".join(rows)}
    one, two = read_all("csv", files)
    assert isinstance(one, ParsedNote)
    assert isinstance(two, NoteError)
    assert said(two.problems) == [(2, "same name")]


SPREADSHEET = [
    "=1+1",
    "-5",
    "'-5",
    "'=1",
    "+39 06",
    "@x",
    "a;=b",
    "_x0041_",
    "x_x000D_y",
    "#N/A",
    "1\r\n2",
    "\x0c1\x0c2",
    "\uffff",
    '"q"',
]


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_texts_that_a_spreadsheet_could_take_for_something_else(kind: str) -> None:
    text = "|".join(SPREADSHEET)
    spans, at = [], 0
    for word in SPREADSHEET:
        white = len(word) - len(word.lstrip())
        spans.append(Span(at + white, at + len(word), "-A", attributes=(("=kind", "=1+1"), ("-neg", True))))
        at += len(word) + 1
    files, losses = write_one(kind, text, spans, {"-A": "-A"})
    assert losses == []
    note = read_one(kind, files, {"-A": "-A"})
    assert note.text == text
    assert [(span, span.attributes) for span in note.spans or []] == [
        (span, (("-neg", True), ("=kind", "=1+1"))) for span in spans
    ]


def test_a_csv_has_a_mark_and_no_formula_for_other_programs() -> None:
    files, _ = write_one("csv", TEXT, [Span(13, 17, "NAME"), Span(2, 6, "NAME", attributes=(("certainty", "low"),))])
    assert files["a.txt"] == TEXT.encode()
    assert list(csv.reader(io.StringIO(files["a.csv"].decode("utf-8-sig"), newline=""))) == [
        ["note", "start", "end", "label", "text", "certainty"],
        ["a", "2", "6", "NAME", "Anna", "low"],
        ["a", "13", "17", "NAME", "'=1+1", ""],
    ]


def test_a_workbook_has_texts_for_other_programs() -> None:
    files, _ = write_one("xlsx", TEXT, [Span(13, 17, "NAME"), Span(2, 6, "NAME", attributes=(("certainty", "low"),))])
    (sheet,) = openpyxl.load_workbook(io.BytesIO(files["a.xlsx"])).worksheets
    assert list(sheet.values) == [
        ("note", "start", "end", "label", "text", "certainty"),
        ("a", 2, 6, "NAME", "Anna", "low"),
        ("a", 13, 17, "NAME", "=1+1", None),
    ]
    assert {cell.data_type for row in sheet.iter_rows(min_row=2) for cell in row if cell.value} == {"s", "n"}


def workbook(*sheets: list[list[object]]) -> bytes:
    made = openpyxl.Workbook()
    made.remove(made.worksheets[0])
    for rows in sheets:
        sheet = made.create_sheet()
        for row in rows:
            sheet.append(row)
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def test_workbooks_of_other_programs() -> None:
    rows: list[list[object]] = [
        ["note", "start", "end", "label", "text", "negated", "grade"],
        ["7", 0.0, 4, "NAME", 2069, True, 3],
        [7, "5", "9", "DATE", "Anna", False, None],
        [None, None, None, None, None, None, None],
    ]
    files = {"x.xlsx": workbook(rows, [["other"], ["x"]], rows[:1]), "7.txt": b"2069 Anna"}
    note = read_one("xlsx", files)
    assert note.spans == [Span(0, 4, "NAME"), Span(5, 9, "DATE")]
    assert [span.attributes for span in note.spans] == [(("grade", "3"), ("negated", True)), ()]
    assert XlsxFormat().claims("x.xlsx", files["x.xlsx"])


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"note,start", workbook([["note"]])[:-200]])
def test_what_is_no_workbook_is_refused(data: bytes) -> None:
    assert said(refused("xlsx", {"x.xlsx": data})) == [(None, "xlsx")]
    assert said(refused("xlsx", {"x.xlsx": workbook([["note"]])})) == [(1, "header")]


def bomb(part: str, data: bytes, size: int) -> bytes:
    """A small workbook whose part unpacks to a multiple of the data."""
    out = io.BytesIO(workbook([["note"]]))
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive, archive.open(part, "w") as entry:
        for _ in range(size // len(data)):
            entry.write(data)
    return out.getvalue()


@pytest.mark.parametrize(
    ("part", "size", "code"), [("xl/x.xml", 130 * 1024 * 1024, "size"), ("xl/worksheets/sheet1.xml", 4_000_000, "xlsx")]
)
def test_workbooks_that_unpack_to_too_much_are_refused(part: str, size: int, code: str) -> None:
    cell = b'<worksheet xmlns="x"><sheetData><row><c t="str"><v>' + b"x" * 999_949
    with warnings.catch_warnings(action="ignore"):
        data = bomb(part, cell, size)
    tracemalloc.start()
    assert said(refused("xlsx", {"x.xlsx": data})) == [(None, code)]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4 * 1024 * 1024


def test_more_rows_than_a_sheet_holds_go_to_further_sheets() -> None:
    format = XlsxFormat()
    format.most_rows = 3
    out = io.BytesIO()
    with format.sink(out, NAMES) as add:
        for at in range(5):
            add(OutNote(f"n{at}", "Anna", [Span(0, 4, "NAME", attributes=(("a", str(at)),))]))
    assert [sheet.max_row for sheet in openpyxl.load_workbook(io.BytesIO(out.getvalue())).worksheets] == [3, 3, 2]
    stored: dict[str, bytes] = {"spans.xlsx": out.getvalue()} | {f"n{at}.txt": b"Anna" for at in range(5)}
    files: Files = Loaded(stored.__getitem__)
    (group,), _ = format.group(stored)
    notes = [note for note in format.read_many(group, files, NAMES) if isinstance(note, ParsedNote)]
    assert [(note.name, note.spans) for note in notes] == [(f"n{at}", [Span(0, 4, "NAME")]) for at in range(5)]
    assert [span.attributes for note in notes for span in note.spans or []] == [(("a", str(at)),) for at in range(5)]


def test_a_span_that_no_cell_holds_is_kept() -> None:
    text = "x" * 40_000
    files, losses = write_one("xlsx", text, [Span(0, 40_000, "NAME")])
    assert losses == []
    assert read_one("xlsx", files).spans == [Span(0, 40_000, "NAME")]
