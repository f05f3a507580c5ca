"""Streaming XML: defused (no entity of the file's own, nothing from outside), with the line of every element."""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import IO, Any, Final, Protocol
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from annotations.formats.base import Files, LabelFinder, NoteFiles, split_names
from annotations.formats.notes import Loss, NoteError, OutNote, ParsedNote, Problem, check_name
from annotations.text.labels import LabelSetDef

# Text as XML 1.0, so that a reader gets the same characters.
#
# A carriage return is written as `&#13;`, because parsers change it otherwise. Control characters and U+FFFE and U+FFFF
# can't be written at all (https://www.w3.org/TR/xml/#charsets): U+FFFD takes their place, which changes no offset, and
# the processing instruction `REPLACED` lists them for our own reader. Other programs ignore it.


REPLACEMENT: Final = "\ufffd"
REPLACED: Final = "replaced-characters"
"""The name of the instruction; it has pairs of an offset in the note (code points) and a code (hexadecimal)."""

UNWRITABLE: Final = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""The characters that XML 1.0 can't hold, without NUL, which no note contains."""

NAME: Final = re.compile(r"(?!xml)[A-Za-z_][A-Za-z0-9_.-]*", re.IGNORECASE)
"""Names that are written as names of elements and attributes."""

_IN_TEXT: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_IN_ATTRIBUTE: Final = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
)


def as_text(text: str) -> str:
    """The text as content of an element."""
    return UNWRITABLE.sub(REPLACEMENT, text).translate(_IN_TEXT)


def as_cdata(text: str) -> str:
    """The text as CDATA sections."""
    cleaned = UNWRITABLE.sub(REPLACEMENT, text)
    return f"<![CDATA[{cleaned.replace(']]>', ']]]]><![CDATA[>').replace(chr(13), ']]>&#13;<![CDATA[')}]]>"


def as_attribute(text: str) -> str:
    """The text as value of an attribute, with its quotation marks."""
    return f'"{UNWRITABLE.sub(REPLACEMENT, text).translate(_IN_ATTRIBUTE)}"'


def replaced_characters(text: str) -> str:
    """The instruction that lists the characters of a note that XML can't hold; empty if there are none."""
    pairs = [f"{match.start():d}={ord(match.group()):X}" for match in UNWRITABLE.finditer(text)]
    return f"<?{REPLACED} {' '.join(pairs)}?>\n" if pairs else ""


_CHUNK: Final = 64 * 1024
_POSITION: Final = re.compile(r": line [0-9]+, column [0-9]+$")
_PAIR: Final = re.compile(r"([0-9]{1,12})=([0-9A-F]{1,4})")


class Handler(Protocol):
    """Takes the parts of an XML file in their order. Names in a namespace are written `namespace}name`."""

    line: int
    """The line of the part that is handed over (1-based); set by `parse` before each call of `start`."""

    def start(self, name: str, attributes: Mapping[str, str]) -> None: ...

    def end(self, name: str) -> None: ...

    def data(self, text: str) -> None: ...

    def pi(self, target: str, data: str) -> None: ...


def parse(stream: IO[bytes], file: str, handler: Handler) -> Iterator[None]:
    """Parse a file piece by piece; whatever the handler has completed can be taken between two pieces.

    Raises NoteError if the file is not well-formed or declares entities. `file` is its name for messages.
    """
    parser = DefusedXMLParser(target=handler)
    expat: Any = parser.parser

    def start(name: str, attributes: Mapping[str, str]) -> None:
        handler.line = expat.CurrentLineNumber
        handler.start(name, attributes)

    # The parser of ElementTree hands names and attributes over through functions that take as long as all the rest.
    expat.ordered_attributes = False
    expat.StartElementHandler = start
    expat.EndElementHandler = handler.end
    expat.ProcessingInstructionHandler = handler.pi
    try:
        while data := stream.read(_CHUNK):
            parser.feed(data)
            yield
        parser.close()
        yield
    except ParseError as error:
        fault = _POSITION.sub("", str(error))
        message = (
            f"The file is not well-formed XML from here on ({fault}). Correct it; write “&” as &amp; and “<” as &lt;."
        )
        raise NoteError([Problem(file, error.position[0], "xml", message)]) from None
    except DefusedXmlException:
        message = "The file declares entities, which are not read. Write the characters themselves in their place."
        raise NoteError([Problem(file, expat.CurrentLineNumber, "xml", message)]) from None
    except (LookupError, ValueError):
        message = "The encoding that the file declares can't be read. Save it as UTF-8."
        raise NoteError([Problem(file, expat.CurrentLineNumber, "utf8", message)]) from None


def restored(text: str, replaced: str, file: str) -> str:
    """The text with the characters that XML can't hold, as the instruction `REPLACED` lists them.

    Raises NoteError if the list doesn't belong to the text.
    """
    characters = list(text)
    for pair in replaced.split():
        match = _PAIR.fullmatch(pair)
        at, code = (int(match[1]), int(match[2], 16)) if match else (len(characters), 0)
        if at >= len(characters) or characters[at] != REPLACEMENT or not UNWRITABLE.fullmatch(chr(code)):
            message = (
                f"The instruction “{REPLACED}” lists characters that don't belong to the text: found “{pair[:30]}”, "
                "expected offset=code of a character U+FFFD. Remove the instruction, or export the file again."
            )
            raise NoteError([Problem(file, None, "characters", message)])
        characters[at] = chr(code)
    return "".join(characters)


# What formats with one `.xml` file per note have in common.


class XmlNoteFormat(ABC):
    """A format that keeps text and spans of a note in one XML file."""

    name: str

    @abstractmethod
    def claims(self, name: str, head: bytes) -> bool:
        """See `Format.claims`."""

    @abstractmethod
    def _read(self, name: str, file: str, data: bytes, find_label: LabelFinder) -> ParsedNote:
        """The note of a file. Raises NoteError."""

    @abstractmethod
    def _labels(self, file: str, data: bytes) -> Iterable[str]:
        """The label of every span of a file, as written. Raises NoteError."""

    @abstractmethod
    def _written(self, note: OutNote, labels: Mapping[str, str]) -> tuple[str, list[Loss]]:
        """The whole file of a note, and the losses; see `Format.write`."""

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        """See `Format.group`."""
        notes, problems = split_names(names, ["xml"])
        return [NoteFiles(name, parts) for name, parts in sorted(notes.items())], problems

    def read_many(self, note: NoteFiles, files: Files, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        """See `Format.read_many`."""
        file = note.parts["xml"]
        try:
            yield self._read(note.name, file, files.load(file), LabelFinder(labels))
        except NoteError as error:
            yield error

    def used_labels(self, note: NoteFiles, files: Files) -> Iterator[Counter[str]]:
        """See `Format.used_labels`."""
        file = note.parts["xml"]
        with suppress(NoteError):
            yield Counter(self._labels(file, files.load(file)))

    def write(self, note: OutNote, labels: Mapping[str, str]) -> tuple[dict[str, bytes], list[Loss]]:
        """See `Format.write`."""
        name = check_name(note.name)
        whole, losses = self._written(note, labels)
        return {f"{name}.xml": (whole + replaced_characters(note.text)).encode()}, losses

    def extra_files(self, labels: LabelSetDef) -> dict[str, bytes]:
        """See `Format.extra_files`. These formats have none."""
        return {}
