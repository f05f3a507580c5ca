"""Streaming XML: defused (no entity of the file's own, nothing from outside), with the line of every element."""

import re
from collections.abc import Iterator, Mapping
from typing import IO, Any, Final, Protocol
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from annotations.formats.notes import NoteError, Problem
from annotations.formats.xml_writing import REPLACED, REPLACEMENT, UNWRITABLE

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
