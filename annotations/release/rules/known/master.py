"""A patient master as it is read from a file: people by patient id, and what could not be read."""

import io
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Final

from annotations.formats.files import csv_reading
from annotations.release.rules.known.person import FIELDS, MasterPerson
from annotations.release.rules.known.reading import folded
from annotations.text.names import unkeepable
from annotations.text.search import lines_of
from annotations.text.wording import WordedError
from annotations.text.wording import gettext as _

# The longest patient id, and the longest value of a field, in code points.
LONGEST_ID: Final = 80
LONGEST_VALUE: Final = 400
# The most values of one field of a person. Looking for more would make every note of the patient slow.
MOST_VALUES: Final = 100


class MasterError(WordedError, ValueError):
    """A file that is not a patient master. The message is a sentence that names columns or lines, never a value."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a row: its number in the file, from 1, the column or field, and a code of PROBLEMS."""

    row: int
    column: str
    code: str


@dataclass
class Master:
    """What a file holds. `rows`: rows or resources read; `columns`: the field of each column or, for FHIR, element.

    `unknown` are columns whose names say nothing; their values are not kept.
    """

    people: dict[str, MasterPerson] = field(default_factory=dict)
    rows: int = 0
    columns: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    delimiter: str = ""
    encoding: str = ""

    def add(self, patient: str, person: MasterPerson, row: int) -> None:
        """Add a row. Several rows of one patient are put together."""
        self.rows += 1
        patient = patient.strip()
        if not patient:
            self.problems.append(Problem(row, "patient_id", "no id"))
        elif len(patient) > LONGEST_ID or unkeepable(patient):
            self.problems.append(Problem(row, "patient_id", "bad id"))
        else:
            known = self.people.get(patient)
            self.people[patient] = self._kept(together(known, person) if known else person, row)

    def _kept(self, person: MasterPerson, row: int) -> MasterPerson:
        """The person without values that can't be kept, each field with at most MOST_VALUES of them."""
        less: dict[str, tuple[str, ...]] = {}
        for name in FIELDS:
            values: tuple[str, ...] = getattr(person, name)
            good = tuple(value for value in values if is_keepable(value))
            if len(good) < len(values):
                self.problems.append(Problem(row, name, "value"))
            if len(good) > MOST_VALUES:
                self.problems.append(Problem(row, name, "many"))
            if len(values) > len(good) or len(good) > MOST_VALUES:
                less[name] = good[:MOST_VALUES]
        return replace(person, **less) if less else person


def is_keepable(value: str) -> bool:
    """Whether a value is short enough and text."""
    return len(value) <= LONGEST_VALUE and not unkeepable(value)


def together(one: MasterPerson, other: MasterPerson) -> MasterPerson:
    """Both people's values, without repetitions."""
    joined = {name: tuple(dict.fromkeys((*getattr(one, name), *getattr(other, name)))) for name in FIELDS}
    return replace(one, **joined)


# Read a patient master from CSV: columns by their usual names in English, Spanish and Italian.


_NAMES: Final = Path(__file__).with_name("data") / "columns.txt"
_DELIMITERS: Final = ",;\t|"
# Values in one cell, in fields that hold several. A name's comma separates its parts.
_SEVERAL: Final = frozenset({"phones", "emails", "records", "insurance", "ids", "national_ids", "relatives", "zips"})
_ISO: Final = re.compile(r"(\d{4})[-/.]?(\d{2})[-/.]?(\d{2})(?:[T ].*)?")
_NUMERIC: Final = re.compile(r"(\d{1,2})[-/. ](\d{1,2})[-/. ](\d{4}|\d{2})")


