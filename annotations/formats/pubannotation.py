"""PubAnnotation JSON (also of TextAE), only read: one object for each note, in JSON lines, in an array or alone.

Source: https://www.pubannotation.org/docs/annotation-format/. A note is `{"text", "denotations": [{"id", "span":
{"begin", "end"}, "obj"}], "attributes": [{"subj", "pred", "obj"}], "relations", "sourcedb", "sourceid", "divid"}`; a
span may be a list of pieces. Offsets count code points, as PubAnnotation is written in Ruby.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from annotations.formats.base import LabelFinder
from annotations.formats.json_notes import (
    JsonReader,
    Record,
    attributes_in,
    bad_item,
    items_in,
    name_in,
    others_not_kept,
    text_in,
    unquoted_taker,
)
from annotations.formats.notes import ParsedNote
from annotations.formats.quotes import OffsetUnit

_NAMES: Final = ("sourcedb", "sourceid", "divid")
_NOT_IMPORTED: Final = {
    "relations": "Relations are not imported.",
    "modifications": "Modifications are not imported.",
    "typesettings": "Typesettings are not imported.",
}
_KNOWN: Final = {"text", "target", "project", "track", "tracks", "namespaces", "config", "denotations", "blocks"}
_FIELDS: Final = ("denotations", "blocks")
_EXPECTED: Final = "an object with “span” (“begin” and “end”) and “obj”"


class PubannotationFormat(JsonReader):
    """Reads the JSON of PubAnnotation."""

    name = "pubannotation"

    def claims(self, name: str, head: bytes) -> bool:
        """See `Format.claims`."""
        return name.lower().endswith((".json", ".jsonl", ".ndjson")) and b'"text"' in head and b'"denotations"' in head

    def note_in(self, record: Record, name: str, file: str, line: int, find_label: LabelFinder) -> ParsedNote:
        """See `JsonReader.note_in`."""
        text = text_in(record.get("text"), "text", file, line)
        given = [piece for _id, _label, pieces in _spans_in(record) for piece in pieces]
        taker, offset = unquoted_taker(text, given, OffsetUnit.POINTS, file, find_label, line)
        attributes: dict[str, dict[str, Any]] = defaultdict(dict)
        for item in items_in(record, "attributes", taker, line):
            if isinstance(item, dict) and isinstance(item.get("subj"), str) and isinstance(item.get("pred"), str):
                attributes[item["subj"]][item["pred"]] = item.get("obj")
        for field in _FIELDS:
            for item in items_in(record, field, taker, line):
                if (found := _span(item)) is None:
                    bad_item(item, field, _EXPECTED, taker, line)
                    continue
                identity, label, pieces = found
                held = attributes_in(attributes.get(identity), taker, line)
                bounds = [(offset(start), offset(end)) for start, end in pieces]
                taker.take_pieces(label, bounds, line=line, attributes=held)
        for field, message in _NOT_IMPORTED.items():
            if record.get(field):
                taker.not_kept(message, line)
        others_not_kept(record, (*_KNOWN, *_NAMES, *_NOT_IMPORTED, "attributes", "name"), taker, line)
        source = "-".join(str(record[each]) for each in _NAMES if isinstance(record.get(each), str | int))
        named = record if record.get("name") else {"name": source}
        return taker.note(name_in(named, name, taker, line))

    def labels_in(self, record: Record) -> Iterator[object]:
        """See `JsonReader.labels_in`."""
        return (label for _id, label, _pieces in _spans_in(record))


_Span = tuple[str, object, list[tuple[object, object]]]
"""The id, the label and the pieces of a span."""


def _spans_in(record: Record) -> Iterator[_Span]:
    for field in _FIELDS:
        items = record.get(field)
        for item in items if isinstance(items, list) else ():
            if found := _span(item):
                yield found


def _span(item: Any) -> _Span | None:
    if not isinstance(item, dict) or "obj" not in item:
        return None
    span = item.get("span")
    pieces: list[Any] = span if isinstance(span, list) and span else [span]
    if not all(isinstance(piece, dict) and {"begin", "end"} <= piece.keys() for piece in pieces):
        return None
    return str(item.get("id")), item["obj"], [(piece["begin"], piece["end"]) for piece in pieces]
