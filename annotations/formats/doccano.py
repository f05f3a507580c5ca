"""doccano JSON lines of sequence labeling projects: `{"text": ..., "label": [[start, end, label], ...]}`.

Projects with relations export `{"text": ..., "entities": [{"id", "label", "start_offset", "end_offset"}, ...],
"relations": [...], "Comments": [...]}`. Fields that doccano does not know are kept as metadata and exported again, as
is the name of the note. Source: https://github.com/doccano/doccano/tree/master/backend (data_export/pipeline and
data_import/pipeline/label.py).

Offsets count UTF-16 code units: doccano stores the offsets of its browser code, which counts with JavaScript's
`String.length` (https://github.com/doccano/v-annotator, src/domain/models/Label/Text.ts, and
https://github.com/doccano/doccano/issues/2290). Scripts that prepare files often count code points or bytes: offsets
are read so if only then all spans of a note begin and end with words. Projects that count grapheme clusters as one
character are not supported: their files look the same.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from annotations.formats.base import LabelFinder, lost_attributes
from annotations.formats.json_notes import (
    JsonFormat,
    Record,
    bad_item,
    items_in,
    name_in,
    others_not_kept,
    text_in,
    unquoted_taker,
)
from annotations.formats.notes import Loss, OutNote, ParsedNote
from annotations.formats.quotes import OffsetUnit, likely_unit
from annotations.formats.span_rules import given_spans
from annotations.text.characters import Utf16

_SPANS: Final = ("label", "labels", "entities", "annotations")
_NOT_IMPORTED: Final = {
    "relations": "Relations are not imported.",
    "Comments": "Comments are not imported.",
    "cats": "Labels of whole notes are not imported.",
}
_OFFSETS: Final = "offsets"
"""The field that says what offsets count, in records that we write and that leave it open."""
_KNOWN: Final = {
    "id",
    "text",
    "name",
    _OFFSETS,
    "filename",
    "file_name",
    "annotation_approver",
    *_SPANS,
    *_NOT_IMPORTED,
}
_EXPECTED: Final = "[start, end, label], or an object with “start_offset”, “end_offset” and “label”"
_CLAIM: Final = re.compile(rb'"labels?"\s*:\s*\[\s*[\[\]]|"start_offset"\s*:|"Comments"\s*:\s*\[')


class DoccanoFormat(JsonFormat):
    """Reads and writes the JSON lines of doccano."""

    name = "doccano"
    file = "doccano.jsonl"

    def claims(self, name: str, head: bytes) -> bool:
        """See `Format.claims`."""
        ours = name.lower().endswith((".jsonl", ".json", ".ndjson")) and b'"text"' in head
        return ours and b'"spans"' not in head and bool(_CLAIM.search(head))

    def note_in(self, record: Record, name: str, file: str, line: int, find_label: LabelFinder) -> ParsedNote:
        """See `JsonFormat.note_in`."""
        text = text_in(record.get("text"), "text", file, line)
        # Records that we write say so if their offsets could be taken for others.
        given = [] if record.get(_OFFSETS) == OffsetUnit.UTF16 else [each[:2] for each in _spans_in(record)]
        taker, offset = unquoted_taker(text, given, OffsetUnit.UTF16, file, find_label, line)
        has_spans = False
        for field in _SPANS:
            items = items_in(record, field, taker, line)
            if items and all(isinstance(item, str) for item in items):
                taker.not_kept(_NOT_IMPORTED["cats"], line)
                continue
            has_spans = has_spans or record.get(field) is not None
            for item in items:
                if found := _span(item):
                    start, end, label = found
                    taker.take(label, offset(start), offset(end), line=line)
                else:
                    bad_item(item, field, _EXPECTED, taker, line)
        for field, message in _NOT_IMPORTED.items():
            if record.get(field):
                taker.not_kept(message, line)
        others_not_kept(record, _KNOWN, taker, line)
        note = taker.note(name_in(record, name, taker, line))
        if not has_spans:
            note.spans = None
        return note

    def labels_in(self, record: Record) -> Iterator[object]:
        """See `JsonFormat.labels_in`."""
        return (label for _start, _end, label in _spans_in(record))

    def record_of(self, note: OutNote, labels: Mapping[str, str]) -> tuple[Record, list[Loss]]:
        """See `JsonFormat.record_of`."""
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


def _spans_in(record: Record) -> Iterator[tuple[object, object, object]]:
    """The start, the end and the label of each span that has the right form."""
    for field in _SPANS:
        items = record.get(field)
        for item in items if isinstance(items, list) else ():
            if found := _span(item):
                yield found


def _span(item: Any) -> tuple[object, object, object] | None:
    """The start, the end and the label of a span."""
    if isinstance(item, list) and len(item) >= 3:
        return item[0], item[1], item[2]
    if isinstance(item, dict) and {"start_offset", "end_offset", "label"} <= item.keys():
        return item["start_offset"], item["end_offset"], item["label"]
    return None
