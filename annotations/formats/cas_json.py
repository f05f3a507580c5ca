"""UIMA CAS JSON 0.4, the JSON of INCEpTION and other UIMA tools: `NAME.json`, one file for each note.

`%TYPES` are the types, `%FEATURE_STRUCTURES` the text (a Sofa) and the annotations, and `%VIEWS` say which annotations
belong to a text. Keys with `@` refer to others by their ids. Offsets count UTF-16 code units, as Java does.

Source: https://github.com/apache/uima-uimaj-io-jsoncas, SPECIFICATION.adoc.
"""

import json
import re
from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import Any, Final

from annotations.formats.base import Files, Loss, NoteFiles, OutNote, split_names
from annotations.formats.cas import INITIAL_VIEW, Cas, CasAnnotation, CasReading, Sofa
from annotations.formats.files.json_records import json_records
from annotations.formats.files.strict_json import JsonError
from annotations.formats.notes import NoteError, Problem, check_name
from annotations.formats.type_system import TypeSystem, written_types
from annotations.formats.uima import (
    METADATA,
    SENTENCE,
    Layer,
    entities,
    feature_types,
    is_structure,
    offsets_of,
    whole_sentences,
)
from annotations.text.labels import LabelSetDef

_TYPES, _STRUCTURES, _VIEWS = "%TYPES", "%FEATURE_STRUCTURES", "%VIEWS"
_ID, _TYPE = "%ID", "%TYPE"
_NAME, _SUPER_TYPE, _RANGE = "%NAME", "%SUPER_TYPE", "%RANGE"
_SOFA: Final = "uima.cas.Sofa"
_IDENTITY: Final = re.compile(rf'"{_ID}"\s*:\s*([0-9]{{1,18}})'.encode())


class CasJsonFormat(CasReading):
    """Reads and writes UIMA CAS JSON. Spans are written as annotations of `layer`."""

    name = "cas-json"

    def __init__(self, layer: Layer | None = None) -> None:
        self._layer = layer or Layer()

    def claims(self, name: str, head: bytes) -> bool:
        """See `Format.claims`."""
        keys = (_TYPES, _STRUCTURES, _VIEWS)
        return name.lower().endswith(".json") and any(f'"{key}"'.encode() in head for key in keys)

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        """See `Format.group`."""
        notes, problems = split_names(names, ["json"])
        return [NoteFiles(name, parts) for name, parts in sorted(notes.items())], problems

    def cas(self, note: NoteFiles, files: Files) -> Cas:
        """See `CasReading.cas`."""
        return _read(note, files)

    def write(self, note: OutNote, labels: Mapping[str, str]) -> tuple[dict[str, bytes], list[Loss]]:
        """See `Format.write`."""
        name, text = check_name(note.name), note.text
        found, losses = entities(note, labels, self._layer)
        units, boxes = offsets_of(text), feature_types(found)
        sofa = {"sofaNum": 1, "sofaID": INITIAL_VIEW, "mimeType": "text", "sofaString": text}
        annotations: list[tuple[str, int, int, dict[str, object]]] = [
            (METADATA, 0, len(text), {"documentTitle": name, "documentId": name})
        ]
        annotations += [(SENTENCE, start, end, {}) for start, end in whole_sentences(text, found)]
        for entity in found:
            features: dict[str, object] = {self._layer.label: entity.code}
            features |= {feature: boxes[feature] or word for feature, word in entity.features.items()}
            annotations.append((self._layer.type, entity.start, entity.end, features))
        lines = [_line({_ID: 1, _TYPE: _SOFA} | sofa)]
        lines += [
            _line({_ID: number, _TYPE: kind, "@sofa": 1, "begin": units(start), "end": units(end)} | features)
            for number, (kind, start, end, features) in enumerate(annotations, 2)
        ]
        views = {INITIAL_VIEW: {"%SOFA": 1, "%MEMBERS": list(range(2, 1 + len(lines)))}}
        joined = ",\n".join(lines)
        whole = (
            f'{{"{_TYPES}":{_line(_types(written_types(boxes, self._layer)))},\n'
            f'"{_STRUCTURES}":[\n{joined}\n],\n"{_VIEWS}":{_line(views)}}}\n'
        )
        return {f"{name}.json": whole.encode()}, losses

    def extra_files(self, labels: LabelSetDef) -> dict[str, bytes]:
        """See `Format.extra_files`. This format has none: each file has its types."""
        return {}


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _types(types: TypeSystem) -> dict[str, dict[str, Any]]:
    return {
        name: {_NAME: name, _SUPER_TYPE: above}
        | {feature: {_NAME: feature, _RANGE: kind} for feature, kind in types.features[name].items()}
        for name, above in types.supertypes.items()
    }


