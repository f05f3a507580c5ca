"""Tables of spans, as CSV and as an Excel workbook, with the text files of the notes beside.

A row has `note`, `start`, `end`, `label` and `text`, and a column for each attribute. Offsets are end-exclusive and
count code points; a table that counts UTF-16 code units is recognized by its texts. A row with a note alone says that
the note is annotated and has no spans; a text file without a row is a note without annotations.
"""

import io
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from typing import IO, Final
from zipfile import ZipFile

from annotations.formats.base import Files
from annotations.formats.files import csv_reading
from annotations.formats.files.csv_files import csv_line, unquoted
from annotations.formats.files.zips import open_zip
from annotations.formats.notes import NoteError, Problem
from annotations.formats.tables.sheets import MOST_ROWS, SheetWriter, read_sheets
from annotations.formats.tables.table import Columns, TableFormat, TableRow
from annotations.text.names import unkeepable
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop

# CSV: one table for all notes.
#
# Written with commas in UTF-8 with a byte order mark, every cell in quotation marks, and no cell that a spreadsheet
# could run as a formula. Commas, semicolons, tabs and vertical bars are read, in UTF-8 or UTF-16 (RFC 4180; Excel's
# “CSV” and “Unicode text”).


_BOM: Final = "\ufeff"
_DELIMITERS: Final = ",;\t|"
_SEP: Final = re.compile(r'"?sep=(.)"?\r?\n?')
_LONGEST: Final = 16 * 1024 * 1024
"""The most characters of a row."""
_NOT_UTF8: Final = gettext_noop("The table is not in its encoding from here on. Save it as CSV UTF-8.")
_NUL: Final = gettext_noop("The line contains NUL, which can't be stored. Remove it.")


class CsvFormat(TableFormat):
    """Reads and writes a table of spans as CSV."""

    name = "csv"
    endings = ("csv", "tsv")
    file = "spans.csv"

    def claims(self, name: str, head: bytes) -> bool:
        if not super().claims(name, head):
            return False
        lines = head.decode(_encoding(head), "replace").removeprefix(_BOM).split("\n")
        first = lines[1] if _SEP.fullmatch(lines[0]) and lines[1:] else lines[0]
        return any(Columns(_cells(first, delimiter)).fit for delimiter in _DELIMITERS)

    def _plain(self, cell: str) -> str:
        return unquoted(cell)

    def _save(self, rows: Iterator[list[object]], out: IO[bytes]) -> None:
        out.write(_BOM.encode())
        for row in rows:
            out.write(csv_line(row).encode())

    def _rows(self, file: str, files: Files) -> Iterator[TableRow]:
        with files.open(file) as stream:
            encoding = _encoding(stream.read(2))
            stream.seek(0)
            lines = _Lines(io.TextIOWrapper(stream, encoding, errors="surrogateescape", newline=""), file)
            try:
                yield from _table(lines, file)
            # Only in UTF-16.
            except UnicodeDecodeError:
                raise NoteError([Problem(file, lines.number + 1, "utf8", _(_NOT_UTF8))]) from None
            except csv_reading.Error as error:
                message = _("The row is not valid CSV ({error}). Correct its quotation marks.", error)
                raise NoteError([Problem(file, lines.number, "csv", message)]) from None


def _encoding(head: bytes) -> str:
    return "utf-16" if head[:2] in (BOM_UTF16_LE, BOM_UTF16_BE) else "utf-8"


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv_reading.reader([line.rstrip("\r\n")], delimiter=delimiter), [])
    except csv_reading.Error:
        return []


def _table(lines: "_Lines", file: str) -> Iterator[TableRow]:
    """The rows after the header. Raises NoteError, UnicodeDecodeError and csv_reading.Error."""
    first = next(lines, "").removeprefix(_BOM)
    if sep := _SEP.fullmatch(first):
        first = next(lines, "")
    tried = [sep[1]] if sep else list(_DELIMITERS)
    delimiter = next((each for each in tried if Columns(_cells(first, each)).fit), tried[0])
    columns = Columns([unquoted(cell) for cell in _cells(first, delimiter)])
    columns.check(file, max(lines.number, 1))
    lines.begin()
    for cells in csv_reading.reader(lines, delimiter=delimiter, strict=True):
        row = columns.row(lines.first, cells)
        lines.begin()
        if row:
            yield row


class _Lines:
    """The lines of a table. Raises NoteError for a row that is too long, NUL, and other encodings.

    `number` is the last line, and `first` the line in which the row begins that is being read.
    """

    def __init__(self, text: io.TextIOWrapper, file: str) -> None:
        self.number = 0
        self.first = 1
        self._text = text
        self._file = file
        self._length = 0

    def begin(self) -> None:
        """Begin a row with the next line."""
        self.first = self.number + 1
        self._length = 0

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = self._text.readline(_LONGEST)
        if not line:
            raise StopIteration
        self.number += 1
        self._length += len(line)
        if self._length >= _LONGEST:
            message = _(
                "The row has more than {most} characters. Close the quotation mark that begins in it.", _LONGEST
            )
            raise NoteError([Problem(self._file, self.first, "csv", message)])
        if unkeepable(line):
            fault = ("nul", _(_NUL)) if "\0" in line else ("utf8", _(_NOT_UTF8))
            raise NoteError([Problem(self._file, self.number, *fault)])
        return line


# An Excel workbook: the table of spans on a sheet, and on further sheets what a sheet can't hold.
#
# All texts are written as texts, so that none is run as a formula. Characters that XML can't hold and carriage returns
# are written as `_x000D_` (ECMA-376 part 1, 22.9.2.19, ST_Xstring). A sheet has at most 1,048,576 rows and a cell
# 32,767 characters
# (https://support.microsoft.com/en-us/office/excel-specifications-and-limits-1672b34d-7043-467e-8e27-269d656771c3); the
# text of a longer span is left empty, and its offsets tell it.


_SHEET: Final = "spans"
_SHEETS: Final = 4 * 1024 * 1024 * 1024
_OTHERS: Final = 128 * 1024 * 1024


class XlsxFormat(TableFormat):
    """Reads and writes a table of spans as an Excel workbook."""

    name = "xlsx"
    endings = ("xlsx",)
    claim = re.compile(rb"\APK\x03\x04")
    file = "spans.xlsx"
    most_rows = MOST_ROWS

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
                message = _(
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
        message = _("The workbook unpacks to more than 4 GB of rows or 128 MB of texts. Save the table as CSV.")
        raise NoteError([Problem(file, None, "size", message)])


__all__ = ["CsvFormat", "XlsxFormat"]
