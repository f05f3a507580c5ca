"""spaCy's binary files (`.spacy`), read and written without spaCy.

Source: https://spacy.io/api/docbin, and the class `DocBin` in
https://github.com/explosion/spaCy/blob/master/spacy/tokens/_serialize.py: a map in MessagePack, compressed by zlib. Of
a document it holds the tokens and whether a space follows them, so that white space other than one space after a token
is a token of its own. Offsets are code points, as in Python.

Spans are entities (`Doc.ents`). Entities can't overlap: a span that overlaps a longer one is in the span group `sc`.
The name of a note is in the user data under `name`, attributes of spans as extension attributes (`Span._`).
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Final

from annotations.formats.base import (
    Files,
    LabelFinder,
    NoteFiles,
    OneFileFormat,
    Sink,
    numbered_name,
)
from annotations.formats.docbin.reading import Doc, opened
from annotations.formats.docbin.writing import Writer
from annotations.formats.notes import NoteError, ParsedNote, Problem, check_name, check_text
from annotations.formats.taking import SpanTaker
from annotations.text.tokens import Tokenizer, tokenize

_ZLIB: Final = b"\x78"
_SPACES: Final = "The document doesn't say where spaces are. Its text has a space after each token, as in spaCy."


class DocBinFormat(OneFileFormat):
    """Reads and writes spaCy's DocBin. For writing, another tokenizer can be given."""

    name = "docbin"
    endings = ("spacy",)
    file = "train.spacy"

    def __init__(self, tokenizer: Tokenizer = tokenize) -> None:
        self._tokenizer = tokenizer

    def claims(self, name: str, head: bytes) -> bool:
        """See `Format.claims`."""
        return name.lower().endswith(".spacy") and head.startswith(_ZLIB)

    def read_many(self, note: NoteFiles, files: Files, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        """See `OneFileFormat.read_many`."""
        (file,) = note.bundle
        find_label = LabelFinder(labels)
        seen: set[str] = set()
        try:
            with files.open(file) as stream, opened(stream, file) as docs:
                for number, doc in enumerate(docs, 1):
                    try:
                        yield _parsed(doc, number, note, file, find_label, seen)
                    except NoteError as error:
                        yield error
        except NoteError as error:
            yield error

    def used_labels(self, note: NoteFiles, files: Files) -> Iterator[Counter[str]]:
        """See `OneFileFormat.used_labels`."""
        (file,) = note.bundle
        with suppress(NoteError), files.open(file) as stream, opened(stream, file) as docs:
            for doc in docs:
                if not doc.faults:
                    yield Counter(span.label for span in doc.spans if span.label is not None)

    @contextmanager
    def sink(self, out: IO[bytes], labels: Mapping[str, str]) -> Iterator[Sink]:
        """See `OneFileFormat.sink`."""
        writer = Writer(out, labels, self._tokenizer)
        try:
            yield writer.add
            writer.finish()
        finally:
            writer.close()


def _parsed(doc: Doc, number: int, note: NoteFiles, file: str, find_label: LabelFinder, seen: set[str]) -> ParsedNote:
    """The note of a document. Raises NoteError."""
    if doc.faults:
        raise NoteError(Problem(file, None, "docbin", f"Document {number}: {fault}") for fault in doc.faults)
    name = check_name(doc.name) if doc.name else numbered_name(note, number)
    if name in seen:
        message = f"The note “{name}” occurs twice. Give each document a name of its own."
        raise NoteError([Problem(file, None, "same name", message)])
    seen.add(name)
    taker = SpanTaker(check_text(doc.text, file), file, find_label)
    for span in doc.spans:
        taker.take(span.label, span.start, span.end, attributes=doc.attributes.get((span.start, span.end)))
    for message in doc.unkept:
        taker.not_kept(message)
    if doc.has_unknown_spaces:
        taker.warn("rebuilt", _SPACES)
    return taker.note(name)
