"""Small documents, written by other libraries."""

import io

import docx
from fpdf import FPDF


def pdf(*pages: str) -> bytes:
    """A PDF with these pages."""
    written = FPDF()
    written.set_font("Helvetica", size=12)
    for text in pages:
        written.add_page()
        written.multi_cell(0, 8, text)
    return bytes(written.output())


def word(*paragraphs: str) -> bytes:
    """A DOCX with these paragraphs."""
    out = io.BytesIO()
    written = docx.Document()
    for text in paragraphs:
        written.add_paragraph(text)
    written.save(out)
    return out.getvalue()
