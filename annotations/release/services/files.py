"""The files of an exported release: its notes in a format, and a manifest. They hold nothing of the originals."""

import hashlib
import json
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from typing import IO, Any, Final

from annotations.core.spans import pairs_of
from annotations.exchange.services.writing import Content, NoteFilesWriter
from annotations.formats import FORMATS
from annotations.formats.base import LOSSES, NAMES, file_names
from annotations.formats.files.csv_files import csv_line
from annotations.formats.files.safe_names import FileNames
from annotations.formats.notes import Loss, OutNote
from annotations.release.rules.certificates.released_files import MANIFEST, SIGNATURE
from annotations.release.services.certificates.signing import sign_files
from annotations.text.attributes import Value
from annotations.text.labels import LabelDef, LabelSetDef
from annotations.text.spans import Span

NOTES_JSONL: Final = "notes.jsonl"
NOTES_CSV: Final = "notes.csv"
SPANS_CSV: Final = "spans.csv"
OWN_FORMATS: Final = ("text", "jsonl", "csv")
RELEASE_FORMATS: Final = (*OWN_FORMATS, *(name for name in FORMATS if name not in OWN_FORMATS))
"""The formats of an export: text, JSON Lines, CSV, and each format of annotations."""
TAKEN: Final = ("release", "certificate")
"""Names of files of a release without their endings, which no note's files get."""
WITHOUT_SPANS: Final = frozenset({"text"})
"""Formats that have no place for spans, which need not be read for them."""
IN_MEMORY: Final = 1024 * 1024
# Spreadsheet programs recognize UTF-8 in a CSV only with a byte order mark.
BOM: Final = "\ufeff"


@dataclass(frozen=True)
class WrittenLabels:
    """How labels are written: the code of each label, and the set of the written codes for configuration files."""

    codes: Mapping[str, str]
    labels: LabelSetDef


def release_files(
    format: str,
    notes: Iterator[tuple[OutNote, list[Loss]]],
    written: WrittenLabels,
    about: Mapping[str, Any],
    at_end: Callable[[], Mapping[str, Any]],
    beside: Mapping[str, bytes],
    recordings: Iterable[tuple[str, Content]] = (),
) -> Iterator[tuple[str, Content]]:
    """Yield every file of a release as (relative name, content); the last ones are the manifest and its signature.

    `notes` come with the losses that they have already; `beside` and `recordings` are further files, by name. The
    manifest has what `about` says, the size and SHA-256 of every file before it, and what `at_end` says after the last
    note.
    """
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as manifest:
        manifest.write(_opening(about))
        first = True
        for name, content in chain(beside.items(), recordings, _files(format, notes, written, beside)):
            row = json.dumps({"name": name, **_measured(content)}, ensure_ascii=False)
            manifest.write((("\n " if first else ",\n ") + row).encode())
            first = False
            yield name, content
        manifest.write(b"\n]")
        for name, value in at_end().items():
            manifest.write(f",\n {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}".encode())
        manifest.write(b"}\n")
        sha256 = bytes.fromhex(_measured(manifest)["sha256"])
        yield MANIFEST, manifest
    yield SIGNATURE, sign_files(sha256)


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


def _files(
    format: str, notes: Iterator[tuple[OutNote, list[Loss]]], written: WrittenLabels, beside: Collection[str]
) -> Iterator[tuple[str, Content]]:
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as lines:
        losses = _Losses(lines)
        if format == "jsonl":
            yield from _jsonl(losses.noted(notes), written)
        elif format == "csv":
            yield from _csv(losses.noted(notes), written)
        else:
            names = file_names(FORMATS[format], [*TAKEN, *(name.rpartition(".")[0] for name in beside)])
            yield from _written(format, notes, written, losses, names)
        if lines.tell():
            yield LOSSES, lines


