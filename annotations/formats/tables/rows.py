"""Rows of a table of spans: what the columns mean, and the rows to write."""

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final, Self

from annotations.formats.notes import NoteError, Problem
from annotations.text.names import shown

COLUMNS: Final = ("note", "start", "end", "label", "text")
"""The columns of every table that we write; the columns of attributes follow."""

_OTHER_NAMES: Final = {
    "note": ("document", "doc", "file", "filename"),
    "start": ("begin", "start_offset", "start_char"),
    "end": ("stop", "end_offset", "end_char"),
    "label": ("type", "entity", "tag"),
    "text": ("quote", "span", "mention"),
}
"""Names that other programs give to the columns, for tables without a column of our name."""

_REQUIRED: Final = COLUMNS[:4]
_SHOWN: Final = 200
_IN_MEMORY: Final = 8 * 1024 * 1024

Cells = Sequence[object]
"""The cells of a row: texts, or in a workbook also numbers, truth values and dates."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row with its line and its cells by column. Attributes are cells that are not empty, by name of the column."""

    line: int
    note: str
    start: object
    end: object
    label: str
    text: object
    attributes: Mapping[str, object]

    @property
    def is_mark(self) -> bool:
        """Whether the row only says that the note is annotated."""
        return self.start in (None, "") and self.end in (None, "") and not self.label


class Columns:
    """The columns of a table, by the cells of its first row."""

    def __init__(self, header: Cells) -> None:
        self._names = [as_word(cell) for cell in header]
        folded = [name.strip().casefold() for name in self._names]
        self._at: dict[str, int] = {}
        for column in COLUMNS:
            found = next((name for name in (column, *_OTHER_NAMES[column]) if name in folded), None)
            if found is not None:
                self._at[column] = folded.index(found)
        taken = set(self._at.values())
        self._attributes = [(at, name) for at, name in enumerate(self._names) if at not in taken and name]

    @property
    def fit(self) -> bool:
        """Whether the table has all columns that are needed."""
        return all(column in self._at for column in _REQUIRED)

    def check(self, file: str, line: int) -> None:
        """Raise NoteError unless the table has all columns that are needed, and each name once."""
        named = [name for name in self._names if name]
        if self.fit and len(set(named)) == len(named):
            return
        listed = shown(", ".join(named))[:_SHOWN] or "none"
        message = f"The columns of the table are {listed}. Expected: {', '.join(COLUMNS)}, and each name once."
        raise NoteError([Problem(file, line, "header", message)])

    def row(self, line: int, cells: Cells) -> TableRow | None:
        """The row of some cells; None if all are empty."""
        if not any(cell not in (None, "") for cell in cells):
            return None

        def cell(column: str) -> object:
            at = self._at.get(column, len(cells))
            return cells[at] if at < len(cells) else None

        attributes = {
            name: cells[at] for at, name in self._attributes if at < len(cells) and cells[at] not in (None, "")
        }
        note, label = as_word(cell("note")), as_word(cell("label"))
        return TableRow(line, note, cell("start"), cell("end"), label, cell("text"), attributes)


def as_word(cell: object) -> str:
    """The text of a cell; a workbook may hold numbers where we wrote digits."""
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return "" if cell is None else str(cell)


class _Lines:
    """Values put aside as lines of JSON: in memory, or on disk if there are many."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - __exit__ closes it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _put(self, value: object) -> None:
        self._file.write(json.dumps(value).encode() + b"\n")

    def _all(self) -> Iterator[Any]:
        self._file.seek(0)
        return (json.loads(line.decode()) for line in self._file)


class RowStore(_Lines):
    """Rows that were read."""

    def add(self, row: TableRow) -> None:
        """Add a row."""
        self._put([row.line, row.note, row.start, row.end, row.label, row.text, dict(row.attributes)])

    def rows(self) -> Iterator[TableRow]:
        """All rows in their order."""
        return (TableRow(*values) for values in self._all())


class Spool(_Lines):
    """Rows to write, put aside until the columns of all attributes are known."""

    def __init__(self) -> None:
        super().__init__()
        self._names: dict[str, None] = {}

    def add(self, cells: Iterable[object], attributes: Mapping[str, str]) -> None:
        """Add a row with cells for COLUMNS."""
        self._names |= dict.fromkeys(attributes)
        self._put([list(cells), dict(attributes)])

    def rows(self) -> Iterator[list[object]]:
        """The header, and all rows with a cell for each column."""
        yield [*COLUMNS, *self._names]
        for cells, attributes in self._all():
            yield [*cells, *(attributes.get(name, "") for name in self._names)]
