"""The text of one page of a PDF, in reading order, with its form fields and comments.

Only this module and `pdf` load pdfminer.six.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from pdfminer.converter import PDFPageAggregator
from pdfminer.layout import LAParams, LTAnno, LTTextBox
from pdfminer.pdfinterp import PDFPageInterpreter, PDFResourceManager
from pdfminer.pdftypes import resolve1
from pdfminer.psparser import PSLiteral
from pdfminer.utils import decode_text

from annotations.domain.documents.reading_order import Line, page_text

_WIDGET: Final = "Widget"
# Kinds of annotations whose text pages don't show, or show beside the page.
_COMMENTS: Final = frozenset({"Text", "FreeText", "Highlight", "Underline", "Squiggly", "StrikeOut", "Stamp", "Caret"})
_MOST_PARENTS: Final = 20


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
        self._device.unknown = 0
        self._interpreter.process_page(page)
        boxes = (each for each in self._device.get_result() if isinstance(each, LTTextBox))
        lines = (Line(*line.bbox, _line(line)) for box in boxes for line in box)
        return PageText(page_text([line for line in lines if line.text]), self._device.unknown)


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


class _Device(PDFPageAggregator):
    """Collects the characters of a page. Text inside figures is laid out with the rest; pictures are left out."""

    def __init__(self, manager: PDFResourceManager) -> None:
        super().__init__(manager, laparams=LAParams(boxes_flow=None))
        self.unknown = 0

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
