"""BioC XML: one `.xml` file with many documents."""

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, Final

from annotations.formats.base import Files, LabelFinder, NoteFiles, OneFileFormat, Sink, numbered_name
from annotations.formats.bioc.documents import OFFSETS, SOURCE, TYPE, Annotation, Document, Passage, note_of
from annotations.formats.notes import Loss, NoteError, OutNote, ParsedNote, Problem, check_name
from annotations.formats.quotes import OffsetUnit
from annotations.formats.span_rules import attribute_words, given_spans
from annotations.formats.xml_files import REPLACED, as_attribute, as_text, parse, replaced_characters

_ANY: Final = re.compile(r".+", re.DOTALL)
_CLAIM: Final = re.compile(rb"<collection\b.*<(?:source|document)\b", re.DOTALL)


class BiocFormat(OneFileFormat):
    """Reads and writes BioC XML."""

    name = "bioc"
    endings = ("xml",)
    file = "notes.bioc.xml"

    def claims(self, name: str, head: bytes) -> bool:
        """See `Format.claims`."""
        return name.lower().endswith(".xml") and bool(_CLAIM.search(head))

    def read_many(self, note: NoteFiles, files: Files, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        """See `Format.read_many`."""
        find_label = LabelFinder(labels)
        for file in note.bundle:
            number = 0
            try:
                for found in _documents(file, files):
                    number += 1
                    yield _read(found, numbered_name(note, number), file, find_label)
            except NoteError as error:
                yield error

    def used_labels(self, note: NoteFiles, files: Files) -> Iterator[Counter[str]]:
        """See `Format.used_labels`."""
        for file in note.bundle:
            with suppress(NoteError):
                for document in _documents(file, files):
                    yield Counter(document.labels())

    @contextmanager
    def sink(self, out: IO[bytes], labels: Mapping[str, str]) -> Iterator[Sink]:
        """See `OneFileFormat.sink`."""
        unit = f"<infon key={as_attribute(OFFSETS)}>{as_text(OffsetUnit.POINTS.value)}</infon>"
        head = f"<source>{SOURCE}</source><date></date><key></key>{unit}"
        out.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<collection>{head}\n'.encode())

        def add(note: OutNote) -> list[Loss]:
            document, losses = _written(note, labels)
            out.write(document.encode())
            return losses

        yield add
        out.write(b"</collection>\n")


def _read(document: Document, numbered: str, file: str, find_label: LabelFinder) -> ParsedNote | NoteError:
    try:
        return note_of(document, numbered, file, find_label)
    except NoteError as error:
        return error


def _documents(file: str, files: Files) -> Iterator[Document]:
    """The documents of a file, one at a time. Raises NoteError after the last one that can be read."""
    handler = _BiocHandler()
    with files.open(file) as stream:
        try:
            for _ in parse(stream, file, handler):
                yield from handler.taken()
        except NoteError:
            yield from handler.taken()
            raise
    if not handler.documents:
        message = "The file has no documents. Expected: <collection> with elements <document>."
        raise NoteError([Problem(file, None, "no notes", message)])


@dataclass(slots=True)
class _BiocHandler:
    """Handles the parts of a file: collects one document after the other."""

    line: int = 0
    documents: int = 0
    done: deque[Document] = field(default_factory=deque)
    inside: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    key: str = ""
    document: Document = field(default_factory=lambda: Document(0))
    piece: Passage = field(default_factory=lambda: Passage(0))
    annotation: Annotation = field(default_factory=lambda: Annotation(0))

    def taken(self) -> Iterator[Document]:
        """The documents that were completed since the last call."""
        while self.done:
            yield self.done.popleft()

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self.inside.append(name)
        self.words = []
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
        self.inside.pop()
        parent = self.inside[-1] if self.inside else ""
        match parent, name:
            case "document", "id":
                self.document.id = "".join(self.words)
            case (("passage" | "sentence"), "offset"):
                self.piece.offset = "".join(self.words).strip()
            case (("passage" | "sentence"), "text"):
                self.piece.text = "".join(self.words)
            case "annotation", "text":
                self.annotation.text = "".join(self.words)
            case "annotation", "infon":
                self.annotation.infons[self.key] = "".join(self.words)
            case (("document" | "passage" | "sentence"), "infon"):
                self.document.infons = self.document.infons or self.line
            case _, "document":
                self.documents += 1
                self.done.append(self.document)
        self.words = []

    def data(self, text: str) -> None:
        self.words.append(text)

    def pi(self, target: str, data: str) -> None:
        if target == REPLACED:
            self.document.replaced = data


def _written(note: OutNote, labels: Mapping[str, str]) -> tuple[str, list[Loss]]:
    name = check_name(note.name)
    spans, losses = given_spans(note, labels)
    rows: list[str] = []
    for number, (span, code) in enumerate(spans, 1):
        words, lost = attribute_words(note, span, _ANY, (TYPE,))
        losses += lost
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
    return whole, losses
