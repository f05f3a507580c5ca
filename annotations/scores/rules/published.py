"""Published figures of other systems on other corpora, as printed, for orientation only.

Each file of `data` holds the tables of one source or a part of it. Every number was copied from the text of the source;
tables whose text is incomplete are left out, or say what they lack. A row is its name, followed by one figure per
column, or “–” where the source prints none. `pages` lists the pages that show a table; a table without pages is of an
experiment that the app can't repeat yet, and docs/sources.md says what is missing.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_DATA: Final = Path(__file__).parent / "data"
# The order of the sources on each page.
_FILES: Final = ("xu", "miranda", "catelli_corpora", "catelli", "salierno", "singh")
_COUNTED: Final = "counted in the rewritten text"


@dataclass(frozen=True, slots=True)
class Column:
    """What the figures of a column measure, in the words of the source.

    `unit` is what is counted (entity, token, note …) and `level` how labels are told apart; both are "" if the source
    doesn't say.
    """

    measure: str
    unit: str = ""
    level: str = ""

    @property
    def name(self) -> str:
        """The heading of the column, for example “entity, category: F1”."""
        where = ", ".join(part for part in (self.unit, self.level) if part)
        return f"{where}: {self.measure}" if where else self.measure


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """One printed row, named after its system, embeddings, grouping, training and label.

    `figures` has one value per column; None stands where the source prints none.
    """

    name: str
    figures: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Footnote:
    """A misprint or a doubt about some rows of a table, which it names."""

    text: str
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A row as shown: its name, its figures, and the number of its footnote, 0 without one."""

    name: str
    cells: tuple[str, ...]
    footnote: int


@dataclass(frozen=True, slots=True)
class Table:
    """A published table. `source` is cited as in `docs/references.md`; `row_head` says what the rows are.

    `notes` hold for the whole table: misprints, contradictions, and what our copy of the source lacks. Figures are
    shown with `digits` after the point, as printed, and counts without. `headline` names the row that stands for the
    table where there is room for one figure only.
    """

    source: str
    title: str
    corpus: str
    columns: tuple[Column, ...]
    rows: tuple[PrintedRow, ...]
    row_head: str = "System"
    notes: tuple[str, ...] = ()
    footnotes: tuple[Footnote, ...] = ()
    digits: int = 4
    headline: str = ""
    pages: tuple[str, ...] = ()

    @property
    def lines(self) -> list[Line]:
        """The rows as shown. Footnotes are numbered from 1."""
        numbers = {name: number for number, footnote in enumerate(self.footnotes, 1) for name in footnote.rows}
        return [
            Line(row.name, tuple(self._shown(value) for value in row.figures), numbers.get(row.name, 0))
            for row in self.rows
        ]

    def _shown(self, value: float | None) -> str:
        if value is None:
            return "–"
        return (f"{value:,}" if isinstance(value, int) else f"{value:,.{self.digits}f}").replace("-", "−")


@dataclass(frozen=True, slots=True)
class Headline:
    """One published F1 with its corpus and the name of its row."""

    value: float
    corpus: str
    name: str


def _table(read: dict[str, Any]) -> Table:
    """Make a table of what TOML holds of it."""
    made = read | {
        "columns": [Column(*column) for column in read["columns"]],
        "rows": [
            PrintedRow(name, tuple(None if value == "–" else value for value in values))
            for name, *values in read["rows"]
        ],
        "footnotes": [Footnote(one["text"], tuple(one["rows"])) for one in read.get("footnotes", ())],
    }
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in made.items()}
    return Table(**fields)


ALL: Final = tuple(
    _table(read)
    for name in _FILES
    for read in tomllib.loads((_DATA / f"{name}.toml").read_text(encoding="utf-8"))["table"]
)
# What each page shows. "rewritten" is for scores of the rewritten text, by counting and by judges.
ON_PAGE: Final[Mapping[str, tuple[Table, ...]]] = {
    page: tuple(table for table in ALL if page in table.pages) for page in {page for one in ALL for page in one.pages}
}
# F1 of rewritten text by model and label.
(REWRITTEN,) = ON_PAGE["rewritten"]


def headlines(unit: str, level: str) -> list[Headline]:
    """Return the F1 of each headline row at a level, in the order of the sources."""
    return [
        Headline(value, table.corpus, row.name)
        for table in ALL
        for row in table.rows
        if row.name == table.headline
        for column, value in zip(table.columns, row.figures, strict=True)
        if (column.unit, column.level, column.measure) == (unit, level, "F1") and value is not None
    ]


def counted_f1() -> dict[str, dict[str, float]]:
    """The F1 of each model by label, counted in the rewritten text, as far as the source gives it."""
    return {
        row.name: {
            column.level: value
            for column, value in zip(REWRITTEN.columns, row.figures, strict=True)
            if column.unit == _COUNTED and value is not None
        }
        for row in REWRITTEN.rows
    }


COUNTED_LABELS: Final = tuple(
    column.level
    for column in REWRITTEN.columns
    if column.unit == _COUNTED and any(column.level in found for found in counted_f1().values())
)
