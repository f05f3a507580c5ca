"""An Excel workbook: the table of spans on a sheet, and on further sheets what a sheet can't hold.

All texts are written as texts, so that none is run as a formula. Characters that XML can't hold and carriage returns
are written as `_x000D_` (ECMA-376 part 1, 22.9.2.19, ST_Xstring). A sheet has at most 1,048,576 rows and a cell 32,767
characters
(https://support.microsoft.com/en-us/office/excel-specifications-and-limits-1672b34d-7043-467e-8e27-269d656771c3);
the text of a longer span is left empty, and its offsets tell it.
"""

import re
from collections.abc import Iterator
from contextlib import closing
from typing import IO, Any, Final

from annotations.domain.files.zips import open_zip
from annotations.domain.formats.base import Files
from annotations.domain.formats.tables.rows import Columns, Row
from annotations.domain.formats.tables.table import TableFormat
from annotations.domain.formats.xml_writing import UNWRITABLE
from annotations.domain.notes import NoteError, Problem

MOST_ROWS: Final = 1_048_576
"""The most rows of a sheet, with its header."""

_LONGEST: Final = 32_767
_SHEET: Final = "spans"
_ZIP: Final = b"PK\x03\x04"
_SHEETS: Final = 4 * 1024 * 1024 * 1024
_OTHERS: Final = 256 * 1024 * 1024
_TO_ESCAPE: Final = re.compile(f"\r|{UNWRITABLE.pattern}|_(?=x[0-9A-Fa-f]{{4}}_)")
_ESCAPED: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")


class XlsxFormat(TableFormat):
    """Reads and writes a table of spans as an Excel workbook."""

    name = "xlsx"
    endings = ("xlsx",)
    file = "spans.xlsx"
    most_rows = MOST_ROWS

    def claims(self, name: str, head: bytes) -> bool:
        """See `Format.claims`."""
        return name.lower().endswith(".xlsx") and head.startswith(_ZIP)

    def _save(self, rows: Iterator[list[object]], out: IO[bytes]) -> None:
        # Only jobs and commands write and read workbooks.
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell

        workbook = Workbook(write_only=True)
        header = next(rows)
        sheet: Any = None
        count = self.most_rows

        def cell(value: object) -> object:
            if not isinstance(value, str) or not value:
                return None if value == "" else value
            text = _TO_ESCAPE.sub(_escape, value)
            made = WriteOnlyCell(sheet, text if len(text) <= _LONGEST else None)
            made.data_type = "s"
            return made

        for row in rows:
            if count >= self.most_rows:
                number = len(workbook.worksheets) + 1
                sheet = workbook.create_sheet(_SHEET if number == 1 else f"{_SHEET} {number}")
                sheet.append([cell(name) for name in header])
                count = 1
            sheet.append([cell(value) for value in row])
            count += 1
        if sheet is None:
            sheet = workbook.create_sheet(_SHEET)
            sheet.append([cell(name) for name in header])
        workbook.save(out)

    def _rows(self, file: str, files: Files) -> Iterator[Row]:
        from openpyxl import load_workbook

        with files.open(file) as stream:
            _check_size(stream, file)
            stream.seek(0)
            try:
                with closing(load_workbook(stream, read_only=True, data_only=True)) as workbook:
                    for number, sheet in enumerate(workbook.worksheets):
                        yield from _sheet_rows(sheet, number, file)
            except NoteError:
                raise
            # A damaged workbook makes openpyxl raise nearly anything.
            except Exception:
                raise _unreadable(file) from None


def _sheet_rows(sheet: Any, number: int, file: str) -> Iterator[Row]:
    """The rows of a sheet. Sheets without our columns are left out, except the first one."""
    rows = sheet.iter_rows(values_only=True)
    columns = Columns([_unescaped(cell) for cell in next(rows, ())])
    if number and not columns.fit:
        return
    columns.check(file, 1)
    for line, cells in enumerate(rows, 2):
        row = columns.row(line, [_unescaped(cell) for cell in cells])
        if row:
            yield row


def _escape(match: re.Match[str]) -> str:
    return f"_x{ord(match.group()):04X}_"


def _unescaped(cell: object) -> object:
    if isinstance(cell, str) and "_x" in cell:
        return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), cell)
    return cell


def _check_size(stream: IO[bytes], file: str) -> None:
    """Raise NoteError for a file that is not a zip archive, or that unpacks to more than a table of spans needs."""
    try:
        with open_zip(stream) as archive:
            entries = archive.infolist()
    # A damaged archive makes zipfile raise nearly anything.
    except Exception:
        raise _unreadable(file) from None
    sheets = sum(entry.file_size for entry in entries if entry.filename.startswith("xl/worksheets/"))
    others = sum(entry.file_size for entry in entries if not entry.filename.startswith("xl/worksheets/"))
    if sheets > _SHEETS or others > _OTHERS:
        message = "The workbook unpacks to more than 4 GB of rows or 256 MB of texts. Save the table as CSV."
        raise NoteError([Problem(file, None, "size", message)])


def _unreadable(file: str) -> NoteError:
    message = "The file is not an Excel workbook, or it is damaged or encrypted. Save the table as .xlsx or .csv."
    return NoteError([Problem(file, None, "xlsx", message)])
