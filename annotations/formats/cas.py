"""The content of a UIMA CAS, whether in XMI or in JSON: texts (sofas), annotations, and the views that have them.

dkpro-cassis 0.12, with which the tests compare this, doesn't do the work: it compiles the names of features in a file
to Python (`class` is a syntax error), expands entities, refuses or drops layers without a type, keeps offsets that are
not in the text, stops at the first fault without its line, and takes 2 to 6 times as long for 200 notes.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, Final

from annotations.formats import uima
from annotations.formats.base import Files, Format, LabelFinder, NoteFiles
from annotations.formats.files.json_files import JsonError, json_records
from annotations.formats.notes import Loss, NoteError, OutNote, ParsedNote, Problem, check_name, check_text
from annotations.text.wording import gettext as _

INITIAL_VIEW: Final = "_InitialView"

_RELATIONS: Final = ({"Governor", "Dependent"}, {"referenceType"}, {"referenceRelation"})


@dataclass(slots=True)
class Sofa:
    """The text of a view; None if the file doesn't hold it. The location of data elsewhere."""

    view: str
    text: str | None
    location: str = ""


@dataclass(slots=True)
class CasAnnotation:
    """An annotation: its layer, offsets as in the file, values of features as words, and names of other features."""

    identity: str
    layer: str
    sofa: str
    start: object
    end: object
    line: int | None
    values: dict[str, str]
    others: tuple[str, ...] = ()


@dataclass(slots=True)
class Cas:
    """What a file holds. `members` are the ids of the annotations in the views, by sofa; `lines` those of layers."""

    file: str
    types: uima.TypeSystem = field(default_factory=uima.TypeSystem)
    sofas: dict[str, Sofa] = field(default_factory=dict)
    found: list[CasAnnotation] = field(default_factory=list)
    members: dict[str, set[str]] = field(default_factory=dict)
    others: dict[str, int | None] = field(default_factory=dict)
    """Layers that are not imported, and the line of the first annotation of each."""

    def add(self, found: CasAnnotation) -> None:
        """Add an annotation. Of layers that are not imported, only the first line is kept."""
        if uima.is_span_layer(found.layer):
            self.found.append(found)
        else:
            self.others.setdefault(found.layer, found.line)

    def note(self, name: str, find_label: LabelFinder) -> ParsedNote:
        """The note. Raises NoteError with all problems."""
        sofa, text = self._chosen()
        taker = uima.LayerTaker(text, self.file, find_label)
        views = sum(each.text is not None for each in self.sofas.values())
        if views > 1:
            taker.not_kept(
                _(
                    "The file has {views} texts (views). Only the view “{view}” is imported.",
                    *(views, self.sofas[sofa].view),
                )
            )
        members = self.members.get(sofa)
        layers = self._layers()
        for found in self.found:
            known = layers[found.layer]
            if found.sofa != sofa:
                if found.sofa not in self.sofas:
                    message = _("The annotation belongs to no text. Expected: “sofa” with the id of a Sofa.")
                    taker.refuse("sofa", message, found.line)
            elif members is not None and found.identity not in members:
                taker.not_kept(_("Annotations that are not members of their view are not imported."), found.line)
            elif any(features <= {*known, *found.others} for features in _RELATIONS):
                taker.not_kept(uima.relations_not_kept(found.layer), found.line)
            elif str(found.start) == str(found.end):
                taker.not_kept(_(uima.NO_CHARACTERS), found.line)
            else:
                for feature in [*found.others, *(name for name in found.values if not known.get(name, True))]:
                    taker.not_kept(uima.feature_not_kept(found.layer, feature), found.line)
                features = [name for name, is_value in known.items() if is_value]
                values = {name: value for name, value in found.values.items() if known.get(name, True)}
                taker.take_annotation(found.layer, features, values, found.start, found.end, line=found.line)
        for layer, line in self.others.items():
            taker.not_kept(uima.layer_not_kept(layer), line)
        return taker.note(name)

    def _chosen(self) -> tuple[str, str]:
        """The id and the text of the sofa that is the note: that of the initial view, or the first one with a text."""
        with_text = sorted(
            (sofa.view != INITIAL_VIEW, number, identity)
            for number, (identity, sofa) in enumerate(self.sofas.items())
            if sofa.text is not None
        )
        if with_text:
            identity = with_text[0][2]
            return identity, check_text(self.sofas[identity].text or "", self.file)
        if self.sofas and not any(sofa.location for sofa in self.sofas.values()):
            return next(iter(self.sofas)), ""
        message = _("The file holds no text. Expected: a Sofa with the text in “sofaString”.")
        raise NoteError([Problem(self.file, 1, "no text", message)])

    def _layers(self) -> dict[str, dict[str, bool]]:
        """For each layer its features, and whether each holds a value. Without types, all that its annotations have."""
        layers: dict[str, dict[str, bool]] = {}
        typed: set[str] = set()
        for found in self.found:
            if found.layer not in layers:
                layers[found.layer] = self.types.features_of(found.layer)
                if layers[found.layer]:
                    typed.add(found.layer)
            if found.layer not in typed:
                layers[found.layer].update(dict.fromkeys(found.values, True))
        return layers


