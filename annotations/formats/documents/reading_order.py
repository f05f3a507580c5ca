"""The reading order of the lines of a page: columns of prose one after another, tables row by row.

pdfminer.six groups lines into boxes by distance, and tears rows of tables and forms apart. Here a page is divided into
bands (lines that overlap in height). Bands that have a gap in common at the same place are columns: of prose if their
lines are long and fill them, else of a table.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

# Lines overlap in height if they share at least this part of the lower one.
_SHARED: Final = 0.35
# The least gap between columns (points). Words of one line are put together before.
_GAP: Final = 3.0
# What tells columns of prose from those of a table: several lines are long and fill the column.
_CHARACTERS: Final = 20
_FILLED: Final = 0.8
_FULL_LINES: Final = 2
_FULL_SHARE: Final = 0.4
# A gap between lines above this part of their height begins a new block: with double spacing it is smaller.
_BLOCK: Final = 1.1


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text and its box. `bottom` and `top` grow upwards (points)."""

    left: float
    bottom: float
    right: float
    top: float
    text: str

    @property
    def height(self) -> float:
        return self.top - self.bottom


def page_text(lines: Sequence[Line]) -> str:
    """The text of a page: an empty line between blocks, tabs between the cells of a row."""
    pieces: list[str] = []
    before: Line | None = None
    for line in _ordered(lines):
        if before is not None:
            gap = before.bottom - line.top
            # The next column begins above the end of the one before.
            apart = gap > _BLOCK * min(before.height, line.height) or line.bottom > before.top
            pieces.append("\n\n" if apart else "\n")
        pieces.append(line.text)
        before = line
    return "".join(pieces)


def _ordered(lines: Sequence[Line]) -> Iterator[Line]:
    bands = _bands(lines)
    at = 0
    while at < len(bands):
        run = list(bands[at])
        end = at + 1
        columns = _columns(run)
        while len(columns) > 1 and end < len(bands):
            wider = _columns(run + bands[end])
            if len(wider) < 2:
                break
            run, columns, end = run + bands[end], wider, end + 1
        if len(columns) > 1 and all(map(_is_prose, columns)):
            for column in columns:
                yield from _ordered(column)
        else:
            for band in bands[at:end]:
                yield _row(band)
        at = end


def _bands(lines: Sequence[Line]) -> list[list[Line]]:
    """Lines that overlap in height, from top to bottom."""
    bands: list[list[Line]] = []
    bottom = 0.0
    for line in sorted(lines, key=lambda each: (-each.top, each.left)):
        if bands and line.top - bottom > _SHARED * min(line.height, bands[-1][-1].height):
            bands[-1].append(line)
            bottom = min(bottom, line.bottom)
        else:
            bands.append([line])
            bottom = line.bottom
    return bands


def _columns(lines: Sequence[Line]) -> list[list[Line]]:
    """Lines that overlap in width, from left to right."""
    columns: list[list[Line]] = []
    right = 0.0
    for line in sorted(lines, key=lambda each: each.left):
        if columns and line.left - right < _GAP:
            columns[-1].append(line)
            right = max(right, line.right)
        else:
            columns.append([line])
            right = line.right
    return columns


def _is_prose(column: Sequence[Line]) -> bool:
    width = max(line.right for line in column) - min(line.left for line in column)
    full = sum(len(line.text) >= _CHARACTERS and line.right - line.left >= _FILLED * width for line in column)
    return full >= max(_FULL_LINES, _FULL_SHARE * len(column))


def _row(band: Sequence[Line]) -> Line:
    """One line with the cells of a row; a cell of several lines becomes one."""
    cells = [sorted(cell, key=lambda each: (-each.top, each.left)) for cell in _columns(band)]
    return Line(
        min(line.left for line in band),
        min(line.bottom for line in band),
        max(line.right for line in band),
        max(line.top for line in band),
        "\t".join(" ".join(line.text for line in cell) for cell in cells),
    )
