"""A certificate as PDF. The same JSON gives the same bytes with the same versions of the libraries.

Fonts: DejaVu Sans, which has letters of Latin, Greek, Cyrillic, Hebrew, Arabic, Armenian and Georgian script. What it
lacks is written as the character's number, and the PDF says so; the attached JSON has every character.
"""

import json
import unicodedata
from collections.abc import Container, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Final

from fpdf import FPDF
from fpdf.bidi import BidiParagraph
from fpdf.enums import Align, TableBordersLayout, VAlign, XPos, YPos
from fpdf.fonts import FontFace, TTFFont

from annotations.release.rules.certificates.content import Content
from annotations.release.rules.certificates.layout import Facts, PdfTable, Section, Text, sections, title_of

# Text in any script for a PDF font: right-to-left order, joined Arabic letters, and characters that the font lacks.


_FORMS: Final = range(0xFE70, 0xFF00)
_RIGHT_TO_LEFT: Final = frozenset({"R", "AL"})


def drawable(text: str, glyphs: Container[int]) -> tuple[str, bool]:
    """The text in the order in which a PDF draws it, and whether every character has a glyph.

    `glyphs` are the code points of the font. A character without
    a glyph, and one that controls the direction of text, is written as its number: "[U+4E2D]".
    """
    whole = True
    if any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text):
        text = BidiParagraph(joined(text)).get_reordered_string()
    parts = []
    for character in text:
        if character in "\n\t\r\u2028\u2029":
            parts.append(" ")
        elif ord(character) in glyphs and unicodedata.category(character) not in ("Cf", "Cc"):
            parts.append(character)
        else:
            parts.append(f"[U+{ord(character):04X}]")
            whole = False
    return "".join(parts), whole


def joined(text: str) -> str:
    """The text with Arabic letters in the forms that they have beside their neighbors (Unicode, section 9.2)."""
    forms = _forms()
    out = []
    # Marks are written above or below a letter and don't separate it from the next one.
    letters = [at for at, character in enumerate(text) if not unicodedata.combining(character)]
    index = {at: number for number, at in enumerate(letters)}
    for at, character in enumerate(text):
        known = forms.get(character)
        if known is None or at not in index:
            out.append(character)
            continue
        number = index[at]
        before = forms.get(text[letters[number - 1]], {}) if number else {}
        after = forms.get(text[letters[number + 1]], {}) if number + 1 < len(letters) else {}
        to_before = "initial" in before and "final" in known
        to_after = "initial" in known and "final" in after
        form = "medial" if to_before and to_after else "final" if to_before else "initial" if to_after else "isolated"
        out.append(known.get(form, character))
    return "".join(out)


@cache
def _forms() -> dict[str, dict[str, str]]:
    """The presentation forms of Arabic letters, by letter and by isolated, final, initial, medial."""
    found: dict[str, dict[str, str]] = {}
    for code in _FORMS:
        kind, _, letters = unicodedata.decomposition(chr(code)).partition("> ")
        if kind and len(letters) == 4:
            found.setdefault(chr(int(letters, 16)), {})[kind[1:]] = chr(code)
    return found


ATTACHED: Final = "certificate.json"
_FONTS: Final = Path(__file__).with_name("fonts")
_FAMILY: Final = "DejaVu"
_MARGIN: Final = 18
_BODY: Final = 9.0
_CELL: Final = 8.0
_LINE: Final = 4.6
_ACCENT: Final = (30, 64, 120)
_QUIET: Final = (90, 90, 90)
_MISSING: Final = (
    "The font of this PDF lacks some characters of this certificate. They are written as their Unicode numbers in "
    "square brackets; the attached certificate.json has them."
)


def render(data: bytes) -> bytes:
    """The PDF of a certificate's JSON, which it has as an attachment."""
    content: Content = json.loads(data)["certificate"]
    page = _Page(content)
    for section in sections(content):
        page.section(section)
    if page.lacks_glyphs:
        page.paragraph(_MISSING)
    page.embed_file(
        bytes=data,
        basename=ATTACHED,
        mime_type="application/json",
        modification_date=page.creation_date,
        desc="The signed certificate",
    )
    return bytes(page.output())


