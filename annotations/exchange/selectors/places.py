"""Where in its document the text of a note comes from, for pages that show the note."""

import re
import shutil
from posixpath import splitext

from django.urls import reverse

from annotations.formats.documents.ocr import PDFTOPPM
from annotations.models import Document, DocumentSource, StoredFile

IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}
"""Media types of pictures that browsers show, by ending."""
_PAGE = re.compile(r"page ([1-9][0-9]{0,5})$")

Place = tuple[int, int, str, str]
"""Start and end of a part in the note's text (code points, end-exclusive), its name, and the address of its page.

The address is empty where no picture of the page can be shown.
"""


def places_in(slug: str, note: Document) -> list[Place]:
    """The source map of a note; empty for a note that was not extracted from a document."""
    source: DocumentSource | None = getattr(note, "source", None)
    return [] if source is None else places_of(slug, source)


def places_of(slug: str, source: DocumentSource) -> list[Place]:
    """The source map of a note."""
    # One reversed address gives those of all pages: reversing each is slow.
    before = reverse("source_page", args=[slug, source.pk, 0]).removesuffix("0") if has_pages(source) else ""
    return [(start, end, name, _address(before, name)) for start, end, name in source.places]


def has_pages(source: DocumentSource) -> bool:
    """Whether this server can show the pages of the original, which is a picture or a PDF."""
    ending = splitext(source.name)[1].lower()
    if source.original_id is None:
        return False
    return ending in IMAGES if source.kind == "image" else ending == ".pdf" and shutil.which(PDFTOPPM) is not None


def original_of(note: int) -> tuple[DocumentSource, StoredFile] | None:
    """The source of a note and its original, if the server can show pages of it."""
    source = DocumentSource.objects.filter(document_id=note).select_related("original").first()
    if source is None or source.original is None or not has_pages(source):
        return None
    return source, source.original


def _address(before: str, name: str) -> str:
    page = _PAGE.search(name)
    return f"{before}{page[1]}" if before and page else ""
