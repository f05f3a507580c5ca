"""DOCX (ECMA-376, WordprocessingML): headers, body, footers of each section in turn, then notes. Macros are ignored.

A paragraph is a line; the cells of a table's row are divided by tabs. Text that tracked changes deleted, comments,
field codes and embedded objects are not read.
"""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from xml.etree.ElementTree import Element

from annotations.formats.documents.base import DocumentSource, Draft, PartKind, count, joined, refused
from annotations.formats.documents.packages import Package

_RELATIONS: Final = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_TEXT: Final = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011", "softHyphen": "\u00ad"}
# Elements whose content is not text of the document, or no longer.
_SKIPPED: Final = frozenset({"del", "moveFrom", "instrText", "delText", "delInstrText", "pPr", "rPr", "tblPr", "sdtPr"})
_NOTES: Final = ((PartKind.FOOTNOTE, "footnotes", "footnote"), (PartKind.ENDNOTE, "endnotes", "endnote"))


def is_docx(names: frozenset[str]) -> bool:
    """Whether the files of a ZIP are the parts of a DOCX."""
    return "[Content_Types].xml" in names and any(name.startswith("word/") for name in names)


def read(source: DocumentSource) -> Iterator[Draft]:
    """The one note of a DOCX, DOCM, DOTX or DOTM."""
    package = Package(source)
    main = next((target for kind, target in _relations(package, "").values() if kind == "officeDocument"), None)
    if main is None or main not in package.names:
        raise package.damaged()
    body = next((each for each in package.xml(main) if _tag(each) == "body"), None)
    if body is None:
        raise package.damaged()
    relations = _relations(package, main)
    draft = Draft(source)
    writer = _Writer()
    shown: set[str] = set()
    boxes = 0
    for blocks, properties in _sections(body):
        margins = {"headerReference": PartKind.HEADER, "footerReference": PartKind.FOOTER}
        around = [(margins[_tag(each)], _value(each, "id")) for each in properties if _tag(each) in margins]
        for kind in (PartKind.HEADER, PartKind.BODY, PartKind.FOOTER):
            if kind is PartKind.BODY:
                draft.add(joined(writer.lines(blocks)), kind)
                for text in writer.take_boxes():
                    boxes += 1
                    draft.add(text, PartKind.TEXT_BOX, boxes)
                continue
            for _kind, relation in (each for each in around if each[0] is kind):
                _type, target = relations.get(relation, ("", ""))
                # A section without headers of its own repeats those before.
                if target in package.names and target not in shown:
                    shown.add(target)
                    lines = writer.lines(package.xml(target))
                    draft.add(joined([*lines, *writer.take_boxes()]), kind)
    for kind, relation, tag in _NOTES:
        target = next((target for name, target in relations.values() if name == relation), "")
        if target in package.names:
            notes = (each for each in package.xml(target) if _tag(each) == tag)
            # Others are the lines that separate notes from the text.
            written = (each for each in notes if _value(each, "type") in ("", "normal"))
            for number, note in enumerate(written, 1):
                draft.add(joined([*writer.lines(note), *writer.take_boxes()]), kind, number)
    _warn(draft, package, relations, writer)
    if not draft.parts:
        raise refused(source.name, "no text", "The document has no text. If it holds pictures of pages, use OCR first.")
    yield draft


def _relations(package: Package, part: str) -> dict[str, tuple[str, str]]:
    """The relations of a part by id: last word of the type, and the name of the other part. Addresses are left out."""
    folder, name = posixpath.split(part)
    file = posixpath.join(folder, "_rels", f"{name}.rels")
    if file not in package.names:
        return {}
    return {
        each.get("Id", ""): (
            each.get("Type", "").rsplit("/", 1)[-1],
            posixpath.normpath(posixpath.join("/", folder, each.get("Target", ""))).lstrip("/"),
        )
        for each in package.xml(file).iter(_RELATIONS)
        if each.get("TargetMode") != "External"
    }


def _tag(element: Element) -> str:
    """The name of an element without its namespace: strict and transitional documents differ in that."""
    return element.tag.rsplit("}", 1)[-1]


def _value(element: Element, name: str) -> str:
    """An attribute by its name without namespace; empty if there is none."""
    return next((value for key, value in element.attrib.items() if key.rsplit("}", 1)[-1] == name), "")