class _Page(FPDF):
    """A4 pages with a foot that names the certificate."""

    def __init__(self, content: Content) -> None:
        super().__init__(format="A4")
        self.lacks_glyphs = False
        self.set_creation_date(datetime.fromisoformat(content["issued_at"]))
        self.set_margin(_MARGIN)
        self.set_auto_page_break(True, 20)
        self.add_font(_FAMILY, "", _FONTS / "DejaVuSans.ttf")
        self.add_font(_FAMILY, "B", _FONTS / "DejaVuSans-Bold.ttf")
        font = self.fonts[_FAMILY.lower()]
        assert isinstance(font, TTFFont)  # It was added above.
        self._glyphs = font.cmap
        self.set_lang("en")
        title = title_of(content)
        self.set_title(title)
        self.set_producer("deidreview")
        self.set_creator("deidreview")
        self._foot = self.shown(f"{title} · key {content['key'][:16]}…")
        self.set_font(_FAMILY, "", _BODY)
        self.add_page()
        self.set_font(_FAMILY, "B", 16)
        self.multi_cell(0, 8, self.shown("Certificate of de-identification"), new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        self.set_font(_FAMILY, "", 11)
        self.multi_cell(0, 6, self.shown(title), new_x=XPos.LMARGIN, new_y=YPos.NEXT)

    def shown(self, text: str) -> str:
        drawn, whole = drawable(text, self._glyphs)
        self.lacks_glyphs = self.lacks_glyphs or not whole
        return drawn

    def footer(self) -> None:
        self.set_y(-14)
        self.set_font(_FAMILY, "", 7)
        self.set_text_color(*_QUIET)
        self.cell(0, 5, f"{self._foot} · page {self.page_no()} of {{nb}}")
        self.set_text_color(0)

    def section(self, section: Section) -> None:
        self.ln(4)
        if self.will_page_break(24):
            self.add_page()
        self.set_font(_FAMILY, "B", 12)
        self.set_text_color(*_ACCENT)
        self.start_section(section.title)
        self.multi_cell(0, 6, section.title, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        self.set_text_color(0)
        if section.clause:
            self.set_font(_FAMILY, "", 7.5)
            self.set_text_color(*_QUIET)
            self.multi_cell(0, 4, f"ISO/IEC 27559:2022, {section.clause}", new_x=XPos.LMARGIN, new_y=YPos.NEXT)
            self.set_text_color(0)
        for block in section.blocks:
            self.ln(1.5)
            if isinstance(block, Text):
                self.paragraph(block.text)
            elif isinstance(block, Facts):
                self.facts(block)
            else:
                self.grid(block)

    def paragraph(self, text: str) -> None:
        self.set_font(_FAMILY, "", _BODY)
        self.multi_cell(0, _LINE, self.shown(text), align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)

    def facts(self, facts: Facts) -> None:
        self._table([], facts.rows, (26, 74), [Align.L, Align.L])

    def grid(self, table: PdfTable) -> None:
        if self.will_page_break(20):
            self.add_page()
        self.set_font(_FAMILY, "B", _BODY)
        self.multi_cell(0, _LINE + 1, self.shown(table.caption), align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        aligned = [Align.R if at in table.right else Align.L for at in range(len(table.head))]
        self._table(table.head, table.rows, table.widths, aligned)

    def _table(
        self, head: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int], aligned: list[Align]
    ) -> None:
        """Draw rows; without a head, the first cell of each row is its heading."""
        self.set_font(_FAMILY, "", _CELL)
        bold = FontFace(emphasis="BOLD")
        with self.table(
            col_widths=tuple(widths),
            text_align=tuple(aligned),
            first_row_as_headings=bool(head),
            num_heading_rows=1 if head else 0,
            headings_style=bold,
            line_height=_LINE - 0.6,
            padding=(0.7, 1),
            v_align=VAlign.T,
            borders_layout=TableBordersLayout.HORIZONTAL_LINES,
        ) as drawn:
            if head:
                drawn.row([self.shown(cell) for cell in head])
            for cells in rows:
                row = drawn.row()
                for at, cell in enumerate(cells):
                    row.cell(self.shown(cell), style=bold if not head and at == 0 else None)
