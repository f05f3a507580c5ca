"""The text of one page of a PDF, in reading order, with its form fields and comments.

Only this module and `pdf` load pdfminer.six.
"""

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, Final, NamedTuple

from pdfminer.converter import PDFPageAggregator
from pdfminer.layout import LAParams, LTAnno, LTChar, LTTextBox
from pdfminer.pdfinterp import PDFPageInterpreter, PDFResourceManager
from pdfminer.pdftypes import resolve1
from pdfminer.psparser import PSLiteral
from pdfminer.utils import decode_text

# The reading order of lines with right-to-left letters, from the order in which they stand on the page.
#
# It is the Unicode bidirectional algorithm (UAX 9) the other way round: a line is read from the right where most
# letters run to the left, and numbers and words in other scripts within it from the left.


_LETTER: Final = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)  # Hebrew, Arabic and the other blocks that run to the left
_FORMS: Final = re.compile("[\ufb1d-\ufdff\ufe70-\ufefc]")
_MIRRORED: Final = str.maketrans("()[]{}<>«»‹›", ")(][}{><»«›‹")


def has_right_to_left(text: str) -> bool:
    """Whether a text has a letter that runs to the left."""
    return _LETTER.search(text) is not None


def runs_left(text: str) -> bool:
    """Whether more letters of a text run to the left than to the right."""
    found = [unicodedata.bidirectional(each) for each in text]
    return found.count("R") + found.count("AL") > found.count("L")


def logical(shown: Sequence[str], *, from_right: bool) -> str:
    """The text of a line whose letters, each with its marks, stand side by side, the first one at the left.

    Letters in the forms that they have beside their neighbors become plain ones.
    """
    from fpdf.bidi import BidiParagraph
    from fpdf.enums import TextDirection

    pieces = [unicodedata.normalize("NFKC", each) if _FORMS.search(each) else each for each in shown]
    if from_right:
        pieces.reverse()
    direction = TextDirection.RTL if from_right else TextDirection.LTR
    line = BidiParagraph("".join(each[0] for each in pieces), direction, preserve_bn_chars=True)
    ordered = [
        pieces[each.character_index].translate(_MIRRORED) if each.embedding_level % 2 else pieces[each.character_index]
        for each in line.get_reordered_characters()
    ]
    return "".join(reversed(ordered) if from_right else ordered)


# The reading order of the lines of a page: columns of prose one after another, tables row by row.
#
# pdfminer.six groups lines into boxes by distance, and tears rows of tables and forms apart. Here a page is divided
# into bands (lines that overlap in height). Bands that have a gap in common at the same place are columns: of prose if
# their lines are long and fill them, else of a table.


# Lines overlap in height if they share at least this part of the lower one.
_SHARED: Final = 0.35
# The least gap between columns (points). Words of one line are put together before.
_GAP: Final = 3.0
# What tells columns of prose from those of a table: several lines are long and fill the column.
_CHARACTERS: Final = 20
_FILLED: Final = 0.8
_FULL_LINES: Final = 2
_FULL_SHARE: Final = 0.4
# A gap between lines above this part of their height begins a new block: with double spacing it is smaller.
_BLOCK: Final = 1.1


@dataclass(frozen=True, slots=True)
class PdfLine:
    """A line of text and its box. `bottom` and `top` grow upwards (points)."""

    left: float
    bottom: float
    right: float
    top: float
    text: str

    @property
    def height(self) -> float:
        return self.top - self.bottom


def page_text(lines: Sequence[PdfLine]) -> str:
    """The text of a page: an empty line between blocks, tabs between the cells of a row."""
    pieces: list[str] = []
    before: PdfLine | None = None
    for line in _ordered(lines):
        if before is not None:
            gap = before.bottom - line.top
            # The next column begins above the end of the one before.
            apart = gap > _BLOCK * min(before.height, line.height) or line.bottom > before.top
            pieces.append("\n\n" if apart else "\n")
        pieces.append(line.text)
        before = line
    return "".join(pieces)


def _ordered(lines: Sequence[PdfLine]) -> Iterator[PdfLine]:
    bands = _bands(lines)
    at = 0
    while at < len(bands):
        run = list(bands[at])
        end = at + 1
        columns = _columns(run)
        while len(columns) > 1 and end < len(bands):
            wider = _columns(run + bands[end])
            if len(wider) < 2:
                break
            run, columns, end = run + bands[end], wider, end + 1
        if len(columns) > 1 and all(map(_is_prose, columns)):
            for column in columns:
                yield from _ordered(column)
        else:
            for band in bands[at:end]:
                yield _row(band)
        at = end


