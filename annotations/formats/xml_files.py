"""Streaming XML: defused (no entity of the file's own, nothing from outside), with the line of every element."""

import io
import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, Final, Generic, TypeVar
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from annotations.formats.base import Files, Format, LabelFinder, NoteFiles
from annotations.formats.notes import Loss, NoteError, OutNote, ParsedNote, Problem, check_name, outcome
from annotations.formats.quotes import counts_utf16
from annotations.formats.span_rules import SpanTaker, attribute_value
from annotations.text.wording import gettext as _

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


@dataclass
class XmlHandler:
    """Takes the parts of an XML file in their order. Names in a namespace are written `namespace}name`.

    `line` is that of the part that is handed over (1-based), set before each call of `start`. `inside` are the names
    of the open elements, `replaced` is the content of the instruction `REPLACED`. `text` is for the text of a note,
    `texts` counts the elements that hold it. `done` is for what `parse` gives, such as one of many documents.
    """

    line: int = 0
    inside: list[str] = field(default_factory=list)
    replaced: str = ""
    text: list[str] = field(default_factory=list)
    texts: int = 0
    done: deque[Any] = field(default_factory=deque)

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self.inside.append(name)

    def end(self, name: str) -> None:
        del self.inside[-1:]

    def data(self, text: str) -> None:
        pass

    def pi(self, target: str, data: str) -> None:
        if target == REPLACED:
            self.replaced = data


Parts = TypeVar("Parts", bound=XmlHandler)


def parsed(data: bytes, file: str, handler: Parts) -> Parts:
    """The handler after all parts of a file. Raises NoteError as `parse` does."""
    for _part in parse(io.BytesIO(data), file, handler):
        pass
    return handler


def parse(stream: IO[bytes], file: str, handler: XmlHandler) -> Iterator[Any]:
    """Parse a file piece by piece, and give what the handler has `done` meanwhile, also before an error.

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
    more = True
    fault: NoteError | None = None
    while more and fault is None:
        more = bool(data := stream.read(_CHUNK))
        fault = outcome(_feed, parser, data, file)
        while handler.done:
            yield handler.done.popleft()
    if fault is not None:
        raise fault


def _feed(parser: Any, data: bytes, file: str) -> None:
    """Parse a piece of a file, or its end if the piece is empty. Raises NoteError."""
    try:
        if data:
            parser.feed(data)
        else:
            parser.close()
    except ParseError as error:
        fault = _POSITION.sub("", str(error))
        message = _(
            "The file is not well-formed XML from here on ({fault}). Correct it; write “&” as &amp; and “<” as &lt;.",
            fault,
        )
        raise NoteError([Problem(file, error.position[0], "xml", message)]) from None
    except DefusedXmlException:
        message = _("The file declares entities, which are not read. Write the characters themselves in their place.")
        raise NoteError([Problem(file, parser.parser.CurrentLineNumber, "xml", message)]) from None
    except (LookupError, ValueError):
        message = _("The encoding that the file declares can't be read. Save it as UTF-8.")
        raise NoteError([Problem(file, parser.parser.CurrentLineNumber, "utf8", message)]) from None


def restored(text: str, replaced: str, file: str) -> str:
    """The text with the characters that XML can't hold, as the instruction `REPLACED` lists them.

    Raises NoteError if the list doesn't belong to the text.
    """
    characters = list(text)
    for pair in replaced.split():
        match = _PAIR.fullmatch(pair)
        at, code = (int(match[1]), int(match[2], 16)) if match else (len(characters), 0)
        if at >= len(characters) or characters[at] != REPLACEMENT or not UNWRITABLE.fullmatch(chr(code)):
            message = _(
                "The instruction “{instruction}” lists characters that don't belong to the text: found “{pair}”, "
                "expected offset=code of a character U+FFFD. Remove the instruction, or export the file again.",
                *(REPLACED, pair[:30]),
            )
            raise NoteError([Problem(file, None, "characters", message)])
        characters[at] = chr(code)
    return "".join(characters)


# What formats with one `.xml` file per note have in common.


def attributes_of(attributes: Mapping[str, str], own: Collection[str]) -> dict[str, str | bool]:
    """The attributes of a span in those of its element; `own` are, in lower case, the names that the format uses."""
    return {
        key: attribute_value(word)
        for key, word in attributes.items()
        if word and key.lower() not in own and "}" not in key
    }


class XmlNoteFormat(Format, ABC, Generic[Parts]):
    """A format that keeps text and spans of a note in one XML file; the text is in the element `element`."""

    endings = ("xml",)
    element: str = ""
    handler: type[Parts]

    def parts(self, file: str, data: bytes) -> Parts:
        """The parts of a file. Raises NoteError if it is not well-formed, or has not exactly one `element`."""
        parts = parsed(data, file, self.handler())
        if parts.texts != 1:
            message = _(
                "The file has {count} elements <{element}> in its first element; expected exactly one.",
                *(parts.texts, self.element),
            )
            raise NoteError([Problem(file, None, "structure", message)])
        return parts

    @abstractmethod
    def _take(self, parts: Parts, taker: SpanTaker) -> bool:
        """Take the spans of a file; whether the note is annotated."""

    def _quoted(self, parts: Parts) -> Iterable[tuple[int, int, str]]:
        """The offsets and texts of spans where only the texts tell what the offsets count (`counts_utf16`)."""
        return ()

    @abstractmethod
    def _written(self, note: OutNote, labels: Mapping[str, str]) -> tuple[str, list[Loss]]:
        """The whole file of a note, and the losses; see `Format.write`."""

    def read(self, note: NoteFiles, files: Files, find_label: LabelFinder) -> ParsedNote:
        file = note.parts["xml"]
        parts = self.parts(file, files.load(file))
        text = "".join(parts.text)
        taker = SpanTaker(text, file, find_label, utf16=counts_utf16(text, self._quoted(parts)))
        is_annotated = self._take(parts, taker)
        found = taker.note(note.name)
        found.text = restored(text, parts.replaced, file)
        if not is_annotated:
            found.spans = None
        return found

    def write(self, note: OutNote, labels: Mapping[str, str]) -> tuple[dict[str, bytes], list[Loss]]:
        name = check_name(note.name)
        whole, losses = self._written(note, labels)
        return {f"{name}.xml": (whole + replaced_characters(note.text)).encode()}, losses
