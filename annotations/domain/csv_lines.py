"""CSV as every part of the product writes it: all cells quoted, and none that a spreadsheet would run as a formula."""

import csv
import io
import json
import re
from collections.abc import Iterable
from typing import Final

_STARTS: Final = "=+\\-@＝＋－＠"
# At the start, and after what a spreadsheet may part cells at whatever the file says: it reads `;` in much of Europe.
_FORMULA: Final = re.compile(rf"""(^|[;,|\t\r\n])(?=["'\s]*[{_STARTS}])|^(?=[\t\r\n])""")


def csv_line(cells: Iterable[object]) -> str:
    """One line of RFC 4180, with its end. Lists become JSON, None an empty cell."""
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerow([_cell(cell) for cell in cells])
    return out.getvalue()


def _cell(value: object) -> object:
    """An apostrophe keeps text text: names are anybody's. Numbers stay as they are."""
    if isinstance(value, list):
        value = json.dumps(value) if value else ""
    return _FORMULA.sub(r"\1'", value) if isinstance(value, str) else value