def _bands(lines: Sequence[PdfLine]) -> list[list[PdfLine]]:
    """Lines that overlap in height, from top to bottom."""
    bands: list[list[PdfLine]] = []
    bottom = 0.0
    for line in sorted(lines, key=lambda each: (-each.top, each.left)):
        if bands and line.top - bottom > _SHARED * min(line.height, bands[-1][-1].height):
            bands[-1].append(line)
            bottom = min(bottom, line.bottom)
        else:
            bands.append([line])
            bottom = line.bottom
    return bands


def _columns(lines: Sequence[PdfLine]) -> list[list[PdfLine]]:
    """Lines that overlap in width, from left to right."""
    columns: list[list[PdfLine]] = []
    right = 0.0
    for line in sorted(lines, key=lambda each: each.left):
        if columns and line.left - right < _GAP:
            columns[-1].append(line)
            right = max(right, line.right)
        else:
            columns.append([line])
            right = line.right
    return columns


def _is_prose(column: Sequence[PdfLine]) -> bool:
    width = max(line.right for line in column) - min(line.left for line in column)
    full = sum(len(line.text) >= _CHARACTERS and line.right - line.left >= _FILLED * width for line in column)
    return full >= max(_FULL_LINES, _FULL_SHARE * len(column))


def _row(band: Sequence[PdfLine]) -> PdfLine:
    """One line with the cells of a row; a cell of several lines becomes one."""
    cells = [sorted(cell, key=lambda each: (-each.top, each.left)) for cell in _columns(band)]
    return PdfLine(
        min(line.left for line in band),
        min(line.bottom for line in band),
        max(line.right for line in band),
        max(line.top for line in band),
        "\t".join(" ".join(line.text for line in cell) for cell in cells),
    )


_WIDGET: Final = "Widget"
# Kinds of annotations whose text pages don't show, or show beside the page.
_COMMENTS: Final = frozenset({"Text", "FreeText", "Highlight", "Underline", "Squiggly", "StrikeOut", "Stamp", "Caret"})
_MOST_PARENTS: Final = 20
_WORD_MARGIN: Final = 0.1
"""The gap between words, as a part of a letter's height or width (the default of pdfminer.six)."""
_LONGEST_STATED: Final = 40
"""The most characters whose text is taken as the document states it."""


class PageText(NamedTuple):
    """The text of a page, and the number of its characters that are unknown (U+FFFD)."""

    text: str
    unknown: int


class PageReader:
    """Reads pages one after another, and keeps fonts that pages share."""

    def __init__(self) -> None:
        manager = PDFResourceManager()
        self._device = _Device(manager)
        self._interpreter = PDFPageInterpreter(manager, self._device)

    def read(self, page: Any) -> PageText:
        """The text of a page: lines as they are printed."""
        self._interpreter.process_page(page)
        boxes = (each for each in self._device.get_result() if isinstance(each, LTTextBox))
        rows = [(row, text) for box in boxes for row in box if (text := _line(row))]
        whole = "".join(text for _row, text in rows)
        from_right = has_right_to_left(whole) and runs_left(whole)
        lines = []
        for row, text in rows:
            if has_right_to_left(text):
                text = logical(_shown(row), from_right=from_right or runs_left(text)).strip()
            left, bottom, right, top = row.bbox
            # Columns and cells stand in the other order, too.
            lines.append(PdfLine(*((-right, bottom, -left) if from_right else (left, bottom, right)), top, text))
        return PageText(page_text(lines), self._device.unknown)


def _line(line: Iterable[Any]) -> str:
    """The text of a line. Where the layout adds a space to one that is there (justified text), only one is kept."""
    pieces: list[str] = []
    added = False
    for each in line:
        text = each.get_text()
        is_added = isinstance(each, LTAnno)
        if text == " " and pieces and pieces[-1] == " " and (is_added or added):
            continue
        pieces.append(text)
        added = is_added
    return "".join(pieces).strip(" \n")


