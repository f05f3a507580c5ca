"""The rows of an Excel workbook, read and written as streams (ECMA-376 part 1, SpreadsheetML).

openpyxl doesn't do the work: it holds a cell of any length in memory (60 MB from a file of 63 KB), gives an empty row
for each number that a file leaves out (millions from 5 KB), and takes three to five times as long for a row. Only what
rows need is read: texts, numbers and truth values; a date is the number that stands for it.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import IO, Final
from zipfile import ZIP_DEFLATED, ZipFile

from annotations.formats.files.zips import new_entry
from annotations.formats.notes import NoteError
from annotations.formats.xml_files import UNWRITABLE, XmlHandler, as_attribute, as_text, parse

MOST_ROWS: Final = 1_048_576
"""The most rows of a sheet."""

LONGEST: Final = 32_767
"""The most characters of a cell."""

# Escapes take seven characters in place of one.
_LONGEST_READ: Final = 8 * LONGEST
_MOST_COLUMNS: Final = 16_384
_TO_ESCAPE: Final = re.compile(f"\r|{UNWRITABLE.pattern}|_(?=x[0-9A-Fa-f]{{4}}_)")
_ESCAPED: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")
_LETTERS: Final = re.compile(r"([A-Z]{1,3})[0-9]*")
_DIGITS: Final = re.compile(r"-?[0-9]{1,18}")
_XML: Final = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS: Final = "http://schemas.openxmlformats.org/package/2006/relationships"
_RELATION: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES: Final = "http://schemas.openxmlformats.org/package/2006/content-types"
_TYPE: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml"


class SheetWriter:
    """Writes a workbook. `begin` a sheet before its rows, and `close` at the end."""

    def __init__(self, out: IO[bytes]) -> None:
        self._zip = ZipFile(out, "w", ZIP_DEFLATED)
        self._sheet: IO[bytes] | None = None
        self._names: list[str] = []
        self._row = 0

    def begin(self, name: str) -> None:
        self._end()
        self._names.append(name)
        self._row = 0
        self._sheet = self._zip.open(new_entry(f"xl/worksheets/sheet{len(self._names)}.xml"), "w", force_zip64=True)
        self._sheet.write(f'{_XML}<worksheet xmlns="{_MAIN}"><sheetData>'.encode())

    def add(self, cells: list[object]) -> None:
        """Add a row of texts and numbers. A text that is too long for a cell is left out."""
        assert self._sheet is not None
        self._row += 1
        row = "".join(_cell(f"{letters(at)}{self._row}", value) for at, value in enumerate(cells))
        self._sheet.write(f'<row r="{self._row}">{row}</row>\n'.encode())

    def close(self) -> None:
        self._end()
        sheets = relations = types = ""
        for number, name in enumerate(self._names, 1):
            sheets += f'<sheet name={as_attribute(name)} sheetId="{number}" r:id="rId{number}"/>'
            target = f"worksheets/sheet{number}.xml"
            relations += f'<Relationship Id="rId{number}" Type="{_RELATION}/worksheet" Target="{target}"/>'
            types += f'<Override PartName="/xl/{target}" ContentType="{_TYPE}.worksheet+xml"/>'
        book = f'<Relationship Id="rId1" Type="{_RELATION}/officeDocument" Target="xl/workbook.xml"/>'
        types = (
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="xml" ContentType="application/xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>{types}'
        )
        for name, content in (
            (
                "xl/workbook.xml",
                f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATION}"><sheets>{sheets}</sheets></workbook>',
            ),
            ("xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{_RELATIONS}">{relations}</Relationships>'),
            ("_rels/.rels", f'<Relationships xmlns="{_RELATIONS}">{book}</Relationships>'),
            ("[Content_Types].xml", f'<Types xmlns="{_TYPES}">{types}</Types>'),
        ):
            self._zip.writestr(new_entry(name), f"{_XML}{content}")
        self._zip.close()

    def _end(self) -> None:
        if self._sheet is not None:
            self._sheet.write(b"</sheetData></worksheet>")
            self._sheet.close()
            self._sheet = None


@lru_cache(_MOST_COLUMNS)
def letters(at: int) -> str:
    """The name of a column: 0 is A, and 26 is AA."""
    return (letters(at // 26 - 1) if at >= 26 else "") + chr(ord("A") + at % 26)


def _cell(place: str, value: object) -> str:
    if isinstance(value, int):
        return f'<c r="{place}"><v>{value}</v></c>'
    text = _TO_ESCAPE.sub(lambda match: f"_x{ord(match.group()):04X}_", str(value))
    if not text or len(text) > LONGEST:
        return ""
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{as_text(text)}</t></is></c>'


class DamagedError(ValueError):
    """The workbook is damaged."""


def read_sheets(archive: ZipFile) -> Iterator[Iterator[tuple[int, list[object]]]]:
    """The sheets of a workbook, each as its rows with their numbers (1-based).

    Raises DamagedError, or what zipfile raises for a damaged archive.
    """
    book, relations, shared = _Elements("sheet"), _Elements("Relationship"), _SharedTexts()
    _read(archive, "xl/workbook.xml", book)
    _read(archive, "xl/_rels/workbook.xml.rels", relations)
    if "xl/sharedStrings.xml" in archive.namelist():
        _read(archive, "xl/sharedStrings.xml", shared)
    targets = {each.get("Id", ""): each.get("Target", "") for each in relations.found}
    for key in (value for sheet in book.found for name, value in sheet.items() if name.endswith("}id")):
        target = targets.get(key)
        if target is None:
            raise DamagedError
        yield _pieces(archive, posixpath.normpath(posixpath.join("/xl", target))[1:], _Sheet(shared.every))


def _read(archive: ZipFile, part: str, handler: XmlHandler) -> None:
    for _ in _pieces(archive, part, handler):
        continue


def _pieces(archive: ZipFile, part: str, handler: XmlHandler) -> Iterator[tuple[int, list[object]]]:
    with archive.open(part) as stream:
        try:
            yield from parse(stream, part, handler)
        except NoteError:
            raise DamagedError from None


class _Elements(XmlHandler):
    """The attributes of the elements with a name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self.found: list[Mapping[str, str]] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name.endswith(f"}}{self._name}"):
            self.found.append(attributes)


