"""DOCX (ECMA-376, WordprocessingML): headers, body, footers of each section in turn, then notes. Macros are ignored.

A paragraph is a line; the cells of a table's row are divided by tabs. Text that tracked changes deleted, comments,
field codes and embedded objects are not read.
"""

import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from xml.etree.ElementTree import Element, ParseError, fromstring
from xml.parsers.expat import ExpatError, ParserCreate

from annotations.formats.documents import base
from annotations.formats.documents.base import DocumentSource, Draft, PartKind, refused
from annotations.formats.files.zips import DAMAGED, TooManyEntries, open_zip
from annotations.text.wording import gettext as _

# Documents that are ZIP archives of XML (DOCX, ODT): their parts, read without entities and document types.


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
            message = _(
                "The part “{name}” declares a document type or entities, which may read other files or fill memory. "
                "Save the document again with a word processor.",
                name,
            )
            raise refused(self._file, "entities", message) from None
        except (ParseError, ExpatError, ValueError, LookupError):
            raise self.damaged() from None
        self._check_depth(root)
        return root

    def damaged(self) -> Exception:
        """The error for a document whose parts are not as they must be."""
        return refused(
            self._file, "damaged", _("The document is damaged. Open it in a word processor and save it as a new file.")
        )

    def _load(self, name: str) -> bytes:
        try:
            with self._archive.open(name) as part:
                data = part.read(self._left + 1)
        except (KeyError, *DAMAGED):
            raise self.damaged() from None
        if len(data) > self._left:
            message = _(
                "The document has more than {most} MiB of text and marks when unpacked. Split it.", MOST_BYTES >> 20
            )
            raise refused(self._file, "bomb", message)
        self._left -= len(data)
        return data

    def _check_depth(self, root: Element) -> None:
        level = [root]
        for _level in range(DEEPEST):
            level = [child for element in level for child in element]
            if not level:
                return
        message = _("The document has more than {most} nested levels. Simplify it.", DEEPEST)
        raise refused(self._file, "nesting", message)


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


_RELATIONS: Final = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_TEXT: Final = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011", "softHyphen": "\u00ad"}
# Elements whose content is not text of the document, or no longer.
_NOT_TEXT: Final = frozenset(
    {"del", "moveFrom", "instrText", "delText", "delInstrText", "pPr", "rPr", "tblPr", "sdtPr"}
)
_NOTES: Final = ((PartKind.FOOTNOTE, "footnotes", "footnote"), (PartKind.ENDNOTE, "endnotes", "endnote"))


def is_docx(names: frozenset[str]) -> bool:
    """Whether the files of a ZIP are the parts of a DOCX."""
    return "[Content_Types].xml" in names and any(name.startswith("word/") for name in names)


def read_docx(source: DocumentSource) -> Iterator[Draft]:
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
    writer = _DocxWriter()
    shown: set[str] = set()
    boxes = 0
    for blocks, properties in _sections(body):
        margins = {"headerReference": PartKind.HEADER, "footerReference": PartKind.FOOTER}
        around = [(margins[_tag(each)], _value(each, "id")) for each in properties if _tag(each) in margins]
        for kind in (PartKind.HEADER, PartKind.BODY, PartKind.FOOTER):
            if kind is PartKind.BODY:
                draft.add(base.joined(writer.lines(blocks)), kind)
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
                    draft.add(base.joined([*lines, *writer.take_boxes()]), kind)
    for kind, relation, tag in _NOTES:
        target = next((target for name, target in relations.values() if name == relation), "")
        if target in package.names:
            notes = (each for each in package.xml(target) if _tag(each) == tag)
            # Others are the lines that separate notes from the text.
            written = (each for each in notes if _value(each, "type") in ("", "normal"))
            for number, note in enumerate(written, 1):
                draft.add(base.joined([*writer.lines(note), *writer.take_boxes()]), kind, number)
    _warn(draft, package, relations, writer)
    yield draft.with_text()


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
class _DocxWriter:
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
            elif tag not in _NOT_TEXT:
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
            elif tag in _NOT_TEXT:
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


