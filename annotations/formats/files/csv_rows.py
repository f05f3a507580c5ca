"""Rows of a CSV file that people fill in by hand, with the columns that its reader names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from annotations.formats.files.csv_lines import unquoted
from annotations.formats.files.csv_reading import DictReader, Error


class RowError(ValueError):
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

    Raises RowError where the file has none of the separators `,` `;` and tab, lacks one of `columns`, or is no CSV.
    """
    first = next(lines, "").removeprefix("\ufeff")
    separator = max(",;\t", key=first.count)
    reader = DictReader(_with(first, lines), delimiter=separator, restval="")
    rows = []
    try:
        missing = [column for column in columns if column not in (reader.fieldnames or [])]
        if missing:
            names = ", ".join(f"“{column}”" for column in missing)
            raise RowError(f"The first line has no column {names}. It must name: {', '.join(columns)}.")
        for cells in reader:
            rows.append(CsvRow(reader.line_num, {name: cell for name, cell in cells.items() if isinstance(cell, str)}))
    except Error as error:
        raise RowError(f"Line {reader.line_num} is not CSV: {error}.") from None
    return rows


def _with(first: str, lines: Iterator[str]) -> Iterator[str]:
    yield first
    yield from lines
