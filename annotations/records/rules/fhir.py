"""JSON Schemas of FHIR resources, made from a table of elements with a rule for each (fhir_types.txt)."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

VERSION: Final = "4.3.0"
RESOURCES: Final = (
    "Patient", "Encounter", "Observation", "Condition", "MedicationRequest", "MedicationStatement", "DiagnosticReport",
    "DocumentReference", "Bundle",
)  # fmt: skip
_DEFAULTS: Final = "@"
_TYPES: Final = {
    "boolean": "boolean", "decimal": "number", "integer": "integer", "positiveInt": "integer", "unsignedInt": "integer",
}  # fmt: skip
_REMOVED: Final = {"rule": "remove"}
_EVERYWHERE: Final = ("id", "extension", "modifierExtension")
_OF_RESOURCES: Final = {
    **dict.fromkeys(("text", "contained", "implicitRules", "extension", "modifierExtension"), _REMOVED),
    "language": {"type": "string", "fhir": "code", "rule": "pass"},
}
_ABOUT: Final = {"Patient": ["/id"], "Bundle": []}


def fhir_schema(resource: str) -> dict[str, Any]:
    """The schema of a resource type. `absent` names the required elements, which `data-absent-reason` can replace.

    Whether an output is valid is for fhir.resources to say, so the schema leaves out what FHIR requires.
    """
    used: dict[str, dict[str, Any]] = {}
    root = _object(resource, used)
    root["properties"] |= _OF_RESOURCES
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "dataType": resource,
        "recordVersion": VERSION,
        "description": f"FHIR R4 {resource}",
        "fhir": True,
        "patient": _ABOUT.get(resource, ["/subject/reference", "/patient/reference"]),
        **root,
        "$defs": dict(sorted(used.items())),
    }


def _object(name: str, used: dict[str, dict[str, Any]]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required = []
    for word in _table()[name]:
        element, _colon, rest = word.partition(":")
        typed, _equals, rule = rest.partition("=")
        kind = typed.rstrip("*!")
        if "!" in typed:
            required.append(element)
        part = _leaf(kind, rule) if kind not in _table() else {"$ref": f"#/$defs/{kind}"}
        properties[element] = {"type": "array", "items": part} if "*" in typed else part
        if kind in _table() and kind not in used:
            used[kind] = {}
            used[kind] |= _object(kind, used)
            used[kind]["properties"] |= dict.fromkeys(_EVERYWHERE, _REMOVED)
    return {"type": "object", "properties": properties, "absent": required}


def _leaf(kind: str, rule: str) -> dict[str, Any]:
    rule = rule or _defaults()[kind]
    if kind in ("Resource", "Signature"):
        return {"type": "object", "rule": rule}
    return {"type": _TYPES.get(kind, "string"), "fhir": kind, "rule": rule}


@cache
def _defaults() -> dict[str, str]:
    return dict(word.split("=") for word in _table()[_DEFAULTS])


@cache
def _table() -> dict[str, list[str]]:
    return {words[0]: words[1:] for words in _lines()}


def _lines() -> Iterator[list[str]]:
    words: list[str] = []
    for line in Path(__file__).with_name("fhir_types.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        if not line.startswith(" ") and words:
            yield words
            words = []
        words += line.split()
    yield words
