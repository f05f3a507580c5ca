"""Read a patient master from CSV: columns by their usual names in English, Spanish and Italian."""

import io
import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Final

from annotations.formats.files import csv_reading
from annotations.release.rules.known.folding import folded
from annotations.release.rules.known.master import Master, MasterError, Problem, is_keepable
from annotations.release.rules.known.person import FIELDS, MasterPerson

_NAMES: Final = Path(__file__).with_name("data") / "columns.txt"
_DELIMITERS: Final = ",;\t|"
# Values in one cell, in fields that hold several. A name's comma separates its parts.
_SEVERAL: Final = frozenset({"phones", "emails", "records", "insurance", "ids", "national_ids", "relatives", "zips"})
_ISO: Final = re.compile(r"(\d{4})[-/.]?(\d{2})[-/.]?(\d{2})(?:[T ].*)?")
_NUMERIC: Final = re.compile(r"(\d{1,2})[-/. ](\d{1,2})[-/. ](\d{4}|\d{2})")


def read_csv(data: bytes, *, month_first: bool = False) -> Master:
    """Read a CSV file. `month_first`: how a date such as 03/04/1970 is read if no other date of the column decides.

    Raises MasterError where the file is no CSV with a column of patient ids and another known column.
    """
    text, encoding = _decoded(data)
    header = text.split("\n", 1)[0]
    delimiter = max(_DELIMITERS, key=header.count)
    master = Master(delimiter=delimiter, encoding=encoding)
    try:
        rows = list(csv_reading.reader(io.StringIO(text), delimiter=delimiter))
    except csv_reading.Error:
        raise MasterError("The file can't be read as CSV. Check its quotation marks.") from None
    if not rows:
        raise MasterError("The file is empty.")
    fields = [_field_of(name) for name in rows[0]]
    if "patient_id" not in fields:
        raise MasterError("The first line names no column of patient IDs. Name this column “patient_id”.")
    id_at = fields.index("patient_id")
    fields = [field if field != "patient_id" or at == id_at else None for at, field in enumerate(fields)]
    master.columns = {name.strip(): field for name, field in zip(rows[0], fields, strict=True) if field}
    master.unknown = [name.strip() for name, field in zip(rows[0], fields, strict=True) if not field and name.strip()]
    if len([field for field in fields if field]) < 2:
        raise MasterError(
            "The file has no other column with a known name beside the patient IDs. Check the first line."
        )
    orders = {at: _order(rows[1:], at, month_first) for at, field in enumerate(fields) if field == "birth_dates"}
    for number, row in enumerate(rows[1:], 2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) > len(fields) and any(cell.strip() for cell in row[len(fields) :]):
            master.rows += 1
            master.problems.append(Problem(number, "", "cells"))
            continue
        master.add(
            row[id_at] if id_at < len(row) else "", _person(master, rows[0], fields, orders, row, number), number
        )
    return master


def _person(
    master: Master,
    names: Sequence[str],
    fields: Sequence[str | None],
    orders: dict[int, bool],
    row: Sequence[str],
    number: int,
) -> MasterPerson:
    found: dict[str, list[str]] = {}
    for at, (field, cell) in enumerate(zip(fields, row, strict=False)):
        if field is None or field == "patient_id":
            continue
        for value in _values(field, cell):
            if not is_keepable(value):
                master.problems.append(Problem(number, names[at].strip(), "value"))
                continue
            if field == "birth_dates":
                day = iso_day(value, month_first=orders[at])
                if day is None:
                    master.problems.append(Problem(number, names[at].strip(), "date"))
                    continue
                value = day
            found.setdefault(field, []).append(value)
    # Several columns of given names are the parts of one: "first name" and "middle name".
    if len(found.get("given", [])) > 1:
        found["given"] = [" ".join(found["given"])]
    return MasterPerson(**{name: tuple(dict.fromkeys(found[name])) for name in FIELDS if name in found})


def _values(field: str, cell: str) -> Iterator[str]:
    parts = re.split(r"[;|\n]|,(?!\s)|,\s+(?=[+\d])" if field != "relatives" else r"[;|\n]", cell)
    for part in parts if field in _SEVERAL else [cell]:
        value = " ".join(part.split())
        if value:
            yield value


@cache
def _fields() -> dict[str, str]:
    """The field of each usual name of a column."""
    lines = [line for line in _NAMES.read_text(encoding="utf-8").split("\n") if not line.startswith("#")]
    entries = re.sub("\n ", " ", "\n".join(lines)).strip().split("\n")
    pairs = [entry.partition(": ") for entry in entries]
    return {name: field for field, _colon, names in pairs for name in names.split(", ")}


def _field_of(name: str) -> str | None:
    words = folded(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " "))
    bare = re.sub(r" ?\d+$", "", words)
    return _fields().get(words) or _fields().get(bare)


def _decoded(data: bytes) -> tuple[str, str]:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        candidates: tuple[str, ...] = ("utf-16",)
    else:
        candidates = ("utf-8-sig", "cp1252", "latin-1")
    for encoding in candidates:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" in text:
            break
        return text.replace("\r\n", "\n").replace("\r", "\n"), encoding.removesuffix("-sig")
    raise MasterError("The file is not text. Save the table as CSV in UTF-8.")


def _order(rows: Sequence[Sequence[str]], at: int, month_first: bool) -> bool:
    """Whether the dates of a column have the month first, as their numbers above 12 show."""
    for row in rows:
        found = _NUMERIC.fullmatch(row[at].strip()) if at < len(row) else None
        if found and int(found[1]) > 12:
            return False
        if found and int(found[2]) > 12:
            return True
    return month_first


def iso_day(value: str, *, month_first: bool) -> str | None:
    """A date as an ISO date; None where it is none. A year of two digits is the last such year before 2030."""
    iso = _ISO.fullmatch(value)
    if iso is not None:
        year, month, day = map(int, iso.groups())
    elif (found := _NUMERIC.fullmatch(value)) is not None:
        first, second, year = map(int, found.groups())
        month, day = (first, second) if month_first else (second, first)
        if len(found[3]) == 2:
            year += 2000 if year < 30 else 1900
    else:
        return None
    try:
        return date(year, month, day).isoformat() if 1800 < year < 2200 else None
    except ValueError:
        return None