def _warn(draft: Draft, package: Package, relations: dict[str, tuple[str, str]], writer: _DocxWriter) -> None:
    kinds = {kind for kind, _target in relations.values()}
    if any(name.lower().endswith("vbaproject.bin") for name in package.names):
        draft.warn(_(base.MACROS))
    if writer.deleted:
        changes = base.count(writer.deleted, _("tracked deletion was"), _("tracked deletions were"))
        draft.warn(_("{deletions_were} left out. Accept or reject the changes to be sure.", changes))
    if writer.hidden:
        draft.warn(_("The text contains hidden text ({times}).", base.count(writer.hidden, _("time"), _("times"))))
    if "comments" in kinds:
        draft.warn(_(base.COMMENTS))
    if "aFChunk" in kinds or "package" in kinds or "oleObject" in kinds:
        draft.warn(_("Documents embedded in the document were not read."))
    if "image" in kinds:
        draft.warn(_(base.PICTURES))


# ODT (OASIS OpenDocument 1.3): headers, body, notes, footers. Macros, comments and deleted text are not read.
#
# A paragraph is a line; the cells of a table's row are divided by tabs.


_SPACES: Final = re.compile(r"[ \t\r\n]+")
# Repeated cells and spaces are numbers in the file: more than this many are not written out.
_MOST_REPEATED: Final = 1000
_ANNOTATION: Final = "annotation"
_SKIPPED: Final = frozenset(
    {_ANNOTATION, "annotation-end", "tracked-changes", "forms", "sequence-decls", "desc", "title"}
)


def read_odt(source: DocumentSource) -> Iterator[Draft]:
    """The one note of an ODT or OTT."""
    package = Package(source)
    if "META-INF/manifest.xml" in package.names and any(
        _tag(each) == "encryption-data" for each in package.xml("META-INF/manifest.xml").iter()
    ):
        raise refused(source.name, "encrypted", _("The document is encrypted. Save a copy without a password."))
    draft = Draft(source)
    writer = _OdtWriter()
    styles = package.xml("styles.xml") if "styles.xml" in package.names else Element("none")
    margins = [each for each in styles.iter() if _tag(each).startswith(("header", "footer")) and _is_style(each)]
    for each in margins:
        if _tag(each).startswith("header") and not _tag(each).endswith("style"):
            draft.add(base.joined(writer.lines(each)), PartKind.HEADER)
    text = next((each for each in package.xml("content.xml").iter() if _tag(each) == "text" and len(each)), None)
    if text is not None:
        draft.add(base.joined(writer.lines(text)), PartKind.BODY)
    for number, box in enumerate(writer.boxes, 1):
        draft.add(box, PartKind.TEXT_BOX, number)
    for kind in (PartKind.FOOTNOTE, PartKind.ENDNOTE):
        for number, note in enumerate((each for found, each in writer.notes if found is kind), 1):
            draft.add(note, kind, number)
    for each in margins:
        if _tag(each).startswith("footer"):
            draft.add(base.joined(writer.lines(each)), PartKind.FOOTER)
    if writer.comments:
        draft.warn(_(base.COMMENTS))
    if writer.deleted:
        draft.warn(
            _(
                "{deletions_were} left out.",
                base.count(writer.deleted, _("tracked deletion was"), _("tracked deletions were")),
            )
        )
    if any(name.startswith(("Basic/", "Scripts/")) for name in package.names):
        draft.warn(_(base.MACROS))
    if any(name.startswith("Pictures/") for name in package.names):
        draft.warn(_(base.PICTURES))
    yield draft.with_text()


def _is_style(element: Element) -> bool:
    return element.tag.startswith("{urn:oasis:names:tc:opendocument:xmlns:style:") and not element.tag.endswith(
        ("-style", "-properties")
    )


def _number(element: Element, name: str) -> int:
    value = next((value for key, value in element.attrib.items() if key.rsplit("}", 1)[-1] == name), "1")
    return min(int(value), _MOST_REPEATED) if value.isdecimal() and len(value) < 10 else 1


class _OdtWriter:
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
