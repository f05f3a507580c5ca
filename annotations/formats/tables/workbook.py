"""An Excel workbook: the table of spans on a sheet, and on further sheets what a sheet can't hold.

All texts are written as texts, so that none is run as a formula. Characters that XML can't hold and carriage returns
are written as `_x000D_` (ECMA-376 part 1, 22.9.2.19, ST_Xstring). A sheet has at most 1,048,576 rows and a cell 32,767
characters
(https://support.microsoft.com/en-us/office/excel-specifications-and-limits-1672b34d-7043-467e-8e27-269d656771c3);
the text of a longer span is left empty, and its offsets tell it.
"""

from collections.abc import Iterator
from typing import IO, Final
from zipfile import ZipFile

from annotations.formats.base import Files
from annotations.formats.files.zips import open_zip
from annotations.formats.notes import NoteError, Problem
from annotations.formats.tables.rows import Columns, TableRow
from annotations.formats.tables.sheets import MOST_ROWS, SheetWriter, read_sheets
from annotations.formats.tables.table import TableFormat

_SHEET: Final = "spans"
_ZIP: Final = b"PK\x03\x04"
_SHEETS: Final = 4 * 1024 * 1024 * 1024
_OTHERS: Final = 128 * 1024 * 1024


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
        writer = SheetWriter(out)
        header = next(rows)
        writer.begin(_SHEET)
        writer.add(header)
        sheets = count = 1
        for row in rows:
            if count == self.most_rows:
                sheets += 1
                writer.begin(f"{_SHEET} {sheets}")
                writer.add(header)
                count = 1
            writer.add(row)
            count += 1
        writer.close()

    def _rows(self, file: str, files: Files) -> Iterator[TableRow]:
        with files.open(file) as stream:
            try:
                with open_zip(stream) as archive:
                    _check_size(archive, file)
                    for number, rows in enumerate(read_sheets(archive)):
                        yield from _sheet_rows(rows, number, file)
            except NoteError:
                raise
            # A damaged archive makes zipfile raise nearly anything.
            except Exception:
                message = (
                    "The file is not an Excel workbook, or it is damaged or encrypted. Save the table as .xlsx or .csv."
                )
                raise NoteError([Problem(file, None, "xlsx", message)]) from None


def _sheet_rows(rows: Iterator[tuple[int, list[object]]], number: int, file: str) -> Iterator[TableRow]:
    """The rows of a sheet. Sheets without our columns are left out, except the first one."""
    line, header = next(rows, (1, []))
    columns = Columns(header)
    if number and not columns.fit:
        return
    columns.check(file, line)
    for line, cells in rows:
        row = columns.row(line, cells)
        if row:
            yield row


def _check_size(archive: ZipFile, file: str) -> None:
    """Raise NoteError for a workbook that unpacks to more than a table of spans needs."""
    sheets = others = 0
    for entry in archive.infolist():
        if entry.filename.startswith("xl/worksheets/"):
            sheets += entry.file_size
        else:
            others += entry.file_size
    if sheets > _SHEETS or others > _OTHERS:
        message = "The workbook unpacks to more than 4 GB of rows or 128 MB of texts. Save the table as CSV."
        raise NoteError([Problem(file, None, "size", message)])