def _shown(line: Iterable[Any]) -> list[str]:
    """The letters of a line from left to right, each with the marks above and below it, and spaces in gaps."""
    characters = [each for each in line if isinstance(each, LTChar) and each.get_text()]
    characters.sort(key=lambda each: each.x0)
    letters = [each for each in characters if not unicodedata.combining(each.get_text()[0])]
    starts = [each.x0 for each in letters]
    texts = [each.get_text() for each in letters]
    for each in characters:
        if letters and unicodedata.combining(each.get_text()[0]):
            texts[max(0, bisect_right(starts, (each.x0 + each.x1) / 2) - 1)] += each.get_text()
    pieces: list[str] = []
    end = math.inf
    for letter, text in zip(letters, texts, strict=True):
        if end < letter.x0 - _WORD_MARGIN * max(letter.width, letter.height) and " " not in (text, pieces[-1]):
            pieces.append(" ")
        pieces.append(text)
        end = letter.x1
    return pieces


class _Device(PDFPageAggregator):
    """Collects the characters of a page. Text inside figures is laid out with the rest; pictures are left out.

    Where a document states the text of a few characters (`ActualText`: a soft hyphen, a ligature), it counts.
    """

    def __init__(self, manager: PDFResourceManager) -> None:
        super().__init__(manager, laparams=LAParams(boxes_flow=None, word_margin=_WORD_MARGIN))
        self.unknown = 0
        self._spans: list[tuple[str, list[LTChar]]] = []

    def begin_page(self, *arguments: Any) -> None:
        super().begin_page(*arguments)
        self.unknown = 0
        self._spans.clear()

    def begin_tag(self, tag: Any, props: Any = None) -> None:
        stated = resolve1(props)
        self._spans.append((_string(resolve1(stated.get("ActualText"))) if isinstance(stated, dict) else "", []))

    def end_tag(self) -> None:
        stated, characters = self._spans.pop() if self._spans else ("", [])
        shown = "".join(each.get_text() for each in characters).strip()
        # Longer texts may be descriptions.
        if stated and characters and len(shown) <= _LONGEST_STATED >= len(stated):
            self.unknown -= shown.count("\ufffd")
            for each, text in zip(characters, chain([stated], repeat("")), strict=False):
                each._text = text

    def render_char(self, *arguments: Any, **named: Any) -> float:
        advance = super().render_char(*arguments, **named)
        added = self.cur_item._objs[-1]
        if self._spans and isinstance(added, LTChar):
            self._spans[-1][1].append(added)
        return advance

    def begin_figure(self, *_: Any) -> None:
        pass

    def end_figure(self, *_: Any) -> None:
        pass

    def render_image(self, *_: Any) -> None:
        pass

    def paint_path(self, *_: Any) -> None:
        pass

    def handle_undefined_char(self, *_: Any) -> str:
        self.unknown += 1
        return "\ufffd"


def fields_of(page: Any) -> tuple[list[str], list[str]]:
    """The values of the form fields on a page, with the field's name, and the texts of comments."""
    fields: list[str] = []
    comments: list[str] = []
    for each in _items(page.annots):
        annotation = resolve1(each)
        if not isinstance(annotation, dict):
            continue
        subtype = _word(annotation.get("Subtype"))
        if subtype == _WIDGET:
            value = _inherited(annotation, "V")
            name = _string(_inherited(annotation, "TU")) or _string(_inherited(annotation, "T"))
            text = ", ".join(filter(None, map(_string, value if isinstance(value, list) else [value])))
            if text:
                fields.append(f"{name}: {text}" if name else text)
        elif subtype in _COMMENTS and (text := _string(resolve1(annotation.get("Contents")))):
            comments.append(text)
    return fields, list(dict.fromkeys(comments))


def _items(value: Any) -> list[Any]:
    found = resolve1(value)
    return found if isinstance(found, list) else []


def _inherited(annotation: dict[str, Any], key: str) -> Any:
    """A value of a field, or of the fields that it belongs to."""
    for _ in range(_MOST_PARENTS):
        if key in annotation:
            return resolve1(annotation[key])
        parent = resolve1(annotation.get("Parent"))
        if not isinstance(parent, dict):
            return None
        annotation = parent
    return None


def _word(value: Any) -> str:
    found = resolve1(value)
    return str(found.name) if isinstance(found, PSLiteral) else ""


def _string(value: Any) -> str:
    found = resolve1(value)
    return decode_text(found).replace("\r\n", "\n").replace("\r", "\n").strip() if isinstance(found, bytes) else ""
