"""Inline XML: one `.xml` file per note, whose elements are the spans, as in `Seen by <DOCTOR>Dr. Rossi</DOCTOR>.`

The name of an element is the label and its attributes are those of the span. `<PHI TYPE="DOCTOR">` of i2b2 2006
(Uzuner et al. 2007, doi:10.1197/jamia.M2444) and MUC's `<ENAMEX TYPE="PERSON">`, `<TIMEX>` and `<NUMEX>` have their
label in `TYPE`. A label that can't be the name of an element is written as `<span label="...">`. Spans may nest, but
not cross.

An element around the whole file is its root and not a span. A file may have no root: an element around all of its
text is a span then, unless it has an XML declaration, other elements inside, or a name such as `note` or `text`. The
text is what an XML parser gives: CR LF is read as LF unless the carriage return is written as `&#13;`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from annotations.formats import xml_files
from annotations.formats.notes import Loss, NoteError, OutNote, decode_utf8
from annotations.formats.span_rules import SpanTaker, attribute_words, given_spans
from annotations.formats.xml_files import XmlHandler, XmlNoteFormat, as_attribute, as_text
from annotations.text.spans import Span
from annotations.text.wording import gettext as _

_ROOT: Final = "note"
_ROOTS: Final = frozenset({"body", "doc", "document", "file", "note", "record", "report", "root", "text", "xml"})
_TYPED: Final = frozenset({"phi", "enamex", "numex", "timex"})
_NAMED: Final = "span"
_LABEL: Final = "label"
_SPECIAL: Final = _TYPED | {_NAMED}
_OWN: Final = frozenset({"id", "type", _LABEL})
"""Names of attributes that never are those of a span."""
# In UTF-8, or in UTF-16, which needs a byte order mark and is read only with a declaration.
_PROLOG: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*<[?!]|\xff\xfe|\xfe\xff")


@dataclass(slots=True)
class _Element:
    """An element, with its bounds in code points."""

    line: int
    name: str
    start: int
    attributes: Mapping[str, str]
    end: int = 0

    def label(self) -> str:
        kind = self.name.lower()
        key = "type" if kind in _TYPED else _LABEL if kind == _NAMED else ""
        return next((word for name, word in self.attributes.items() if name.lower() == key and word), self.name)


@dataclass
class _InlineParts(XmlHandler):
    """Handles the parts of a file: collects its text and its elements."""

    elements: list[_Element] = field(default_factory=list)
    length: int = 0
    unclosed: list[_Element] = field(default_factory=list)

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        element = _Element(self.line, name.rpartition("}")[2], self.length, attributes)
        self.unclosed.append(element)
        self.elements.append(element)

    def end(self, name: str) -> None:
        self.unclosed.pop().end = self.length

    def data(self, text: str) -> None:
        self.text.append(text)
        self.length += len(text)


class InlineFormat(XmlNoteFormat[_InlineParts]):
    """Reads and writes inline XML."""

    name = "inline"
    # Every file with an element; other formats are asked before.
    claim = re.compile(rb"<[A-Za-z_]")

    def parts(self, file: str, data: bytes) -> _InlineParts:
        """The parts of a file, with its root or with one around it. Raises NoteError if it is not well-formed."""
        has_prolog = bool(_PROLOG.match(data))
        try:
            parts = xml_files.parsed(data, file, _InlineParts())
        except NoteError:
            if has_prolog:
                raise
        else:
            if has_prolog or len(parts.elements) > 1 or parts.elements[0].name.lower() in _ROOTS:
                return parts
        return xml_files.parsed(f"<{_ROOT}>{decode_utf8(data, file)}</{_ROOT}>".encode(), file, _InlineParts())

    def _take(self, parts: _InlineParts, taker: SpanTaker) -> bool:
        for each in parts.elements[1:]:  # after the root
            if any(key.lower() == "id" for key in each.attributes):
                taker.not_kept(_("The attribute “id” is not imported."), each.line)
            held = xml_files.attributes_of(each.attributes, _OWN)
            taker.take(each.label(), each.start, each.end, line=each.line, attributes=held)
        return True

    def _written(self, note: OutNote, labels: Mapping[str, str]) -> tuple[str, list[Loss]]:
        given, losses = given_spans(note, labels)
        pieces: list[str] = []
        begun: list[tuple[Span, str]] = []
        at = 0

        def text_until(end: int) -> None:
            nonlocal at
            pieces.append(as_text(note.text[at:end]))
            at = end

        def close_until(start: int) -> None:
            while begun and begun[-1][0].end <= start:
                span, element = begun.pop()
                text_until(span.end)
                pieces.append(f"</{element}>")

        for span, code in sorted(given, key=lambda each: (each[0].start, -each[0].end)):
            close_until(span.start)
            if begun and span.end > begun[-1][0].end:
                other = begun[-1][0]
                reason = _(
                    "The span crosses the span {label} {start}-{end}; inline XML can only nest.",
                    *(other.label, other.start, other.end),
                )
                losses.append(Loss(note.name, span, reason))
                continue
            words, lost = attribute_words(note, span, xml_files.NAME, _OWN)
            losses += lost
            element, label = _element(code)
            text_until(span.start)
            more = "".join(f" {key}={as_attribute(word)}" for key, word in words.items())
            pieces.append(f"<{element}{label}{more}>")
            begun.append((span, element))
        close_until(len(note.text))
        text_until(len(note.text))
        whole = f'<?xml version="1.0" encoding="UTF-8"?>\n<{_ROOT}>{"".join(pieces)}</{_ROOT}>\n'
        return whole, losses


def _element(code: str) -> tuple[str, str]:
    """The name of the element for a label, and the attribute that names the label if the element can't."""
    if xml_files.NAME.fullmatch(code) and code.lower() not in _SPECIAL:
        return code, ""
    return _NAMED, f" {_LABEL}={as_attribute(code)}"
