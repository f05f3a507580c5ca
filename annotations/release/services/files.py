"""The files of an exported release: its notes in a format, and a manifest. They hold nothing of the originals."""

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import IO, Any, Final

from annotations.domain.files.csv_lines import csv_line
from annotations.domain.formats import FORMATS
from annotations.domain.formats.base import OutNote
from annotations.domain.labels import LabelSetDef
from annotations.domain.spans import Span
from annotations.transfer.services.archives import Content
from annotations.transfer.services.note_files import NoteFilesWriter

MANIFEST: Final = "release.json"
NOTES_JSONL: Final = "notes.jsonl"
NOTES_CSV: Final = "notes.csv"
SPANS_CSV: Final = "spans.csv"
OWN_FORMATS: Final = ("text", "jsonl", "csv")
RELEASE_FORMATS: Final = (*OWN_FORMATS, *(name for name in FORMATS if name not in OWN_FORMATS))
"""The formats of an export: text, JSON Lines, CSV, and each format of annotations."""
WITHOUT_SPANS: Final = frozenset({"text"})
"""Formats that have no place for spans, which need not be read for them."""
IN_MEMORY: Final = 1024 * 1024
# Spreadsheet programs recognize UTF-8 in a CSV only with a byte order mark.
BOM: Final = "\ufeff"


def release_files(
    format: str, notes: Iterator[OutNote], labels: LabelSetDef, about: Mapping[str, Any]
) -> Iterator[tuple[str, Content]]:
    """Yield every file of a release as (relative name, content); the last one is the manifest.

    The manifest has what `about` says, and the size and SHA-256 of every other file.
    """
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as manifest:
        manifest.write(_opening(about))
        first = True
        for name, content in _files(format, notes, labels):
            row = json.dumps({"name": name, **_measured(content)}, ensure_ascii=False)
            manifest.write((("\n " if first else ",\n ") + row).encode())
            first = False
            yield name, content
        manifest.write(b"\n]}\n")
        manifest.seek(0)
        yield MANIFEST, manifest


def _opening(about: Mapping[str, Any]) -> bytes:
    head = json.dumps(dict(about), ensure_ascii=False, indent=1)
    return (head.removesuffix("\n}") + ',\n "files": [').encode()


def _measured(content: Content) -> dict[str, Any]:
    if isinstance(content, bytes):
        return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    content.seek(0)
    digest, size = hashlib.sha256(), 0
    while data := content.read(IN_MEMORY):
        digest.update(data)
        size += len(data)
    content.seek(0)
    return {"bytes": size, "sha256": digest.hexdigest()}


def _files(format: str, notes: Iterator[OutNote], labels: LabelSetDef) -> Iterator[tuple[str, Content]]:
    if format == "jsonl":
        return _jsonl(notes)
    if format == "csv":
        return _csv(notes)
    return _written(format, notes, labels)


def _written(format: str, notes: Iterator[OutNote], labels: LabelSetDef) -> Iterator[tuple[str, Content]]:
    codes = {label.code: label.code for label in labels.labels()}
    with NoteFilesWriter(lambda _language: FORMATS[format], codes) as writer:
        for note in notes:
            files, _losses = writer.add(note)
            yield from files.items()
        yield from writer.finish()
    yield from FORMATS[format].extra_files(labels).items()


def _jsonl(notes: Iterator[OutNote]) -> Iterator[tuple[str, Content]]:
    """One object per line: name, text, and spans with their label and text."""
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as lines:
        for note in notes:
            spans = [
                {"start": span.start, "end": span.end, "label": span.label, "text": note.text[span.start : span.end]}
                for span in note.spans
            ]
            row = {"name": note.name, "text": note.text, "spans": spans}
            lines.write((json.dumps(row, ensure_ascii=False) + "\n").encode())
        yield NOTES_JSONL, lines


def _csv(notes: Iterator[OutNote]) -> Iterator[tuple[str, Content]]:
    """A table of the notes, and a table of their spans."""
    with ExitStack() as stack:
        texts: IO[bytes] = stack.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY))
        spans: IO[bytes] = stack.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY))
        texts.write((BOM + csv_line(["note", "text"])).encode())
        spans.write((BOM + csv_line(["note", "start", "end", "label", "text"])).encode())
        for note in notes:
            texts.write(csv_line([note.name, note.text]).encode())
            for span in note.spans:
                quote = note.text[span.start : span.end]
                spans.write(csv_line([note.name, span.start, span.end, span.label, quote]).encode())
        yield NOTES_CSV, texts
        yield SPANS_CSV, spans


def out_note(name: str, text: str, spans: list[list[Any]]) -> OutNote:
    """A note to write, from the columns of ReleasedNote."""
    return OutNote(name, text, [Span(start, end, label) for start, end, label in spans])
