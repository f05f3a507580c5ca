"""Published tables as data: what a row names, what a column measures, and what is misprinted."""

from dataclasses import dataclass
from typing import Final

SUBCATEGORY: Final = "subcategory"
CATEGORY: Final = "category"
BINARY: Final = "binary"


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
class Row:
    """One printed row: who reached the figures, and by which embeddings, grouping and training.

    `figures` has one value per column; None stands where the source prints none. `note` names a misprint or a doubt.
    `headline` marks the row that stands for its table where there is room for one figure only.
    """

    figures: tuple[float | None, ...]
    system: str = ""
    embeddings: str = ""
    grouping: str = ""
    training: str = ""
    label: str = ""
    note: str = ""
    headline: bool = False

    @property
    def name(self) -> str:
        """All that the row is labeled with, for example “Bi-LSTM + CRF · MultiBPEmb + Flair multi fast · EN-IT”."""
        return " · ".join(
            part for part in (self.system, self.embeddings, self.grouping, self.training, self.label) if part
        )


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
    shown with `digits` after the point, as printed, and counts without. Raises ValueError for a row that has not one
    figure per column.
    """

    source: str
    title: str
    corpus: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    row_head: str = "System"
    notes: tuple[str, ...] = ()
    digits: int = 4

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.figures) != len(self.columns):
                raise ValueError(f"{self.source}, row {row.name}: {len(row.figures)} of {len(self.columns)} figures.")

    @property
    def lines(self) -> list[Line]:
        """The rows as shown."""
        numbers = {note: number for number, note in enumerate(self.footnotes, 1)}
        return [
            Line(row.name, tuple(self._shown(value) for value in row.figures), numbers.get(row.note, 0))
            for row in self.rows
        ]

    @property
    def footnotes(self) -> list[str]:
        """The distinct notes on rows, numbered from 1 by `lines`."""
        return list(dict.fromkeys(row.note for row in self.rows if row.note))

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


def measured(unit: str, level: str, *measures: str) -> tuple[Column, ...]:
    """Return one column for each measure of a unit and level."""
    return tuple(Column(measure, unit, level) for measure in measures)


RATES: Final = ("precision", "recall", "F1")
SIX_LEVELS: Final = tuple(
    Column("F1", unit, level) for unit in ("entity", "token") for level in (SUBCATEGORY, CATEGORY, BINARY)
)
