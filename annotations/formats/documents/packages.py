"""Documents that are ZIP archives of XML (DOCX, ODT): their parts, read without entities and document types."""

import zipfile
import zlib
from typing import Final
from xml.etree.ElementTree import Element, ParseError, fromstring
from xml.parsers.expat import ExpatError, ParserCreate

from annotations.formats.documents.base import DocumentSource, refused
from annotations.formats.files.zips import TooManyEntries, open_zip

# All parts of a document together, unpacked. A tree of elements takes several times as much memory.
MOST_BYTES: Final = 256 << 20
DEEPEST: Final = 200
"""Levels of elements in a part: more don't come from a word processor."""


class Package:
    """The parts of a document by name."""

    def __init__(self, source: DocumentSource) -> None:
        source.file.seek(0)
        self._file = source.name
        self._left = MOST_BYTES
        try:
            self._archive = open_zip(source.file)
        except (TooManyEntries, zipfile.BadZipFile, OSError):
            raise self.damaged() from None
        self.names = frozenset(self._archive.namelist())

    def xml(self, name: str) -> Element:
        """A part as XML. Raises NoteError if it is missing, damaged, too large, or declares entities."""
        data = self._load(name)
        try:
            _check_no_types(data)
            root = fromstring(data)  # noqa: S314 - without a document type there are no entities
        except _DocumentTypeError:
            message = (
                f"The part “{name}” declares a document type or entities, which may read other files or fill memory. "
                "Save the document again with a word processor."
            )
            raise refused(self._file, "entities", message) from None
        except (ParseError, ExpatError, ValueError, LookupError):
            raise self.damaged() from None
        self._check_depth(root)
        return root

    def damaged(self) -> Exception:
        """The error for a document whose parts are not as they must be."""
        return refused(
            self._file, "damaged", "The document is damaged. Open it in a word processor and save it as a new file."
        )

    def _load(self, name: str) -> bytes:
        try:
            with self._archive.open(name) as part:
                data = part.read(self._left + 1)
        except (KeyError, zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError):
            raise self.damaged() from None
        if len(data) > self._left:
            message = f"The document has more than {MOST_BYTES >> 20} MiB of text and marks when unpacked. Split it."
            raise refused(self._file, "bomb", message)
        self._left -= len(data)
        return data

    def _check_depth(self, root: Element) -> None:
        level = [root]
        for _ in range(DEEPEST):
            level = [child for element in level for child in element]
            if not level:
                return
        raise refused(
            self._file,
            "nesting",
            f"The document has more than {DEEPEST} levels in each other. Simplify it.",
        )


class _DocumentTypeError(Exception):
    """The XML declares a document type, in which alone entities can be declared."""


def _check_no_types(data: bytes) -> None:
    """Raise _DocumentTypeError for XML with a document type. The same parser then builds the tree.

    defusedxml does both at once, but in Python code: ten times slower.
    """

    def refuse(*_: object) -> None:
        raise _DocumentTypeError

    parser = ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(data, True)
