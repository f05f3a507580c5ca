"""BioC, in XML and in JSON: collections of documents with passages, annotations and relations.

Source: Comeau et al. 2013, doi:10.1093/database/bat064; the DTD and the JSON form as in the package `bioc`
(https://github.com/bionlplab/bioc). The infon `type` of an annotation is its label, all others are attributes.

The DTD counts offsets in bytes of UTF-8, but NCBI's tools and the package `bioc` count characters
(https://github.com/lfurrer/bconv/issues/5), and tools in Java count UTF-16 code units. A document is read in the unit
in which its passages don't overlap and the most texts of annotations stand at their offsets, code points first. We
write code points and say so in an infon of the collection.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from annotations.formats.base import HEAD, DocumentReader, Files, LabelFinder, NoteFiles, RecordsFormat
from annotations.formats.bioc.documents import OFFSETS, SOURCE, TYPE, Annotation, Document, Passage, note_of
from annotations.formats.files.json_files import JsonError, json_items, json_records
from annotations.formats.json_notes import json_bytes
from annotations.formats.notes import Loss, NoteError, OutNote, ParsedNote, Problem, check_name
from annotations.formats.quotes import OffsetUnit
from annotations.formats.span_rules import ANY_NAME, given_rows
from annotations.formats.xml_files import REPLACED, XmlHandler, as_attribute, as_text, parse, replaced_characters
from annotations.text.wording import gettext as _


class BiocReader(DocumentReader, RecordsFormat):
    """Reads BioC in either syntax."""

    def note_in(self, document: Document, name: str, file: str, line: int, find_label: LabelFinder) -> ParsedNote:
        return note_of(document, name, file, find_label)


class BiocFormat(BiocReader):
    """Reads and writes BioC XML."""

    name = "bioc"
    endings = ("xml",)
    file = "notes.bioc.xml"
    head = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<collection><source>{SOURCE}</source><date></date><key></key>'
        f"<infon key={as_attribute(OFFSETS)}>{as_text(OffsetUnit.POINTS.value)}</infon>\n"
    ).encode()
    tail = b"</collection>\n"
    claim = re.compile(rb"<collection\b.*<(?:source|document)\b", re.DOTALL)

    def documents(self, note: NoteFiles, file: str, files: Files) -> Iterator[tuple[int, Document]]:
        handler = _BiocHandler()
        with files.open(file) as stream:
            for document in parse(stream, file, handler):
                yield document.line, document
        if not handler.documents:
            message = _("The file has no documents. Expected: <collection> with elements <document>.")
            raise NoteError([Problem(file, None, "no notes", message)])

    def written(self, note: OutNote, labels: Mapping[str, str]) -> tuple[bytes, list[Loss]]:
        name = check_name(note.name)
        spans, losses = given_rows(note, labels, ANY_NAME, (TYPE,))
        rows: list[str] = []
        for number, (span, code, words) in enumerate(spans, 1):
            infons = "".join(
                f"<infon key={as_attribute(key)}>{as_text(word)}</infon>" for key, word in {TYPE: code, **words}.items()
            )
            rows.append(
                f'<annotation id="T{number}">{infons}<location offset="{span.start}" length="{span.end - span.start}"/>'
                f"<text>{as_text(note.text[span.start : span.end])}</text></annotation>\n"
            )
        whole = (
            f"<document><id>{as_text(name)}</id><passage><offset>0</offset><text>{as_text(note.text)}</text>\n"
            f"{''.join(rows)}</passage>{replaced_characters(note.text)}</document>\n"
        )
        return whole.encode(), losses


@dataclass
class _BiocHandler(XmlHandler):
    """Handles the parts of a file: collects one document after the other."""

    documents: int = 0
    key: str = ""
    document: Document = field(default_factory=lambda: Document(0))
    piece: Passage = field(default_factory=lambda: Passage(0))
    annotation: Annotation = field(default_factory=lambda: Annotation(0))

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        super().start(name, attributes)
        self.text = []
        match name:
            case "document":
                self.document, self.piece = Document(self.line), Passage(self.line)
                self.annotation = Annotation(self.line)
            case "passage":
                self.piece = Passage(self.line)
                self.document.passages.append(self.piece)
            case "sentence" if self.document.passages:
                self.piece = Passage(self.line)
                self.document.passages[-1].sentences.append(self.piece)
            case "annotation":
                self.annotation = Annotation(self.line)
                self.document.annotations.append(self.annotation)
            case "location":
                self.annotation.locations.append((attributes.get("offset"), attributes.get("length")))
            case "relation":
                self.document.relations = self.document.relations or self.line
            case "infon":
                self.key = attributes.get("key", "")

    def end(self, name: str) -> None:
        super().end(name)
        parent = self.inside[-1] if self.inside else ""
        match parent, name:
            case "document", "id":
                self.document.id = "".join(self.text)
            case (("passage" | "sentence"), "offset"):
                self.piece.offset = "".join(self.text).strip()
            case (("passage" | "sentence"), "text"):
                self.piece.text = "".join(self.text)
            case "annotation", "text":
                self.annotation.text = "".join(self.text)
            case "annotation", "infon":
                self.annotation.infons[self.key] = "".join(self.text)
            case (("document" | "passage" | "sentence"), "infon"):
                self.document.infons = self.document.infons or self.line
            case _, "document":
                self.documents += 1
                self.done.append(self.document)
        self.text = []

    def data(self, text: str) -> None:
        self.text.append(text)

    def pi(self, target: str, data: str) -> None:
        if target == REPLACED:
            self.document.replaced = data


# BioC JSON: one `.json` file with many documents.
#
# A file is a collection, a list of collections (as from NCBI's BioC API), documents or collections line by line (as
# from PubTator Central), or `{"PubTator3": [documents]}` (https://www.ncbi.nlm.nih.gov/research/pubtator3/api).

_ARRAYS: Final = ("documents", "PubTator3")
_WHOLE: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{[^\[]*"(?:documents|PubTator3)"\s*:\s*\[')


class BiocJsonFormat(BiocReader):
    """Reads and writes BioC JSON."""

    name = "bioc-json"
    endings = ("json", "jsonl")
    file = "notes.bioc.json"
    head = (
        f'{{"source": "{SOURCE}", "date": "", "key": "", "infons": {{"{OFFSETS}": "{OffsetUnit.POINTS.value}"}}, '
        '"documents": [\n'
    ).encode()
    between, tail = b",\n", b"\n]}\n"
    claim = re.compile(rb'"passages"|(?s:"source".*"documents"|"documents".*"source")')

    def documents(self, note: NoteFiles, file: str, files: Files) -> Iterator[tuple[int, Document | NoteError]]:
        found = False
        for line, record in _records(file, files):
            found = True
            try:
                yield line, _document(record, file, line)
            except NoteError as error:
                yield line, error
        if not found:
            message = _("The file has no documents. Expected: a collection with a list “documents”.")
            raise NoteError([Problem(file, 1, "no notes", message)])

    def written(self, note: OutNote, labels: Mapping[str, str]) -> tuple[bytes, list[Loss]]:
        name = check_name(note.name)
        spans, losses = given_rows(note, labels, ANY_NAME, (TYPE,))
        annotations: list[dict[str, Any]] = [
            {
                "id": f"T{number}",
                "infons": {TYPE: code, **words},
                "text": note.text[span.start : span.end],
                "locations": [{"offset": span.start, "length": span.end - span.start}],
            }
            for number, (span, code, words) in enumerate(spans, 1)
        ]
        passage = {
            "offset": 0,
            "infons": {},
            "text": note.text,
            "sentences": [],
            "annotations": annotations,
            "relations": [],
        }
        document = {"id": name, "infons": {}, "passages": [passage], "annotations": [], "relations": []}
        return json_bytes(document), losses


def _records(file: str, files: Files) -> Iterator[tuple[int, object]]:
    """The documents of a file with their lines; a NoteError takes the place of one that can't be read."""
    with files.open(file) as stream:
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
        message = _("The record is not a document of BioC. Expected: an object with a list “passages”.")
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
        raise NoteError([Problem(file, line, "structure", _("The field “{field}” is not a list of objects.", field))])
    return items