def _sections(body: Element) -> Iterator[tuple[list[Element], Element | list[Element]]]:
    """The blocks of each section, and its properties, which stand in its last paragraph or at the end of the body."""
    blocks: list[Element] = []
    for block in body:
        if _tag(block) == "sectPr":
            yield blocks, block
            blocks = []
            continue
        blocks.append(block)
        if _tag(block) == "p":
            inside = (each for child in block if _tag(child) == "pPr" for each in child)
            found = next((each for each in inside if _tag(each) == "sectPr"), None)
            if found is not None:
                yield blocks, found
                blocks = []
    if blocks:
        yield blocks, []


@dataclass
class _Writer:
    """Turns blocks into lines, and keeps the text boxes on the way, which a page shows apart from the paragraphs."""

    deleted: int = 0
    hidden: int = 0
    _boxes: list[str] = field(default_factory=list)

    def lines(self, blocks: Element | list[Element]) -> Iterator[str]:
        """The lines of blocks: paragraphs, tables, and content controls with blocks in them."""
        for block in blocks:
            tag = _tag(block)
            if tag == "p":
                pieces: list[str] = []
                self._paragraph(block, pieces)
                yield "".join(pieces)
            elif tag == "tbl":
                yield from self._rows(block)
            elif tag in ("del", "moveFrom"):
                self.deleted += 1
            elif tag not in _SKIPPED:
                yield from self.lines(_chosen(block))

    def take_boxes(self) -> list[str]:
        """The text of the text boxes since the last call."""
        found, self._boxes = self._boxes, []
        return found

    def _rows(self, table: Element) -> Iterator[str]:
        for row in _unwrapped(table):
            if _tag(row) == "tr":
                yield "\t".join("\n".join(self.lines(cell)) for cell in _unwrapped(row) if _tag(cell) == "tc")

    def _paragraph(self, element: Element, pieces: list[str]) -> None:
        for child in _chosen(element):
            tag = _tag(child)
            if tag == "t":
                pieces.append(child.text or "")
            elif tag in _TEXT:
                pieces.append(_TEXT[tag])
            elif tag == "sym":
                pieces.append(_symbol(_value(child, "char")))
            elif tag == "txbxContent":
                text = "\n".join(self.lines(child))
                if text.strip():
                    self._boxes.append(text)
            elif tag in _SKIPPED:
                self.deleted += tag in ("del", "moveFrom")
                self.hidden += tag == "rPr" and any(_tag(each) == "vanish" for each in child)
            else:
                self._paragraph(child, pieces)


def _unwrapped(element: Element) -> Iterator[Element]:
    """The children of an element, and those in content controls and tracked changes around them."""
    for child in element:
        if _tag(child) in ("sdt", "sdtContent", "ins", "customXml", "moveTo"):
            yield from _unwrapped(child)
        else:
            yield child


def _chosen(element: Element) -> Element:
    """The children of an element; of alternatives for old and new programs only one, since both have the same text."""
    if _tag(element) != "AlternateContent":
        return element
    choices = [each for each in element if _tag(each) in ("Choice", "Fallback")]
    return next((each for each in choices if any(_tag(inner) == "t" for inner in each.iter())), Element("none"))


def _symbol(code: str) -> str:
    """The character of a symbol font, which places its signs in a private area of Unicode."""
    try:
        value = int(code, 16)
    except ValueError:
        return "\ufffd"
    return chr(value) if 0x20 <= value < 0xD800 else "\ufffd"


def _warn(draft: Draft, package: Package, relations: dict[str, tuple[str, str]], writer: _Writer) -> None:
    kinds = {kind for kind, _target in relations.values()}
    if any(name.lower().endswith("vbaproject.bin") for name in package.names):
        draft.warn("The document has macros. They were ignored.")
    if writer.deleted:
        changes = count(writer.deleted, "tracked deletion was", "tracked deletions were")
        draft.warn(f"{changes} left out. Accept or reject the changes to be sure.")
    if writer.hidden:
        draft.warn(f"The text contains hidden text ({count(writer.hidden, 'time', 'times')}).")
    if "comments" in kinds:
        draft.warn("The comments of the document were left out.")
    if "aFChunk" in kinds or "package" in kinds or "oleObject" in kinds:
        draft.warn("Documents embedded in the document were not read.")
    if "image" in kinds:
        draft.warn("The document has pictures. Text in them was not read.")
