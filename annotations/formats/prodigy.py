"""Prodigy JSON lines: `{"text": ..., "spans": [{"start", "end", "label"}, ...], "meta": {...}, "answer": "accept"}`.

Source: https://prodi.gy/docs/api-interfaces (the interfaces ner_manual and spans_manual). Offsets count code points:
Prodigy's recipes make tokens and spans with spaCy, in Python. The name of the note is in `meta`, and attributes are in
a field of their own of each span; Prodigy keeps both.

The spans of an accepted task are taken, and those of a task without answer, which is input for Prodigy. A rejected or
ignored task gives a note without annotations.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from annotations.formats.base import LabelFinder
from annotations.formats.json_notes import (
    JsonFormat,
    Record,
    attributes_in,
    bad_item,
    confidence_in,
    items_in,
    name_in,
    others_not_kept,
    text_in,
)
from annotations.formats.notes import Loss, OutNote, ParsedNote
from annotations.formats.span_rules import SpanTaker, given_spans

_ACCEPTED: Final = "accept"
_NOT_IMPORTED: Final = {
    "relations": "Relations are not imported.",
    "label": "Labels of whole notes are not imported.",
    "accept": "Choices of whole notes are not imported.",
}
# What Prodigy adds to tasks by itself: hashes, sessions, settings and tokens.
_KNOWN: Final = {"text", "spans", "tokens", "meta", "answer", "options", "config", "head", "versions", *_NOT_IMPORTED}
_CLAIM: Final = re.compile(rb'"spans"\s*:\s*\[|"_(?:input|task)_hash"\s*:|"answer"\s*:\s*"(?:accept|reject|ignore)"')


class ProdigyFormat(JsonFormat):
    """Reads and writes the JSON lines of Prodigy."""

    name = "prodigy"
    file = "prodigy.jsonl"

    def claims(self, name: str, head: bytes) -> bool:
        """See `Format.claims`."""
        ours = name.lower().endswith((".jsonl", ".json", ".ndjson"))
        return ours and b'"text"' in head and bool(_CLAIM.search(head))

    def note_in(self, record: Record, name: str, file: str, line: int, find_label: LabelFinder) -> ParsedNote:
        """See `JsonFormat.note_in`."""
        taker = SpanTaker(text_in(record.get("text"), "text", file, line), file, find_label)
        answer = record.get("answer")
        taken = _is_taken(record)
        for item in items_in(record, "spans", taker, line) if taken else ():
            if not _is_span(item):
                bad_item(item, "spans", "an object with “start”, “end” and “label”", taker, line)
                continue
            quote = item.get("text")
            taker.take(
                item["label"],
                item["start"],
                item["end"],
                line=line,
                quote=quote if isinstance(quote, str) else None,
                attributes=attributes_in(item.get("attributes"), taker, line),
                confidence=confidence_in(item.get("score")),
            )
        if not taken:
            taker.not_kept("The spans are not imported, because the answer is not “accept”.", line)
        for field, message in _NOT_IMPORTED.items():
            if record.get(field):
                taker.not_kept(message, line)
        others = {field: value for field, value in record.items() if not field.startswith("_")}
        others_not_kept(others, _KNOWN, taker, line)
        meta = record.get("meta")
        note = taker.note(name_in(meta if isinstance(meta, dict) else {}, name, taker, line))
        if not taken or (answer is None and record.get("spans") is None):
            note.spans = None
        return note

    def labels_in(self, record: Record) -> Iterator[object]:
        """See `JsonFormat.labels_in`."""
        spans = record.get("spans")
        if isinstance(spans, list) and _is_taken(record):
            yield from (item["label"] for item in spans if _is_span(item))

    def record_of(self, note: OutNote, labels: Mapping[str, str]) -> tuple[Record, list[Loss]]:
        """See `JsonFormat.record_of`."""
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


def _is_span(item: object) -> bool:
    return isinstance(item, dict) and {"start", "end", "label"} <= item.keys()