class CasFormat(Format, ABC):
    """A format for a CAS: each of its files has one note. Spans are written as annotations of `layer`."""

    options = frozenset({"layer"})
    layer = uima.Layer()

    @abstractmethod
    def cas(self, note: NoteFiles, files: Files) -> Cas:
        """The content of the file of a note. Raises NoteError."""

    def read(self, note: NoteFiles, files: Files, find_label: LabelFinder) -> ParsedNote:
        return self.cas(note, files).note(note.name, find_label)


# UIMA CAS JSON 0.4, the JSON of INCEpTION and other UIMA tools: `NAME.json`, one file for each note.
#
# `%TYPES` are the types, `%FEATURE_STRUCTURES` the text (a Sofa) and the annotations, and `%VIEWS` say which
# annotations belong to a text. Keys with `@` refer to others by their ids. Offsets count UTF-16 code units, as Java
# does.
#
# Source: https://github.com/apache/uima-uimaj-io-jsoncas, SPECIFICATION.adoc.


_TYPES, _STRUCTURES, _VIEWS = "%TYPES", "%FEATURE_STRUCTURES", "%VIEWS"
_ID, _TYPE = "%ID", "%TYPE"
_NAME, _SUPER_TYPE, _RANGE = "%NAME", "%SUPER_TYPE", "%RANGE"
_SOFA: Final = "uima.cas.Sofa"
_IDENTITY: Final = re.compile(rf'"{_ID}"\s*:\s*([0-9]{{1,18}})'.encode())


class CasJsonFormat(CasFormat):
    """Reads and writes UIMA CAS JSON."""

    name = "cas-json"
    endings = ("json",)
    claim = re.compile(f'"(?:{_TYPES}|{_STRUCTURES}|{_VIEWS})"'.encode())

    def cas(self, note: NoteFiles, files: Files) -> Cas:
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
            message = _("The file is not a UIMA CAS in JSON. Expected: an object with the list “{field}”.", _STRUCTURES)
            raise NoteError([Problem(file, line, "format", message)])
        for line, _more in records:
            message = _("The file goes on after the UIMA CAS. Expected: one object. Remove what follows.")
            raise NoteError([Problem(file, line, "format", message)])
        cas = Cas(file, _read_types(content.get(_TYPES)))
        lines = _lines_by_id(data)
        for number, each in enumerate(structures, 1):
            if not isinstance(each, dict) or not isinstance(each.get(_TYPE), str):
                message = _(
                    "Item {number} of “{structures}” is not valid. Expected: an object with “{type}”.",
                    *(number, _STRUCTURES, _TYPE),
                )
                raise NoteError([Problem(file, line, "record", message)])
            _add(cas, each, lines)
        views = content.get(_VIEWS)
        for view in views.values() if isinstance(views, dict) else ():
            members = view.get("%MEMBERS") if isinstance(view, dict) else None
            if isinstance(members, list):
                cas.members.setdefault(str(view.get("%SOFA")), set()).update(map(str, members))
        return cas

    def write(self, note: OutNote, labels: Mapping[str, str]) -> tuple[dict[str, bytes], list[Loss]]:
        name = check_name(note.name)
        found, losses = uima.entities(note, labels, self.layer)
        boxes = uima.feature_types(found)
        sofa = {"sofaNum": 1, "sofaID": INITIAL_VIEW, "mimeType": "text", "sofaString": note.text}
        lines = [_line({_ID: 1, _TYPE: _SOFA} | sofa)]
        for number, (kind, start, end, words) in enumerate(uima.written_annotations(note, found, self.layer), 2):
            is_entity = kind == self.layer.type
            features = {feature: (is_entity and boxes.get(feature)) or word for feature, word in words.items()}
            lines.append(_line({_ID: number, _TYPE: kind, "@sofa": 1, "begin": start, "end": end} | features))
        views = {INITIAL_VIEW: {"%SOFA": 1, "%MEMBERS": list(range(2, 1 + len(lines)))}}
        joined = ",\n".join(lines)
        whole = (
            f'{{"{_TYPES}":{_line(_types(uima.written_types(boxes, self.layer)))},\n'
            f'"{_STRUCTURES}":[\n{joined}\n],\n"{_VIEWS}":{_line(views)}}}\n'
        )
        return {f"{name}.json": whole.encode()}, losses


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _types(types: uima.TypeSystem) -> dict[str, dict[str, Any]]:
    return {
        name: {_NAME: name, _SUPER_TYPE: above}
        | {feature: {_NAME: feature, _RANGE: kind} for feature, kind in types.features[name].items()}
        for name, above in types.supertypes.items()
    }


def _lines_by_id(data: bytes) -> dict[str, int]:
    """The line (1-based) of each feature structure in a list, by its id."""
    found: dict[str, int] = {}
    line, before = 1, 0
    for match in _IDENTITY.finditer(data):
        line += data.count(b"\n", before, match.start())
        before = match.start()
        found[match[1].decode()] = line
    return found


def _read_types(value: object) -> uima.TypeSystem:
    types = uima.TypeSystem()
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
    if uima.is_structure(layer):
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