def read_csv(data: bytes, *, month_first: bool = False) -> Master:
    """Read a CSV file. `month_first`: how a date such as 03/04/1970 is read if no other date of the column decides.

    Raises MasterError where the file is not valid CSV with a column of patient ids and another known column.
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
        message = _("The file has no other column with a known name beside the patient IDs. Check the first line.")
        raise MasterError(message)
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
    for at, (column, cell) in enumerate(zip(fields, row, strict=False)):
        if column is None or column == "patient_id":
            continue
        for value in _values(column, cell):
            if not is_keepable(value):
                master.problems.append(Problem(number, names[at].strip(), "value"))
                continue
            if column == "birth_dates":
                day = iso_day(value, month_first=orders[at])
                if day is None:
                    master.problems.append(Problem(number, names[at].strip(), "date"))
                    continue
                value = day
            found.setdefault(column, []).append(value)
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
    entries = re.sub("\n ", " ", "\n".join(lines_of(_NAMES))).split("\n")
    pairs = [entry.partition(": ") for entry in entries]
    return {name: field for field, _colon, names in pairs for name in names.split(", ")}


def _field_of(name: str) -> str | None:
    words = folded(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " "))
    bare = re.sub(r" ?\d+$", "", words)
    return _fields().get(words) or _fields().get(bare)


def _decoded(data: bytes) -> tuple[str, str]:
    marked = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    for encoding in ("utf-16",) if marked else ("utf-8-sig", "cp1252", "latin-1"):
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


# Read people from FHIR Patient resources (HL7 FHIR R4B, resource Patient) that have been validated.


# Types of identifiers (HL7 table 0203) and the field of each; all others are other ids.
_TYPES: Final = {
    **dict.fromkeys(("MR", "MRT", "PI", "PT", "ANON"), "records"),
    **dict.fromkeys(("SS", "NI", "NNESP", "NNITA", "TAX", "PPN", "CZ", "NIIP", "SB"), "national_ids"),
    **dict.fromkeys(("MB", "HC", "MC", "MA", "SN", "NH", "JHN", "NPI", "PNT"), "insurance"),
}
_SYSTEMS: Final = {"email": "emails", **dict.fromkeys(("phone", "fax", "sms", "pager"), "phones")}
_MOTHERS: Final = "humanname-mothers-family"
_FATHERS: Final = "humanname-fathers-family"


def resources(data: bytes) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The Patient resources of a file, with their numbers from 1: one resource, a Bundle, or one resource a line.

    Raises MasterError for a file that is none of these.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise MasterError("The file is not UTF-8, as FHIR requires.") from None
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):  # the latter for thousands of levels
        yield from _lines(text)
        return
    found = [entry.get("resource") for entry in _dicts(whole, "entry")] if _type(whole) == "Bundle" else [whole]
    patients = [each for each in found if _type(each) == "Patient"]
    if not patients:
        raise MasterError("The file has no FHIR Patient resource.")
    yield from enumerate(patients, 1)


def _lines(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    seen = False
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            raise MasterError("Line {n} is not valid JSON. The file must be FHIR JSON or NDJSON.", number) from None
        if _type(found) == "Patient":
            seen = True
            yield number, found
    if not seen:
        raise MasterError("The file has no FHIR Patient resource.")


def _type(value: Any) -> str:
    return str(value.get("resourceType", "")) if isinstance(value, dict) else ""


def _dicts(value: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = value.get(key)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def person_of(resource: Mapping[str, Any], patients: Collection[str]) -> tuple[str, MasterPerson]:
    """The patient id and the person of a valid Patient resource.

    The patient id is the resource's id, or the value of an identifier that is among `patients`, the ids of notes.
    """
    values: dict[str, list[str]] = {}

    def add(field: str, value: object) -> None:
        if isinstance(value, str) and value.strip():
            values.setdefault(field, []).append(" ".join(value.split()))

    for name in _dicts(resource, "name"):
        extensions = _dicts(name.get("_family") or {}, "extension")  # they tell both surnames apart
        parts = {str(each.get("url")).rsplit("/", 1)[-1]: each.get("valueString") for each in extensions}
        given, family, text = _given(name), name.get("family"), (name.get("text") or "").split()
        add("given", given or (" ".join(text[:1]) if not family else ""))
        add("family", parts.get(_FATHERS) or family or (" ".join(text[1:]) if not given else ""))
        add("second_family", parts.get(_MOTHERS))
    add("birth_dates", resource.get("birthDate"))
    add("sex", resource.get("gender"))
    numbers = [str(resource.get("id") or "")]
    for identifier in _dicts(resource, "identifier"):
        codes = [each.get("code") for each in _dicts(identifier.get("type") or {}, "coding")]
        add(next((_TYPES[code] for code in codes if code in _TYPES), "ids"), identifier.get("value"))
        numbers.append(identifier.get("value") or "")
    contacts = _dicts(resource, "contact")
    for telecom in [each for one in (resource, *contacts) for each in _dicts(one, "telecom")]:
        add(_SYSTEMS.get(telecom.get("system", ""), "ids"), telecom.get("value"))
    for address in _dicts(resource, "address"):
        for line in address.get("line") or []:
            add("streets", line)
        add("zips", address.get("postalCode"))
        add("cities", address.get("city"))
    for name in [contact.get("name") or {} for contact in contacts]:
        add("relatives", f"{_given(name)} {name.get('family') or ''}".strip() or name.get("text"))
    patient = next((each for each in numbers if each in patients), numbers[0])
    return patient, MasterPerson(**{field: tuple(dict.fromkeys(found)) for field, found in values.items()})


def _given(name: Mapping[str, Any]) -> str:
    """The given names of a name; where an extension stands in place of one, the list has null."""
    return " ".join(filter(None, name.get("given") or []))
