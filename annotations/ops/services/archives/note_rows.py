"""The notes of an archive, and their annotation sets with spans."""

from itertools import groupby
from typing import Any

from annotations.core.attributes import definitions_by_label, pairs_of
from annotations.formats.files.archives import ArchiveError
from annotations.models import AnnotationSet, Author, Document, Import, NoteMetadata, Span
from annotations.ops.services.archives import tables
from annotations.ops.services.archives.rows import Lines, Row, Rows
from annotations.text.attributes import AttributeDef, fitting
from annotations.text.hashing import text_sha256
from annotations.text.names import bad_character
from annotations.text.strings import string_key

Definitions = dict[int, tuple[AttributeDef, ...]]
"""The attributes of each label that has any, by label id."""


def store_notes(rows: Rows) -> int:
    count = 0
    columns = [*tables.NOTE_COLUMNS, *tables.METADATA_COLUMNS]
    about = {column.attname for column in tables.METADATA_COLUMNS}
    for batch in rows.batches(tables.NOTES):
        notes: list[tuple[int, Row]] = []
        known: dict[str, Row] = {}
        for line, row in batch:
            values = rows.values(tables.NOTES, line, columns, row)
            if bad_character(values["name"]) or not values["name"]:
                raise ArchiveError("The name of the note is not allowed.", file=tables.NOTES, line=line)
            if text_sha256(values["text"]) != values["sha256"]:
                raise ArchiveError("“sha256” doesn't fit the text.", file=tables.NOTES, line=line)
            known[values["name"]] = {key: values.pop(key) for key in about}
            values |= {"length": len(values["text"]), "project_id": rows.project.pk}
            notes.append((line, values))
        rows.insert(tables.NOTES, Document, notes)
        rows.keys.begin(known)
        metadata = [
            (0, {"document_id": rows.keys.take_note(name).pk, **values})
            for name, values in known.items()
            if any(values.values())
        ]
        rows.insert(tables.NOTES, NoteMetadata, metadata)
        count += len(notes)
    return count


def store_sets(rows: Rows, by: Import) -> tuple[int, int]:
    """Store the annotation sets. Returns how many sets and spans there are."""
    sets = spans = 0
    defined = definitions_by_label(rows.project.pk)
    models_of = set(Author.objects.filter(project=rows.project, kind__in=Author.MODELS).values_list("pk", flat=True))
    for batch in rows.batches(tables.SETS):
        # A gold span may name a suggestion of the same batch, which must be stored first.
        for _kind, same in groupby(batch, key=_kind_of):
            some = list(same)
            sets += len(some)
            spans += _store_some_sets(rows, some, models_of, defined, by)
    return sets, spans


def _store_some_sets(rows: Rows, batch: Lines, models_of: set[int], defined: Definitions, by: Import) -> int:
    """Store annotation sets with their spans. Returns how many spans there are."""
    rows.keys.begin(row["note"] for _line, row in batch if isinstance(row.get("note"), str))
    sets, spans = [], []
    for line, row in batch:
        listed = row.pop("spans", None)
        if not isinstance(listed, list):
            raise ArchiveError("“spans” must be a list.", file=tables.SETS, line=line)
        sets.append((line, rows.values(tables.SETS, line, tables.SET_COLUMNS, row) | {"imported_by_id": by.pk}))
        spans.append(listed)
    rows.insert(tables.SETS, AnnotationSet, sets)
    suggested = {values["document_id"] for _line, values in sets if values["author_id"] in models_of}
    texts = dict(Document.objects.filter(pk__in=suggested).values_list("pk", "text"))
    found: Lines = []
    for (line, values), (_line, row), listed in zip(sets, batch, spans, strict=True):
        note = rows.keys.take_note(row["note"])
        own = rows.keys.annotation_set(values["author_id"])
        text = texts[note.pk] if values["author_id"] in models_of else None
        for span in listed:
            found.append((line, _span(rows, line, span, note.length, text, defined)))
            found[-1][1]["annotation_set_id"] = own
    rows.insert(tables.SETS, Span, found)
    return len(found)


def _span(rows: Rows, line: int, span: Any, length: int, text: str | None, defined: Definitions) -> Row:
    """The values of a span in a note of `length` code points. Suggestions are listed by their text."""
    if not isinstance(span, dict):
        raise ArchiveError("Each span must be an object.", file=tables.SETS, line=line)
    found = rows.values(tables.SETS, line, tables.SPAN_COLUMNS, span)
    if not found["start"] < found["end"] <= length:
        raise ArchiveError("A span is empty or not within the note.", file=tables.SETS, line=line)
    attributes = pairs_of(span.get("attributes"))
    if attributes and fitting(attributes, defined.get(found["label_id"], ()))[0] != attributes:
        raise ArchiveError(
            "A span has an attribute or value that its label doesn't define. Define it for the label, then export "
            "the project again.",
            file=tables.SETS, line=line,
        )  # fmt: skip
    found["string_key"] = None if text is None else string_key(text[found["start"] : found["end"]])
    return found


def _kind_of(numbered: tuple[int, Row]) -> Any:
    """The kind of the author of a row, to group rows by."""
    author = numbered[1].get("author")
    return author[0] if isinstance(author, list) and author else None
