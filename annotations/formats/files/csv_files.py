"""CSV lines for all exports: every cell is quoted, and no cell can be run as a formula by a spreadsheet."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from annotations.formats.files import csv_reading
from annotations.text.names import MAX_OFFSET, whole_number
from annotations.text.wording import WordedError

_STARTS: Final = "=+\\-@＝＋－＠"
# A formula may start at the start of a cell, or after any character that a spreadsheet may take for a separator
# whatever the file says: in much of Europe that is `;`.
_FORMULA: Final = re.compile(rf"""(^|[;,|\t\r\n])(?=["'\s]*[{_STARTS}])|^(?=[\t\r\n])""")

_FORMULA_CELL: Final = re.compile(rf"""(^|[;,|\t\r\n])'(?=["'\s]*[{_STARTS}])|^'(?=[\t\r\n])""")


def csv_line(cells: Iterable[object]) -> str:
    """One line of CSV (RFC 4180) with its line break. Lists become JSON, None becomes an empty cell."""
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerow([_cell(cell) for cell in cells])
    return out.getvalue()


def _cell(value: object) -> object:
    """Put an apostrophe before what a spreadsheet could run as a formula. Numbers stay as they are."""
    if isinstance(value, list):
        value = json.dumps(value) if value else ""
    return _FORMULA.sub(r"\1'", value) if isinstance(value, str) else value


def unquoted(cell: str) -> str:
    """The text whose cell this is: the opposite of the apostrophes of `csv_line`.

    A cell that begins with an apostrophe and a tab or a line break may stand for two texts: the shorter is returned.
    """
    found = _FORMULA_CELL.sub(r"\1", cell)
    return found if _cell(found) == cell else cell


# Rows of a CSV file that people fill in by hand, with the columns that its reader names.


class RowError(WordedError, ValueError):
    """What is wrong with a file or a row, as a sentence."""


@dataclass(frozen=True)
class CsvRow:
    """One row. `line` is the line of the file on which it ends, beginning with 1."""

    line: int
    cells: dict[str, str]

    def text(self, column: str) -> str:
        """The text of a cell, without the apostrophe that protects from formulas. Empty where the column is missing."""
        return unquoted(self.cells.get(column, "")).strip()


def csv_rows(lines: Iterator[str], columns: Sequence[str]) -> list[CsvRow]:
    """Read all rows. Other columns than `columns` may be there too.

    Raises RowError if the file has none of the separators `,` `;` and tab, lacks one of `columns`, or is not valid CSV.
    """
    first = next(lines, "").removeprefix("\ufeff")
    separator = max(",;\t", key=first.count)
    reader = csv_reading.DictReader(chain([first], lines), delimiter=separator, restval="")
    rows = []
    try:
        missing = [column for column in columns if column not in (reader.fieldnames or [])]
        if missing:
            names = ", ".join(f"“{column}”" for column in missing)
            raise RowError("The first line has no column {names}. It must name: {columns}.", names, ", ".join(columns))
        for cells in reader:
            rows.append(CsvRow(reader.line_num, {name: cell for name, cell in cells.items() if isinstance(cell, str)}))
    except csv_reading.Error as error:
        raise RowError("Line {number} is not CSV: {error}.", reader.line_num, error) from None
    return rows


# A person's decisions as a CSV file: one row for each.


DECISION: Final = "decision"
"""The column with the decision. Rows without one are left out."""


class DecisionRow(CsvRow):
    """One decision."""

    def offset(self, column: str) -> int:
        """A position in code points. Raises RowError."""
        found = whole_number(self.text(column), MAX_OFFSET)
        if found is None:
            raise RowError(
                "The column “{name}” has “{text}” instead of a whole number.", column, self.text(column)[:40]
            )
        return found