class _Texts(XmlHandler):
    """Texts, of which each may be in several elements; pronunciations don't belong to them."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._length = 0
        self._spoken = False
        self._taken = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name.endswith(("}t", "}v")):
            self._taken = not self._spoken
        elif name.endswith("}rPh"):
            self._spoken = True

    def end(self, name: str) -> None:
        self._taken = False
        if name.endswith("}rPh"):
            self._spoken = False

    def data(self, text: str) -> None:
        if self._taken:
            self.words.append(text)
            self._length += len(text)
            if self._length > _LONGEST_READ:
                raise DamagedError

    def taken(self) -> str:
        """The text since the last call."""
        text = "".join(self.words)
        self.words = []
        self._length = 0
        return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


class _SharedTexts(_Texts):
    """The texts that cells name by number."""

    def __init__(self) -> None:
        super().__init__()
        self.every: list[str] = []

    def end(self, name: str) -> None:
        super().end(name)
        if name.endswith("}si"):
            self.every.append(self.taken())


class _Sheet(_Texts):
    """The rows of a sheet."""

    def __init__(self, shared: list[str]) -> None:
        super().__init__()
        self._shared = shared
        self._number = 0
        self._cells: list[object] = []
        self._kind = "n"

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name.endswith("}c"):
            self._kind = attributes.get("t", "n")
            at = _column(attributes.get("r", ""), len(self._cells))
            self._cells += [None] * (at - len(self._cells))
        elif name.endswith("}row"):
            self._number = int(attributes.get("r", self._number + 1))
            self._cells = []
        else:
            super().start(name, attributes)

    def end(self, name: str) -> None:
        if name.endswith("}c"):
            self._cells.append(self._value(self.taken()))
        elif name.endswith("}row"):
            self.done.append((self._number, self._cells))
        else:
            super().end(name)

    def _value(self, text: str) -> object:
        match self._kind:
            case "s":
                at = int(text)
                if not 0 <= at < len(self._shared):
                    raise DamagedError
                return self._shared[at]
            case "b":
                return text.strip() == "1"
            case "n":
                return None if not text else int(text) if _DIGITS.fullmatch(text) else float(text)
            case _:
                return text


def _column(place: str, following: int) -> int:
    """The column of a cell (0-based) by its place, such as B7; without a place, the following one."""
    match = _LETTERS.match(place)
    at = _at(match[1]) if match else following
    if not following <= at < _MOST_COLUMNS:
        raise DamagedError
    return at


@lru_cache(_MOST_COLUMNS)
def _at(name: str) -> int:
    at = 0
    for letter in name:
        at = at * 26 + ord(letter) - ord("A") + 1
    return at - 1
