"""CSV lines for all exports: every cell is quoted, and no cell can be run as a formula by a spreadsheet."""

import csv
import io
import json
import re
from collections.abc import Iterable
from typing import Final

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
