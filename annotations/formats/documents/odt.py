"""ODT (OASIS OpenDocument 1.3): headers, body, notes, footers. Macros, comments and deleted text are not read.

A paragraph is a line; the cells of a table's row are divided by tabs.
"""

import re
from collections.abc import Iterator
from typing import Final
from xml.etree.ElementTree import Element

from annotations.formats.documents.base import DocumentSource, Draft, PartKind, count, joined, refused
from annotations.formats.documents.packages import Package

_SPACES: Final = re.compile(r"[ \t\r\n]+")
# Repeated cells and spaces are numbers in the file: more than this many are not written out.
_MOST_REPEATED: Final = 1000
_ANNOTATION: Final = "annotation"
_SKIPPED: Final = frozenset(
    {_ANNOTATION, "annotation-end", "tracked-changes", "forms", "sequence-decls", "desc", "title"}
)


def read(source: DocumentSource) -> Iterator[Draft]:
    """The one note of an ODT or OTT."""
    package = Package(source)
    if "META-INF/manifest.xml" in package.names and any(
        _tag(each) == "encryption-data" for each in package.xml("META-INF/manifest.xml").iter()
    ):
        raise refused(source.name, "encrypted", "The document is encrypted. Save a copy without a password.")
    draft = Draft(source)
    writer = _Writer()
    styles = package.xml("styles.xml") if "styles.xml" in package.names else Element("none")
    margins = [each for each in styles.iter() if _tag(each).startswith(("header", "footer")) and _is_style(each)]
    for each in margins:
        if _tag(each).startswith("header") and not _tag(each).endswith("style"):
            draft.add(joined(writer.lines(each)), PartKind.HEADER)
    text = next((each for each in package.xml("content.xml").iter() if _tag(each) == "text" and len(each)), None)
    if text is not None:
        draft.add(joined(writer.lines(text)), PartKind.BODY)
    for number, box in enumerate(writer.boxes, 1):
        draft.add(box, PartKind.TEXT_BOX, number)
    for kind in (PartKind.FOOTNOTE, PartKind.ENDNOTE):
        for number, note in enumerate((each for found, each in writer.notes if found is kind), 1):
            draft.add(note, kind, number)
    for each in margins:
        if _tag(each).startswith("footer"):
            draft.add(joined(writer.lines(each)), PartKind.FOOTER)
    if writer.comments:
        draft.warn("The comments of the document were left out.")
    if writer.deleted:
        draft.warn(f"{count(writer.deleted, 'tracked deletion was', 'tracked deletions were')} left out.")
    if any(name.startswith(("Basic/", "Scripts/")) for name in package.names):
        draft.warn("The document has macros. They were ignored.")
    if any(name.startswith("Pictures/") for name in package.names):
        draft.warn("The document has pictures. Text in them was not read.")
    if not draft.parts:
        raise refused(source.name, "no text", "The document has no text. If it holds pictures of pages, use OCR first.")
    yield draft


def _tag(element: Element) -> str:
    return element.tag.rsplit("}", 1)[-1]


def _is_style(element: Element) -> bool:
    return element.tag.startswith("{urn:oasis:names:tc:opendocument:xmlns:style:") and not element.tag.endswith(
        ("-style", "-properties")
    )


def _number(element: Element, name: str) -> int:
    value = next((value for key, value in element.attrib.items() if key.rsplit("}", 1)[-1] == name), "1")
    return min(int(value), _MOST_REPEATED) if value.isdecimal() and len(value) < 10 else 1


class _Writer:
    """Turns blocks into lines, and keeps notes and text boxes on the way."""

    def __init__(self) -> None:
        self.notes: list[tuple[PartKind, str]] = []
        self.boxes: list[str] = []
        self.comments = self.deleted = 0

    def lines(self, blocks: Element) -> Iterator[str]:
        """The lines of blocks: paragraphs, headings, lists, tables, sections, frames."""
        for block in blocks:
            tag = _tag(block)
            if tag in ("p", "h"):
                yield self._paragraph(block)
            elif tag == "table-row":
                cells = (each for each in block if _tag(each) in ("table-cell", "covered-table-cell"))
                row = "\t".join(self._cell(each) for each in cells)
                yield from [row] * (_number(block, "number-rows-repeated") if row else 1)
            elif tag in _SKIPPED:
                self._skip(block)
            else:
                yield from self.lines(block)

    def _cell(self, cell: Element) -> str:
        text = "\n".join(self.lines(cell))
        return "\t".join([text] * _number(cell, "number-columns-repeated"))

    def _skip(self, element: Element) -> None:
        self.comments += _tag(element) == _ANNOTATION
        self.deleted += sum(_tag(each) == "deletion" for each in element.iter())

    def _paragraph(self, paragraph: Element) -> str:
        # White space in the file is collapsed; spaces that count are elements, kept here as U+0000.
        pieces: list[str] = []
        self._inline(paragraph, pieces)
        return _SPACES.sub(" ", "".join(pieces)).strip(" ").translate({0: " ", 1: "\t", 2: "\n"})

    def _inline(self, element: Element, pieces: list[str]) -> None:
        pieces.append(element.text or "")
        for child in element:
            tag = _tag(child)
            if tag == "s":
                pieces.append("\0" * _number(child, "c"))
            elif tag == "tab":
                pieces.append("\1")
            elif tag == "line-break":
                pieces.append("\2")
            elif tag == "soft-page-break":
                pass
            elif tag == "note":
                self._note(child)
            elif tag == "text-box":
                self.boxes.append("\n".join(self.lines(child)))
            elif tag in _SKIPPED:
                self._skip(child)
            else:
                self._inline(child, pieces)
            pieces.append(child.tail or "")

    def _note(self, note: Element) -> None:
        kind = next((value for key, value in note.attrib.items() if key.endswith("}note-class")), "")
        body = next((each for each in note if _tag(each) == "note-body"), None)
        if body is not None:
            found = PartKind.ENDNOTE if kind == "endnote" else PartKind.FOOTNOTE
            self.notes.append((found, "\n".join(self.lines(body))))
