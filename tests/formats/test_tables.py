"""Tables of spans as CSV and as Excel workbooks."""

import csv
import io
import re
import tracemalloc
import warnings
import zipfile

import openpyxl
import pytest

from annotations.formats.notes import OutNote
from annotations.formats.tables import CsvFormat, XlsxFormat
from annotations.text.spans import Span
from tests.formats.helpers import NAMES, facts, outcomes, parsed, read_one, refused, said, write_one

TEXT = "😀 Anna\r\nNeri =1+1"


HEAD = "note,start,end,label"


def table(*rows: str, text: str = TEXT, ending: str = "csv") -> dict[str, bytes | str]:
    return {f"spans.{ending}": "\n".join(rows) + "\n", "a.txt": text}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_delimiters_and_encodings_are_detected(delimiter: str, encoding: str) -> None:
    rows = [f"{HEAD},text,certainty", "a,2,6,NAME,Anna,lów"]
    data = "\r\n".join(rows).replace(",", delimiter).encode(encoding)
    note = read_one("csv", {"x.csv": data, "a.txt": TEXT})
    assert (note.text, facts(note.spans)) == (TEXT, [(2, 6, "NAME", (("certainty", "lów"),))])
    assert CsvFormat().claims("x.csv", data)


def test_rows_of_a_note_may_stand_anywhere() -> None:
    rows = [HEAD, "a,2,6,NAME", "b,0,1,NAME", "c,,,", ",,,", "a,8,12,NAME"]
    assert [
        (note.name, note.spans) for note in parsed("csv", table(*rows) | {f"{n}.txt": n.upper() for n in "bcd"})
    ] == [("b", [Span(0, 1, "NAME")]), ("c", []), ("a", [Span(2, 6, "NAME"), Span(8, 12, "NAME")]), ("d", None)]
    # Columns of other programs
    rows = ["sep=;", "Doc;Begin;Stop;Type;Mention;negated", "a.txt;3;7;NAME;Anna;TRUE"]
    note = read_one("csv", table(*rows, ending="tsv"))
    assert facts(note.spans) == [(2, 6, "NAME", (("negated", True),))]


def test_problems_have_lines() -> None:
    rows = ["a,2,6,NAME,Anne", 'a,2,12,NAME,"Anna\r\nNeri"', "a,2,6,PERSON,Anna", "a,2,99,NAME,", "a,2,1e5,NAME,"]
    found = outcomes("csv", table(f"{HEAD},text", *rows, "b,0,1,NAME,", ",0,1,NAME,"))
    assert found == [[(2, "quote"), (5, "label"), (6, "outside"), (7, "offsets")], [(8, "no text")], [(9, "no text")]]
    (problem,) = refused("csv", {"spans.csv": "File;Begin;Stop;Type\r\nn1.txt;0;4;NAME\r\n"})
    assert (problem.line, problem.code, "n1.txt" in problem.message) == (2, "no text", True)
    # Texts are left out if a table can't be read, and a note in two tables is refused.
    assert outcomes("csv", table("note,start,end", "a,2,6")) == [[(1, "header")]]
    seen = outcomes("csv", table(HEAD, "a,2,6,NAME") | {"other.csv": f"{HEAD}\na,2,6,NAME"})
    assert seen == ["a", [(2, "same name")]]


BROKEN_TABLES = [
    (b"", 1, "header"), (b"note,start,end\na,0,1\n", 1, "header"),
    (b"note,start,end,label,x,x\na,0,1,NAME,,\n", 1, "header"), (b"note,start,end,label\n", 1, "no notes"),
    (b'note,start,end,label\na,0,1,"NAME\n', 2, "csv"), (b"note,start,end,label\na,0,1,N\xfc\n", 2, "utf8"),
    (b"note,start,end,label\na,0,1,\0\n", 2, "nul"), (b'note,start,end,label\n"' + b"x" * 17_000_000, 2, "csv"),
]  # fmt: skip


@pytest.mark.parametrize(("whole", "line", "code"), BROKEN_TABLES, ids=range(len(BROKEN_TABLES)))
def test_broken_tables(whole: bytes, line: int | None, code: str) -> None:
    assert said(refused("csv", {"spans.csv": whole})) == [(line, code)]


SPREADSHEET = ["=1+1", "-5", "'-5", "'=1", "+39 06", "@x", "a;=b", "_x0041_", "x_x000D_y", "#N/A", "1\r\n2",
               "\x0c1\x0c2", "\uffff", '"q"']  # fmt: skip


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_texts_that_a_spreadsheet_could_take_for_something_else(kind: str) -> None:
    text, spans = "|".join(SPREADSHEET), []
    for word in re.finditer("[^|]+", text):
        start = word.end() - len(word[0].lstrip())
        spans.append(Span(start, word.end(), "-A", attributes=(("-neg", True), ("=kind", "=1+1"))))
    files, losses = write_one(kind, text, spans, {"-A": "-A"})
    note = read_one(kind, files, {"-A": "-A"})
    assert (losses, note.text, facts(note.spans)) == ([], text, facts(spans))
    # A span that no cell holds
    files, losses = write_one(kind, "x" * 40_000, [Span(0, 40_000, "NAME")])
    assert (losses, read_one(kind, files).spans) == ([], [Span(0, 40_000, "NAME")])


def test_other_programs_see_texts_and_no_formula() -> None:
    spans = [Span(13, 17, "NAME"), Span(2, 6, "NAME", attributes=(("certainty", "low"),))]
    files = {kind: write_one(kind, TEXT, spans)[0] for kind in ("csv", "xlsx")}
    assert files["csv"]["a.txt"] == TEXT.encode()
    rows = csv.reader(io.StringIO(files["csv"]["a.csv"].decode("utf-8-sig"), newline=""))
    assert [",".join(row) for row in rows] == [f"{HEAD},text,certainty", "a,2,6,NAME,Anna,low", "a,13,17,NAME,'=1+1,"]
    (sheet,) = openpyxl.load_workbook(io.BytesIO(files["xlsx"]["a.xlsx"])).worksheets
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
        [*HEAD.split(","), "text", "negated", "grade"], ["7", 0.0, 4, "NAME", 2069, True, 3],
        [7, "5", "9", "DATE", "Anna", False, None], [None] * 7,
    ]  # fmt: skip
    files = {"x.xlsx": workbook(rows, [["other"], ["x"]], rows[:1]), "7.txt": b"2069 Anna"}
    held = (("grade", "3"), ("negated", True))
    assert facts(read_one("xlsx", files).spans) == [(0, 4, "NAME", held), (5, 9, "DATE", ())]
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
    notes = parsed(format, {"spans.xlsx": out.getvalue()} | {f"n{at}.txt": b"Anna" for at in range(5)})
    assert [(note.name, facts(note.spans)) for note in notes] == [
        (f"n{at}", [(0, 4, "NAME", (("a", str(at)),))]) for at in range(5)
    ]
