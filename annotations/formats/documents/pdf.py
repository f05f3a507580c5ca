"""PDF with a text layer (pdfminer.six): pages in order, with form fields and comments of each page after its text.

A PDF without a text layer (pictures of pages) is read by OCR where that is installed. An encrypted one is refused.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any, BinaryIO, Final, cast

from annotations.formats.documents import programs
from annotations.formats.documents.base import DocumentSource, Draft, PartKind, count, refused
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop

# Above this share of characters that the fonts give no letters for, the text layer is useless.
_MOST_UNKNOWN: Final = 0.3
_NAMED: Final = 20
_NO_TEXT_LAYER: Final = gettext_noop("The PDF has no text layer: its pages are pictures.")
_UNREADABLE: Final = gettext_noop("The PDF has no readable text layer: its fonts don't say which letters they show.")


def read_pdf(source: DocumentSource) -> Iterator[Draft]:
    """The one note of a PDF. Raises NoteError if it has no text layer, is encrypted or damaged."""
    from pdfminer.pdfdocument import PDFDocument, PDFEncryptionError, PDFPasswordIncorrect
    from pdfminer.pdfexceptions import PDFException
    from pdfminer.pdfpage import PDFPage
    from pdfminer.pdfparser import PDFParser
    from pdfminer.psexceptions import PSException

    source.file.seek(0)
    try:
        document = PDFDocument(PDFParser(cast(BinaryIO, source.file)))  # IO[bytes] by another name
        encrypted = document.encryption is not None
        if not encrypted:
            yield _read_pages(source, PDFPage.create_pages(document))
    except (PDFPasswordIncorrect, PDFEncryptionError):
        encrypted = True
    except (PDFException, PSException):
        message = _("The PDF is damaged. Open it in a PDF viewer and print it to a new PDF.")
        raise refused(source.name, "damaged", message) from None
    if encrypted:
        message = _("The PDF is encrypted. Save a copy without password and restrictions (for example qpdf --decrypt).")
        raise refused(source.name, "encrypted", message)


def _read_pages(source: DocumentSource, pages: Iterator[Any]) -> Draft:
    from annotations.formats.documents.pdf_pages import PageReader, fields_of

    draft = Draft(source)
    reader = PageReader()
    empty: list[int] = []
    unknown = 0
    number = 0
    for number, page in enumerate(pages, 1):
        found = reader.read(page)
        unknown += found.unknown
        if found.text.strip():
            draft.add(found.text, PartKind.PAGE, number)
        else:
            empty.append(number)
        fields, comments = fields_of(page)
        draft.add("\n".join(fields), PartKind.FORM_FIELDS, number)
        draft.add("\n".join(comments), PartKind.COMMENTS, number)
    if number == 0:
        raise refused(source.name, "damaged", _("The PDF has no pages. Print it to a new PDF."))
    if not any(part.kind is PartKind.PAGE for part in draft.note.parts):
        return programs.read_pdf(source, number, _(_NO_TEXT_LAYER))
    if unknown > _MOST_UNKNOWN * len(draft.text):
        return programs.read_pdf(source, number, _(_UNREADABLE))
    if unknown:
        characters = count(unknown, _("character has"), _("characters have"))
        draft.warn(_("{characters_have} no letter in the PDF's fonts. They were replaced by U+FFFD.", characters))
    if empty:
        shown = ", ".join(chain(map(str, empty[:_NAMED]), ["…"] * (len(empty) > _NAMED)))
        have = (
            _("Page {number} has", shown) if len(empty) == 1 else _("{count} pages ({numbers}) have", len(empty), shown)
        )
        draft.warn(_("{pages_have} no text layer. If there is a picture of text, use OCR.", have))
    return draft
