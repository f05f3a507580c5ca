"""Read the text of a schema file: JSON, or the spelling of Singh et al. 2025, listing 1, which is repaired.

Listing 1 is an assignment in Python whose object lacks a comma. What is repaired is reported by line, and a person
reviews the result like any other schema.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from annotations.records.rules.schemas import SchemaError
from annotations.text.wording import gettext as _

_ASSIGNMENT: Final = re.compile(r"\A\s*[A-Za-z_]\w*\s*=\s*(?=\{)")
_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_LITERALS: Final = {"True": "true", "False": "false", "None": "null"}
_LITERAL: Final = re.compile(r"\b(True|False|None)\b")
# A value at the end of a line, and a name at the beginning of the next one.
_NO_COMMA: Final = re.compile(r'(["\d\}\]el])(?=[ \t]*\n\s*"(?:[^"\\\n]|\\.)*"\s*:)')
_COMMA_TOO_MANY: Final = re.compile(r",(?=\s*[\}\]])")


@dataclass(frozen=True)
class SchemaText:
    """A schema as it was read, and a sentence for each repair."""

    schema: dict[str, Any]
    repairs: list[str]


def read_schema(text: str) -> SchemaText:
    """Read a schema file. Raises SchemaError, which names the line, if no repair makes it JSON."""
    repairs: list[str] = []
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        repaired = _repaired(text, repairs)
        try:
            value = json.loads(repaired)
        except json.JSONDecodeError as error:
            message = _("The file is not JSON: {fault} in line {number}. Correct this line.", error.msg, error.lineno)
            raise SchemaError("", message) from None
    except RecursionError:
        raise SchemaError("", "The file is nested too deeply.") from None
    if not isinstance(value, dict):
        raise SchemaError("", "The file is not a JSON object. A schema begins with “{”.")
    if "patient" not in value and isinstance(value.get("properties"), dict):
        for name in value["properties"]:
            if name.replace("_", "").casefold() == "patientid":
                value["patient"] = f"/{name}"
                repairs.append(_("The field “{name}” was taken for the id of the patient.", name))
                break
    _without_brackets(value, "", repairs)
    return SchemaText(value, repairs)


def _without_brackets(part: Any, path: str, repairs: list[str]) -> None:
    """Write the label of a field without the brackets of its placeholder."""
    if isinstance(part, list):
        part = dict(enumerate(part))
    if not isinstance(part, dict):
        return
    entity = part.get("entity_type")
    if isinstance(entity, str) and entity.startswith("["):
        part["entity_type"] = entity.strip("[] ")
        repairs.append(_("{path}: the brackets of “{entity}” were removed.", path, entity))
    for name, inner in part.items():
        _without_brackets(inner, path if name in ("properties", "items") else f"{path}/{name}", repairs)


def _repaired(text: str, repairs: list[str]) -> str:
    if match := _ASSIGNMENT.match(text):
        repairs.append(
            _("Line {number}: the assignment before the object was removed.", match[0].rstrip().count(chr(10)) + 1)
        )
        text = "\n" * match[0].count("\n") + text[match.end() :]
    parts = []
    for at, part, is_string in _parts(text):
        if not is_string:
            for found in _LITERAL.finditer(part):
                line = text.count("\n", 0, at + found.start()) + 1
                repairs.append(_("Line {number}: {word} was read as {literal}.", line, found[0], _LITERALS[found[0]]))
            part = _LITERAL.sub(lambda found: _LITERALS[found[0]], part)
        parts.append(part)
    text = "".join(parts)
    for found in _NO_COMMA.finditer(text):
        repairs.append(_("Line {number}: a missing comma was added.", text.count(chr(10), 0, found.start()) + 1))
    text = _NO_COMMA.sub(r"\1,", text)
    for found in _COMMA_TOO_MANY.finditer(text):
        repairs.append(_("Line {n}: a comma before a bracket was removed.", text.count(chr(10), 0, found.start()) + 1))
    return _COMMA_TOO_MANY.sub("", text)


def _parts(text: str) -> Iterator[tuple[int, str, bool]]:
    """The text in parts, each with its offset and whether it is a string of JSON."""
    done = 0
    for match in _STRING.finditer(text):
        yield done, text[done : match.start()], False
        yield match.start(), match[0], True
        done = match.end()
    yield done, text[done:], False