def _read(note: NoteFiles, files: Files) -> Cas:
    """The content of the file of a note. Raises NoteError."""
    file = note.parts["json"]
    data = files.load(file)
    records = json_records(BytesIO(data))
    line, content = next(records, (1, None))
    if isinstance(content, JsonError):
        raise NoteError([Problem(file, line, "json", f"{content}")])
    content = content if isinstance(content, dict) else {}
    structures = content.get(_STRUCTURES)
    if isinstance(structures, dict):  # by id
        structures = [{_ID: identity} | each for identity, each in structures.items() if isinstance(each, dict)]
    if not isinstance(structures, list):
        message = f"The file is not a UIMA CAS in JSON. Expected: an object with the list “{_STRUCTURES}”."
        raise NoteError([Problem(file, line, "format", message)])
    for line, _ in records:
        message = "The file goes on after the UIMA CAS. Expected: one object. Remove what follows."
        raise NoteError([Problem(file, line, "format", message)])
    cas = Cas(file, _read_types(content.get(_TYPES)))
    lines = _lines_by_id(data)
    for number, each in enumerate(structures, 1):
        if not isinstance(each, dict) or not isinstance(each.get(_TYPE), str):
            message = f"Item {number} of “{_STRUCTURES}” is not valid. Expected: an object with “{_TYPE}”."
            raise NoteError([Problem(file, line, "record", message)])
        _add(cas, each, lines)
    views = content.get(_VIEWS)
    for view in views.values() if isinstance(views, dict) else ():
        members = view.get("%MEMBERS") if isinstance(view, dict) else None
        if isinstance(members, list):
            cas.members.setdefault(str(view.get("%SOFA")), set()).update(map(str, members))
    return cas


def _lines_by_id(data: bytes) -> dict[str, int]:
    """The line (1-based) of each feature structure in a list, by its id."""
    found: dict[str, int] = {}
    line, before = 1, 0
    for match in _IDENTITY.finditer(data):
        line += data.count(b"\n", before, match.start())
        before = match.start()
        found[match[1].decode()] = line
    return found


def _read_types(value: object) -> TypeSystem:
    types = TypeSystem()
    for name, given in value.items() if isinstance(value, dict) else ():
        if not isinstance(given, dict):
            continue
        above = given.get(_SUPER_TYPE)
        types.supertypes[name] = above if isinstance(above, str) else ""
        types.features[name] = {
            feature: str(kind.get(_RANGE))
            for feature, kind in given.items()
            if isinstance(kind, dict) and not feature.startswith("%")
        }
    return types


def _add(cas: Cas, given: Mapping[str, Any], lines: Mapping[str, int]) -> None:
    """Add a feature structure. Keys have marks: `@` for references, `#` for special numbers, `^` for offsets.

    `lines` are those of the structures by id.
    """
    identity, layer = str(given.get(_ID)), given[_TYPE]
    if layer == _SOFA:
        text, view = given.get("sofaString"), given.get("sofaID")
        location = given.get("sofaURI") or given.get("@sofaArray") or ""
        cas.sofas[identity] = Sofa(str(view), text if isinstance(text, str) else None, str(location))
        return
    if is_structure(layer):
        return
    plain = {key.lstrip("#^"): value for key, value in given.items() if key[:1] not in ("%", "@")}
    if "begin" not in plain or "end" not in plain:
        return
    start, end = plain.pop("begin"), plain.pop("end")
    values = {name: _word(value) for name, value in plain.items() if isinstance(value, str | int | float)}
    others = [key[1:] for key, value in given.items() if key[:1] == "@" and key != "@sofa" and value is not None]
    others += [name for name, value in plain.items() if isinstance(value, list | dict)]
    line = lines.get(identity, 1)
    cas.add(CasAnnotation(identity, layer, str(given.get("@sofa")), start, end, line, values, tuple(sorted(others))))


def _word(value: str | float) -> str:
    """A value as a word; check boxes are “true” or “false”."""
    return str(value).lower() if isinstance(value, bool) else str(value)
