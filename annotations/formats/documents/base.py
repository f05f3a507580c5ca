"""What readers of documents take and give: sources, drafts of notes, limits."""

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from posixpath import basename, splitext
from typing import IO, Final, Self

from annotations.formats.notes import NoteError, NotePart, ParsedNote, Problem
from annotations.text.names import DOCUMENTS as DOCUMENTS
from annotations.text.names import MIXED as MIXED
from annotations.text.names import printable, unkeepable
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop

PICTURES: Final = gettext_noop("The document has pictures. Text in them was not read.")
MACROS: Final = gettext_noop("The document has macros. They were ignored.")
COMMENTS: Final = gettext_noop("The comments of the document were left out.")
BETWEEN_PARTS: Final = "\n\n"
TIME: Final = "time"
"""The code of the problem of a document that takes too long."""


class PartKind(StrEnum):
    """What a part of a document is. With the number of a part: `page 3`."""

    PAGE = "page"
    FORM_FIELDS = "form fields of page"
    COMMENTS = "comments of page"
    HEADER = "header"
    BODY = "body"
    TEXT_BOX = "text box"
    FOOTER = "footer"
    FOOTNOTE = "footnote"
    ENDNOTE = "endnote"
    MAIL_HEADERS = "mail headers"
    MAIL_BODY = "mail body"
    OBX = "OBX"
    NTE = "NTE"
    ROW = "row"


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading one file may take. A file that needs more is refused, and the message names the limit."""

    seconds: float = 60
    """Time to the next note of the file, or to its next page that OCR reads (wall clock)."""
    ocr_pages: int = 500
    """Pages of one document that OCR reads."""
    memory: int = 2 << 30
    """Address space of the child process, in bytes."""
    characters: int = 20_000_000
    """Length of one note, in code points."""
    unpacked: int = 2 << 30
    """Bytes that all files in an archive may have together when unpacked."""
    ratio: int = 200
    """How many times as long as its packed form a file in an archive may be, from 1 MiB on."""
    members: int = 100_000
    """Files in one archive."""
    nesting: int = 2
    """Archives within archives, attachments within resources: 1 is an archive of documents."""


class Draft:
    """A note while a reader writes it: parts are added in reading order."""

    def __init__(self, source: "DocumentSource", name: str | None = None) -> None:
        self.note = ParsedNote(name or stem(source.name), "", None)
        self._file = source.name
        self._most = source.limits.characters
        self._pieces: list[str] = []
        self._length = 0

    def add(self, text: str, kind: PartKind | None = None, number: int = 0) -> None:
        """Add a part after a blank line. A part of white space only is left out; without a kind it is not mapped."""
        if not text.strip():
            return
        if unkeepable(text):
            # Surrogates in pairs become one character (JSON and RTF may have them); the rest can't be stored.
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if self._pieces:
            self._append(BETWEEN_PARTS)
        start = self._length
        self._append(text)
        if kind is not None:
            self.note.parts.append(NotePart(start, self._length, kind, number))

    def warn(self, sentence: str) -> None:
        """Say what was not read. The same sentence is kept once."""
        warning = Problem("", None, "document", sentence)
        if warning not in self.note.warnings:
            self.note.warnings.append(warning)

    def with_text(self) -> Self:
        """The draft. Raises NoteError if it has no part."""
        if not self.note.parts:
            message = _("The document has no text. If it holds pictures of pages, use OCR first.")
            raise refused(self._file, "no text", message)
        return self

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def _append(self, text: str) -> None:
        self._length += len(text)
        if self._length > self._most:
            message = _("The text has more than {most:,} characters. Split the document.", self._most)
            raise refused(self._file, "too long", message)
        self._pieces.append(text)


class Budget:
    """How many bytes a file may still unpack, with all archives in it."""

    def __init__(self, most: int) -> None:
        self._left = most

    def take(self, size: int) -> bool:
        """Count unpacked bytes. False if there are more than allowed."""
        self._left -= size
        return self._left >= 0


Result = ParsedNote | NoteError
Nested = Callable[["DocumentSource"], Iterator[Result]]


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A document to read: its name (a relative path), its content as a seekable stream, and how to read it.

    `depth` counts the archives and resources around it. `encoding` is what a person chose; it wins over everything that
    is detected. `nested` reads a document within this one. `programs` says whether other programs may be started, which
    is only so where the network is cut off for them, too. OCR reads the text in `language`, if it can. `alive` tells
    the caller that the document is still being read, so that its time begins again.
    """

    name: str
    file: IO[bytes]
    limits: Limits
    encoding: str | None
    nested: Nested
    budget: Budget
    depth: int = 0
    programs: bool = False
    language: str = ""
    alive: Callable[[], None] = lambda: None

    def load(self) -> bytes:
        """The complete content."""
        self.file.seek(0)
        return self.file.read()

    def inner(self, name: str, data: bytes, encoding: str | None = None) -> Iterator[Result]:
        """Read a document within this one, for example a file in an archive."""
        if self.depth >= self.limits.nesting:
            message = _("The file is packed more than {nesting} levels deep. Unpack the archive.", self.limits.nesting)
            return iter([refused(name, "nesting", message)])
        return self.nested(
            replace(self, name=name, file=io.BytesIO(data), encoding=encoding or self.encoding, depth=self.depth + 1)
        )


Reader = Callable[[DocumentSource], Iterator[Draft | Result]]
"""Yields the notes of a document, and a NoteError for each one that can't be read. May also raise NoteError."""


def refused(file: str, code: str, message: str, line: int | None = None) -> NoteError:
    """The error for a document, or a file or line in it, that can't be read. The message says why and how to go on."""
    return NoteError([Problem(printable(file), line, code, message)])


def joined(lines: Iterable[str]) -> str:
    """Lines as one text, without the empty paragraphs at its ends."""
    return "\n".join(lines).strip("\n")


def stem(name: str) -> str:
    """The name of a document without its ending; `.tar.gz` and the like count as one ending."""
    found, ending = splitext(name)
    if ending.lower() in (".gz", ".bz2", ".xz") and found.lower().endswith(".tar"):
        found = found[:-4]
    return found if basename(found) else name


def numbered(name: str, number: int, of: int) -> str:
    """The name of one of several notes of a document that names none; that of the document if there is only one."""
    return stem(name) if of == 1 else f"{stem(name)}-{number:05d}"


def count(number: int, one: str, many: str) -> str:
    """A number with its noun: `1 page`, `2,000 pages`."""
    return f"{number:,} {one if number == 1 else many}"
