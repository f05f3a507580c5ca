"""Read people from FHIR Patient resources (HL7 FHIR R4B, resource Patient) that have been validated."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from annotations.release.rules.known.master import MasterError
from annotations.release.rules.known.person import MasterPerson

# Types of identifiers (HL7 table 0203) and the field of each; all others are other ids.
_TYPES: Final = {
    **dict.fromkeys(("MR", "MRT", "PI", "PT", "ANON"), "records"),
    **dict.fromkeys(("SS", "NI", "NNESP", "NNITA", "TAX", "PPN", "CZ", "NIIP", "SB"), "national_ids"),
    **dict.fromkeys(("MB", "HC", "MC", "MA", "SN", "NH", "JHN", "NPI", "PNT"), "insurance"),
}
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
            raise MasterError(f"Line {number} is no JSON. The file must be FHIR JSON or NDJSON.") from None
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
        _add_name(add, name)
    add("birth_dates", resource.get("birthDate"))
    add("sex", resource.get("gender"))
    numbers = [str(resource.get("id") or "")]
    for identifier in _dicts(resource, "identifier"):
        add(_field_of(identifier), identifier.get("value"))
        numbers.append(str(identifier.get("value") or ""))
    contacts = _dicts(resource, "contact")
    for telecom in [each for one in (resource, *contacts) for each in _dicts(one, "telecom")]:
        system = telecom.get("system")
        add(
            "emails" if system == "email" else "phones" if system in ("phone", "fax", "sms", "pager") else "ids",
            telecom.get("value"),
        )
    for address in _dicts(resource, "address"):
        for line in address.get("line") or []:
            add("streets", line)
        add("zips", address.get("postalCode"))
        add("cities", address.get("city"))
    for contact in contacts:
        add("relatives", _full(contact.get("name")))
    patient = next((each for each in numbers if each in patients), numbers[0])
    return patient, MasterPerson(**{field: tuple(dict.fromkeys(found)) for field, found in values.items()})


def _add_name(add: Any, name: Mapping[str, Any]) -> None:
    given = " ".join(each for each in name.get("given") or [] if isinstance(each, str))
    family, parts = name.get("family"), _family_parts(name)
    add("given", given)
    add("family", parts.get(_FATHERS) or family)
    add("second_family", parts.get(_MOTHERS))
    if not given and not family:
        text = str(name.get("text") or "").split()
        add("given", " ".join(text[:1]))
        add("family", " ".join(text[1:]))


def _family_parts(name: Mapping[str, Any]) -> dict[str, str]:
    """Both surnames, where the extensions of the family name tell them apart."""
    element = name.get("_family")
    extensions = _dicts(element, "extension") if isinstance(element, dict) else []
    return {str(each.get("url", "")).rsplit("/", 1)[-1]: str(each.get("valueString") or "") for each in extensions}


def _full(name: object) -> str:
    if not isinstance(name, dict):
        return ""
    given: Sequence[str] = name.get("given") or []
    return " ".join([*given, name.get("family") or ""]).strip() or str(name.get("text") or "")


def _field_of(identifier: Mapping[str, Any]) -> str:
    kind = identifier.get("type")
    codes = [str(each.get("code", "")) for each in _dicts(kind, "coding")] if isinstance(kind, dict) else []
    return next((_TYPES[code] for code in codes if code in _TYPES), "ids")
