"""BioC JSON: one `.json` file with many documents.

A file is a collection, a list of collections (as from NCBI's BioC API), documents or collections line by line (as from
PubTator Central), or `{"PubTator3": [documents]}` (https://www.ncbi.nlm.nih.gov/research/pubtator3/api).
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, Final

from annotations.formats.base import HEAD, Files, LabelFinder, NoteFiles, OneFileFormat, Sink, numbered_name
from annotations.formats.bioc.documents import OFFSETS, SOURCE, TYPE, Annotation, Document, Passage, note_of
from annotations.formats.files.json_files import JsonError, json_items, json_records
from annotations.formats.notes import Loss, NoteError, OutNote, ParsedNote, Problem, check_name
from annotations.formats.quotes import OffsetUnit
from annotations.formats.span_rules import attribute_words, given_spans

_ANY: Final = re.compile(r".+", re.DOTALL)
_ARRAYS: Final = ("documents", "PubTator3")
_WHOLE: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{[^\[]*"(?:documents|PubTator3)"\s*:\s*\[')


class BiocJsonFormat(OneFileFormat):
    """Reads and writes BioC JSON."""

    name = "bioc-json"
    endings = ("json", "jsonl")
    file = "notes.bioc.json"

    def claims(self, name: str, head: bytes) -> bool:
        """See `Format.claims`."""
        return name.lower().endswith((".json", ".jsonl")) and (
            b'"passages"' in head or (b'"source"' in head and b'"documents"' in head)
        )

    def read_many(self, note: NoteFiles, files: Files, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        """See `Format.read_many`."""
        find_label = LabelFinder(labels)
        for file in note.bundle:
            number = 0
            for number, (line, record) in enumerate(_records(file, files), 1):
                try:
                    document = _document(record, file, line)
                    yield note_of(document, numbered_name(note, number), file, find_label)
                except NoteError as error:
                    yield error
            if not number:
                message = "The file has no documents. Expected: a collection with a list “documents”."
                yield NoteError([Problem(file, 1, "no notes", message)])

    def used_labels(self, note: NoteFiles, files: Files) -> Iterator[Counter[str]]:
        """See `Format.used_labels`."""
        for file in note.bundle:
            for line, record in _records(file, files):
                try:
                    yield Counter(_document(record, file, line).labels())
                except NoteError:
                    continue

    @contextmanager
    def sink(self, out: IO[bytes], labels: Mapping[str, str]) -> Iterator[Sink]:
        """See `OneFileFormat.sink`."""
        head = json.dumps({"source": SOURCE, "date": "", "key": "", "infons": {OFFSETS: OffsetUnit.POINTS.value}})
        out.write(f'{head[:-1]}, "documents": ['.encode())
        between = b"\n"

        def add(note: OutNote) -> list[Loss]:
            nonlocal between
            record, losses = _written(note, labels)
            out.write(between + json.dumps(record, separators=(",", ":")).encode())
            between = b",\n"
            return losses

        yield add
        out.write(b"\n]}\n")


def _records(file: str, files: Files) -> Iterator[tuple[int, object]]:
    """The documents of a file with their lines; a NoteError takes the place of one that can't be read."""
    try:
        stream = files.open(file)
    except NoteError as error:
        yield 1, error
        return
    with stream:
        is_whole = _WHOLE.match(stream.read(HEAD))
        stream.seek(0)
        for line, record in json_items(stream, _ARRAYS) if is_whole else json_records(stream):
            if isinstance(record, JsonError):
                yield line, NoteError([Problem(file, line, "json", str(record))])
            elif isinstance(record, dict) and isinstance(record.get("documents"), list):
                yield from ((line, document) for document in record["documents"])
            else:
                yield line, record


def _document(record: object, file: str, line: int) -> Document:
    """The document of a record. Raises NoteError if it has not the form of one."""
    if isinstance(record, NoteError):
        raise record
    if not isinstance(record, dict) or not isinstance(record.get("passages"), list):
        message = "The record is not a document of BioC. Expected: an object with a list “passages”."
        raise NoteError([Problem(file, line, "structure", message)])
    given = record.get("id")
    found = Document(line, str(given) if isinstance(given, str | int) else None)
    _collect(record, found, file)
    for passage in _objects(record, "passages", file, line):
        piece = Passage(line, passage.get("offset"), passage.get("text"))
        found.passages.append(piece)
        _collect(passage, found, file)
        for sentence in _objects(passage, "sentences", file, line):
            piece.sentences.append(Passage(line, sentence.get("offset"), sentence.get("text")))
            _collect(sentence, found, file)
    return found


def _collect(part: Mapping[str, Any], document: Document, file: str) -> None:
    """Add the annotations of a part to its document, and note what else it has."""
    line = document.line
    if part.get("infons"):
        document.infons = line
    if part.get("relations"):
        document.relations = line
    for given in _objects(part, "annotations", file, line):
        infons = given.get("infons")
        places = [(each.get("offset"), each.get("length")) for each in _objects(given, "locations", file, line)]
        annotation = Annotation(line, dict(infons) if isinstance(infons, dict) else {}, places, given.get("text"))
        document.annotations.append(annotation)


def _objects(part: Mapping[str, Any], field: str, file: str, line: int) -> list[dict[str, Any]]:
    """The objects in a list of a part, which may be missing. Raises NoteError for anything else."""
    items = part.get(field) or []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        message = f"The field “{field}” is not a list of objects."
        raise NoteError([Problem(file, line, "structure", message)])
    return items


def _written(note: OutNote, labels: Mapping[str, str]) -> tuple[dict[str, Any], list[Loss]]:
    name = check_name(note.name)
    spans, losses = given_spans(note, labels)
    annotations: list[dict[str, Any]] = []
    for number, (span, code) in enumerate(spans, 1):
        words, lost = attribute_words(note, span, _ANY, (TYPE,))
        losses += lost
        annotations.append(
            {
                "id": f"T{number}",
                "infons": {TYPE: code, **words},
                "text": note.text[span.start : span.end],
                "locations": [{"offset": span.start, "length": span.end - span.start}],
            }
        )
    passage = {
        "offset": 0,
        "infons": {},
        "text": note.text,
        "sentences": [],
        "annotations": annotations,
        "relations": [],
    }
    return {"id": name, "infons": {}, "passages": [passage], "annotations": [], "relations": []}, losses
