"""JSON with one object for each note: doccano, Prodigy, and PubAnnotation, which is only read.

doccano writes JSON lines of sequence labeling projects: `{"text": ..., "label": [[start, end, label], ...]}`. Projects
with relations export `{"text": ..., "entities": [{"id", "label", "start_offset", "end_offset"}, ...], "relations":
[...], "Comments": [...]}`. Fields that doccano does not know are kept as metadata and exported again, as is the name of
the note. Source: https://github.com/doccano/doccano/tree/master/backend (data_export/pipeline and
data_import/pipeline/label.py). Offsets count UTF-16 code units: doccano stores the offsets of its browser code, which
counts with JavaScript's `String.length` (https://github.com/doccano/v-annotator, src/domain/models/Label/Text.ts, and
https://github.com/doccano/doccano/issues/2290). Scripts that prepare files often count code points or bytes: offsets
are read so if only then all spans of a note begin and end with words. Projects that count grapheme clusters as one
character are not supported: their files look the same.

Prodigy writes `{"text": ..., "spans": [{"start", "end", "label"}, ...], "meta": {...}, "answer": "accept"}`. Source:
https://prodi.gy/docs/api-interfaces (the interfaces ner_manual and spans_manual). Offsets count code points: Prodigy's
recipes make tokens and spans with spaCy, in Python. The name of the note is in `meta`, and attributes are in a field of
their own of each span; Prodigy keeps both. The spans of an accepted task are taken, and those of a task without answer,
which is input for Prodigy. A rejected or ignored task gives a note without annotations.

PubAnnotation (also of TextAE) has one object for each note, in JSON lines, in an array or alone: `{"text",
"denotations": [{"id", "span": {"begin", "end"}, "obj"}], "attributes": [{"subj", "pred", "obj"}], "relations",
"sourcedb", "sourceid", "divid"}`; a span may be a list of pieces. Offsets count code points, as PubAnnotation is
written in Ruby. Source: https://www.pubannotation.org/docs/annotation-format/.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from annotations.formats import json_notes
from annotations.formats.base import LabelFinder, lost_attributes
from annotations.formats.json_notes import JsonFormat, JsonReader, Record, attributes_in, items_in, name_in, text_in
from annotations.formats.notes import Loss, OutNote, ParsedNote
from annotations.formats.quotes import OffsetUnit, likely_unit
from annotations.formats.span_rules import SpanTaker, given_spans
from annotations.text.characters import Utf16
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop

_RELATIONS: Final = {"relations": gettext_noop("Relations are not imported.")}
_WHOLE: Final = gettext_noop("Labels of whole notes are not imported.")


_DOCCANO_SPANS: Final = ("label", "labels", "entities", "annotations")
_DOCCANO_LOST: Final = _RELATIONS | {"Comments": gettext_noop("Comments are not imported."), "cats": _WHOLE}
_OFFSETS: Final = "offsets"
"""The field that says what offsets count, in records that we write and that leave it open."""
_DOCCANO_KNOWN: Final = {
    *("id", "text", "name", _OFFSETS, "filename", "file_name", "annotation_approver"),
    *_DOCCANO_SPANS,
}
_DOCCANO_SPAN: Final = gettext_noop("[start, end, label], or an object with “start_offset”, “end_offset” and “label”")
_DOCCANO: Final = re.compile(rb'"labels?"\s*:\s*\[\s*[\[\]]|"start_offset"\s*:|"Comments"\s*:\s*\[')


class DoccanoFormat(JsonFormat):
    """Reads and writes the JSON lines of doccano."""

    name = "doccano"
    file = "doccano.jsonl"

    def claims(self, name: str, head: bytes) -> bool:
        ours = super().claims(name, head) and b'"text"' in head
        return ours and b'"spans"' not in head and bool(_DOCCANO.search(head))

    def note_in(self, record: Record, name: str, file: str, line: int, find_label: LabelFinder) -> ParsedNote:
        text = text_in(record.get("text"), file, line)
        # Records that we write say so if their offsets could be taken for others.
        found = json_notes.valid_items(record, _DOCCANO_SPANS, _doccano_span)
        given = [] if record.get(_OFFSETS) == OffsetUnit.UTF16 else [each[:2] for each in found]
        taker, offset = json_notes.unquoted_taker(text, given, OffsetUnit.UTF16, file, line, find_label)
        has_spans = False
        for field in _DOCCANO_SPANS:
            items = record.get(field)
            if isinstance(items, list) and items and all(isinstance(item, str) for item in items):
                taker.not_kept(_(_WHOLE))
                continue
            has_spans = has_spans or items is not None
            for start, end, label in items_in(record, field, taker, _doccano_span, _DOCCANO_SPAN):
                taker.take(label, offset(start), offset(end))
        json_notes.not_imported(record, _DOCCANO_LOST, _DOCCANO_KNOWN, taker)
        note = taker.note(name_in(record, name, taker))
        if not has_spans:
            note.spans = None
        return note

    def record_of(self, note: OutNote, labels: Mapping[str, str]) -> tuple[Record, list[Loss]]:
        spans, losses = given_spans(note, labels)
        units = Utf16(note.text).units
        given = [(units(span.start), units(span.end), code) for span, code in spans]
        record: dict[str, object] = {"name": note.name, "text": note.text, "label": given}
        if likely_unit(note.text, [(start, end) for start, end, _code in given], OffsetUnit.UTF16) != (
            OffsetUnit.UTF16,
            0,
        ):
            record[_OFFSETS] = OffsetUnit.UTF16
        return record, losses + lost_attributes(note)


def _doccano_span(item: Any) -> tuple[object, object, object] | None:
    """The start, the end and the label of a span."""
    if isinstance(item, list) and len(item) >= 3:
        return item[0], item[1], item[2]
    if isinstance(item, dict) and {"start_offset", "end_offset", "label"} <= item.keys():
        return item["start_offset"], item["end_offset"], item["label"]
    return None


_ACCEPTED: Final = "accept"
_PRODIGY_LOST: Final = _RELATIONS | {
    "label": _WHOLE,
    "accept": gettext_noop("Choices of whole notes are not imported."),
}
# What Prodigy adds to tasks by itself: hashes, sessions, settings and tokens.
_PRODIGY_KNOWN: Final = {"text", "spans", "tokens", "meta", "answer", "options", "config", "head", "versions"}
_PRODIGY: Final = re.compile(rb'"spans"\s*:\s*\[|"_(?:input|task)_hash"\s*:|"answer"\s*:\s*"(?:accept|reject|ignore)"')


class ProdigyFormat(JsonFormat):
    """Reads and writes the JSON lines of Prodigy."""

    name = "prodigy"
    file = "prodigy.jsonl"

    def claims(self, name: str, head: bytes) -> bool:
        ours = super().claims(name, head)
        return ours and b'"text"' in head and bool(_PRODIGY.search(head))

    def note_in(self, record: Record, name: str, file: str, line: int, find_label: LabelFinder) -> ParsedNote:
        taker = SpanTaker(text_in(record.get("text"), file, line), file, find_label, line=line)
        taken = _is_taken(record)
        if taken:
            expected = gettext_noop("an object with “start”, “end” and “label”")
            for item in items_in(record, "spans", taker, _prodigy_span, expected):
                quote, attributes = item.get("text"), attributes_in(item.get("attributes"), taker)
                taker.take(
                    item["label"],
                    item["start"],
                    item["end"],
                    quote=quote if isinstance(quote, str) else None,
                    attributes=attributes,
                    confidence=json_notes.confidence_in(item.get("score")),
                )
        else:
            taker.not_kept(_("The spans are not imported, because the answer is not “accept”."))
        others = {field: value for field, value in record.items() if not field.startswith("_")}
        json_notes.not_imported(others, _PRODIGY_LOST, _PRODIGY_KNOWN, taker)
        meta = record.get("meta")
        note = taker.note(name_in(meta if isinstance(meta, dict) else {}, name, taker))
        if not taken or (record.get("answer") is None and record.get("spans") is None):
            note.spans = None
        return note

    def record_of(self, note: OutNote, labels: Mapping[str, str]) -> tuple[Record, list[Loss]]:
        spans, losses = given_spans(note, labels)
        given = []
        for span, code in spans:
            item: dict[str, Any] = {"start": span.start, "end": span.end, "label": code}
            if span.attributes:
                item["attributes"] = dict(span.attributes)
            if span.confidence is not None:
                item["score"] = span.confidence
            given.append(item)
        return {"text": note.text, "spans": given, "meta": {"name": note.name}, "answer": _ACCEPTED}, losses


def _is_taken(record: Record) -> bool:
    return record.get("answer") in (None, _ACCEPTED)


def _prodigy_span(item: object) -> Record | None:
    return item if isinstance(item, dict) and {"start", "end", "label"} <= item.keys() else None


_NAMES: Final = ("sourcedb", "sourceid", "divid")
_PUBANNOTATION_LOST: Final = _RELATIONS | {
    "modifications": gettext_noop("Modifications are not imported."),
    "typesettings": gettext_noop("Typesettings are not imported."),
}
_PUBANNOTATION_KNOWN: Final = {
    *("text", "target", "project", "track", "tracks", "namespaces", "config", "denotations", "blocks", "attributes"),
    *("name", *_NAMES),
}
_DENOTATIONS: Final = ("denotations", "blocks")
_DENOTATION: Final = gettext_noop("an object with “span” (“begin” and “end”) and “obj”")


class PubannotationFormat(JsonReader):
    """Reads the JSON of PubAnnotation."""

    name = "pubannotation"

    def claims(self, name: str, head: bytes) -> bool:
        return super().claims(name, head) and b'"text"' in head and b'"denotations"' in head

    def note_in(self, record: Record, name: str, file: str, line: int, find_label: LabelFinder) -> ParsedNote:
        text = text_in(record.get("text"), file, line)
        given = [
            piece
            for _id, _label, pieces in json_notes.valid_items(record, _DENOTATIONS, _denotation)
            for piece in pieces
        ]
        taker, offset = json_notes.unquoted_taker(text, given, OffsetUnit.POINTS, file, line, find_label)
        attributes: dict[str, dict[str, Any]] = defaultdict(dict)
        for item in items_in(record, "attributes", taker, lambda item: item if isinstance(item, dict) else {}, ""):
            if isinstance(item.get("subj"), str) and isinstance(item.get("pred"), str):
                attributes[item["subj"]][item["pred"]] = item.get("obj")
        for field in _DENOTATIONS:
            for identity, label, pieces in items_in(record, field, taker, _denotation, _DENOTATION):
                bounds = [(offset(start), offset(end)) for start, end in pieces]
                taker.take_pieces(label, bounds, attributes=attributes_in(attributes.get(identity), taker))
        json_notes.not_imported(record, _PUBANNOTATION_LOST, _PUBANNOTATION_KNOWN, taker)
        source = "-".join(str(record[each]) for each in _NAMES if isinstance(record.get(each), str | int))
        return taker.note(name_in(record if record.get("name") else {"name": source}, name, taker))


_Denotation = tuple[str, object, list[tuple[object, object]]]
"""The id, the label and the pieces of a span."""


def _denotation(item: Any) -> _Denotation | None:
    if not isinstance(item, dict) or "obj" not in item:
        return None
    span = item.get("span")
    pieces: list[Any] = span if isinstance(span, list) and span else [span]
    if not all(isinstance(piece, dict) and {"begin", "end"} <= piece.keys() for piece in pieces):
        return None
    return str(item.get("id")), item["obj"], [(piece["begin"], piece["end"]) for piece in pieces]