class _Losses:
    """Writes a table of the spans that are not in the files as they were. The bounds are those of the released text."""

    def __init__(self, lines: IO[bytes]) -> None:
        self._lines = lines

    def add(self, losses: Iterable[Loss]) -> None:
        for loss in losses:
            if not self._lines.tell():
                self._lines.write((BOM + csv_line(["note", "start", "end", "label", "reason"])).encode())
            span = loss.span
            self._lines.write(csv_line([loss.note, span.start, span.end, span.label, loss.reason]).encode())

    def noted(self, notes: Iterable[tuple[OutNote, list[Loss]]]) -> Iterator[OutNote]:
        """The notes. Their losses are written when each one comes."""
        for note, losses in notes:
            self.add(losses)
            yield note


def _written(
    format: str,
    notes: Iterable[tuple[OutNote, list[Loss]]],
    written: WrittenLabels,
    losses: _Losses,
    names: FileNames | None,
) -> Iterator[tuple[str, Content]]:
    given: set[tuple[str, Value]] = set()
    with NoteFilesWriter(lambda _language: FORMATS[format], written.codes) as writer:
        for note, before in notes:
            given.update(pair for span in note.spans for pair in span.attributes)
            files, more = writer.add(replace(note, name=names.of(note.name)) if names else note)
            losses.add([replace(loss, note=note.name) for loss in before + more])
            yield from files.items()
        yield from writer.finish()
    if names and names.changed:
        yield NAMES, names.table()
    yield from FORMATS[format].extra_files(_with_given(written.labels, given)).items()


def _with_given(labels: LabelSetDef, given: Collection[tuple[str, Value]]) -> LabelSetDef:
    """The label set with the attributes and values of released spans only: the leak gate has read no others."""

    def only(label: LabelDef) -> LabelDef:
        found = (
            replace(each, values=tuple(value for value in each.values if (each.name, value) in given))
            for each in label.attributes
        )
        return replace(label, attributes=tuple(one for one in found if one.values or (one.name, True) in given))

    groups = (replace(one, labels=tuple(map(only, one.labels))) for one in labels.categories)
    return replace(labels, categories=tuple(groups))


def _jsonl(notes: Iterator[OutNote], written: WrittenLabels) -> Iterator[tuple[str, Content]]:
    """One object per line: name, text, and spans with their label, text and, if there are any, attributes."""
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as lines:
        for note in notes:
            row = {"name": note.name, "text": note.text, "spans": [_span(note, span, written) for span in note.spans]}
            lines.write((json.dumps(row, ensure_ascii=False) + "\n").encode())
        yield NOTES_JSONL, lines


def _span(note: OutNote, span: Span, written: WrittenLabels) -> dict[str, Any]:
    label, text = written.codes.get(span.label, span.label), note.text[span.start : span.end]
    found = {"start": span.start, "end": span.end, "label": label, "text": text}
    return found | {"attributes": dict(span.attributes)} if span.attributes else found


def _csv(notes: Iterator[OutNote], written: WrittenLabels) -> Iterator[tuple[str, Content]]:
    """A table of the notes, and a table of their spans. Attributes are a JSON object; empty without."""
    with ExitStack() as stack:
        texts: IO[bytes] = stack.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY))
        spans: IO[bytes] = stack.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY))
        texts.write((BOM + csv_line(["note", "text"])).encode())
        spans.write((BOM + csv_line(["note", "start", "end", "label", "text", "attributes"])).encode())
        for note in notes:
            texts.write(csv_line([note.name, note.text]).encode())
            for span in note.spans:
                row = _span(note, span, written)
                attributes = json.dumps(row["attributes"], ensure_ascii=False) if span.attributes else ""
                cells = [note.name, row["start"], row["end"], row["label"], row["text"], attributes]
                spans.write(csv_line(cells).encode())
        yield NOTES_CSV, texts
        yield SPANS_CSV, spans


def out_note(name: str, text: str, spans: list[list[Any]]) -> OutNote:
    """A note to write, from the columns of ReleasedNote."""
    found = [
        Span(start, end, label, attributes=pairs_of(attributes[0] if attributes else None))
        for start, end, label, *attributes in spans
    ]
    return OutNote(name, text, found)
