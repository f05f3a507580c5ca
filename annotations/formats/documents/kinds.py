"""The kinds of documents, and which one a file is: by its content first, then by its name."""

import struct
import zipfile
from enum import StrEnum
from posixpath import splitext
from typing import Final

from annotations.formats.documents.base import DocumentSource, refused
from annotations.formats.documents.docx import is_docx
from annotations.formats.documents.hl7 import looks_like_hl7
from annotations.formats.documents.html import looks_like_html
from annotations.formats.documents.omop import has_note_columns
from annotations.formats.files.zips import TooManyEntries, open_zip

_HEAD: Final = 64 * 1024


class DocumentKind(StrEnum):
    """A kind of document, as its readers and `Extracted.kind` name it."""

    PDF = "pdf"
    DOCX = "docx"
    DOC = "doc"
    RTF = "rtf"
    ODT = "odt"
    HTML = "html"
    MAIL = "eml"
    TEXT = "text"
    IMAGE = "image"
    ZIP = "zip"
    TAR = "tar"
    HL7 = "hl7"
    FHIR = "fhir"
    OMOP_CSV = "omop-csv"
    OMOP_PARQUET = "omop-parquet"


ENDINGS: Final = {
    "pdf": DocumentKind.PDF,
    "docx": DocumentKind.DOCX,
    "docm": DocumentKind.DOCX,
    "dotx": DocumentKind.DOCX,
    "dotm": DocumentKind.DOCX,
    "doc": DocumentKind.DOC,
    "dot": DocumentKind.DOC,
    "rtf": DocumentKind.RTF,
    "odt": DocumentKind.ODT,
    "ott": DocumentKind.ODT,
    "html": DocumentKind.HTML,
    "htm": DocumentKind.HTML,
    "xhtml": DocumentKind.HTML,
    "eml": DocumentKind.MAIL,
    "txt": DocumentKind.TEXT,
    "text": DocumentKind.TEXT,
    "asc": DocumentKind.TEXT,
    "zip": DocumentKind.ZIP,
    "tar": DocumentKind.TAR,
    "tgz": DocumentKind.TAR,
    "gz": DocumentKind.TAR,
    "tbz2": DocumentKind.TAR,
    "bz2": DocumentKind.TAR,
    "txz": DocumentKind.TAR,
    "xz": DocumentKind.TAR,
    "png": DocumentKind.IMAGE,
    "jpg": DocumentKind.IMAGE,
    "jpeg": DocumentKind.IMAGE,
    "tif": DocumentKind.IMAGE,
    "tiff": DocumentKind.IMAGE,
    "hl7": DocumentKind.HL7,
    "er7": DocumentKind.HL7,
    "json": DocumentKind.FHIR,
    "ndjson": DocumentKind.FHIR,
    "csv": DocumentKind.OMOP_CSV,
    "tsv": DocumentKind.OMOP_CSV,
    "parquet": DocumentKind.OMOP_PARQUET,
}
"""The endings of documents that are read, in lower case and without dot."""

_OLD_OFFICE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_IMAGES: Final = (b"\x89PNG", b"\xff\xd8\xff", b"II*\0", b"MM\0*")
_OTHERS: Final = (
    (b"GIF8", "a picture"),
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
)


def kind_of(source: DocumentSource) -> DocumentKind:
    """The kind of a document. Raises NoteError for a file that no reader can read, and says what it is if known."""
    source.file.seek(0)
    head = source.file.read(_HEAD)
    ending = splitext(source.name)[1][1:].lower()
    if not head:
        raise refused(source.name, "empty", "The file is empty.")
    by_content = _by_content(source, head, ending)
    if by_content is not None:
        return by_content
    named = ENDINGS.get(ending)
    if named is DocumentKind.OMOP_CSV:
        message = "The CSV is no table of notes: its first line must name columns such as note_id and note_text."
        raise refused(source.name, "columns", message, 1)
    if named in (DocumentKind.TEXT, DocumentKind.HTML, DocumentKind.MAIL, DocumentKind.FHIR):
        return named
    if named is not None:
        message = f"The file is named .{ending}, but it is not. It may be damaged or have the wrong ending."
        raise refused(source.name, "damaged", message)
    if _is_text(head):
        return DocumentKind.TEXT
    known = ", ".join(f".{each}" for each in ENDINGS)
    raise refused(source.name, "unknown kind", f"The file is no document that can be read. These can: {known}.")


def _by_content(source: DocumentSource, head: bytes, ending: str) -> DocumentKind | None:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if b"%PDF-" in head[:1024]:
        return DocumentKind.PDF
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _in_zip(source)
    if head.startswith(_OLD_OFFICE):
        return _in_old_office(source, ending)
    if head.startswith(_IMAGES) and not _is_text(head):
        return DocumentKind.IMAGE
    if head.startswith(b"PAR1"):
        return DocumentKind.OMOP_PARQUET
    if head.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0")) or head[257:262] == b"ustar":
        return DocumentKind.TAR
    if start.startswith(b"{\\rtf"):
        return DocumentKind.RTF
    if looks_like_hl7(head):
        return DocumentKind.HL7
    if ending in ("csv", "tsv", "") and has_note_columns(head):
        return DocumentKind.OMOP_CSV
    if ending != "txt" and looks_like_html(head):
        return DocumentKind.HTML
    if start[:1] == b"{" and b'"resourceType"' in head:
        return DocumentKind.FHIR
    other = next((name for magic, name in _OTHERS if head.startswith(magic)), None)
    if other is not None and not _is_text(head):
        advice = "Save it as PNG" if other == "a picture" else "Import the documents themselves"
        raise refused(source.name, "unknown kind", f"The file is {other}, not a document with text. {advice}.")
    return None


def _in_zip(source: DocumentSource) -> DocumentKind:
    source.file.seek(0)
    try:
        with open_zip(source.file) as archive:
            names = frozenset(archive.namelist())
    except TooManyEntries:
        return DocumentKind.ZIP  # whose reader says what is wrong
    except (zipfile.BadZipFile, OSError, ValueError, IndexError, NotImplementedError, struct.error):
        message = "The file begins like a ZIP or a document made of one (DOCX, ODT), but it is damaged. Save it again."
        raise refused(source.name, "damaged", message) from None
    if is_docx(names):
        return DocumentKind.DOCX
    if {"content.xml", "mimetype"} <= names:
        return DocumentKind.ODT
    if "[Content_Types].xml" in names:
        message = "The file is a spreadsheet or a presentation. Save its text as DOCX or PDF, or its table as CSV."
        raise refused(source.name, "unknown kind", message)
    return DocumentKind.ZIP


def _in_old_office(source: DocumentSource, ending: str) -> DocumentKind:
    """What a compound file of old Office programs holds: the names of its streams are in UTF-16."""
    source.file.seek(0)
    data = source.file.read()

    def has(stream: str) -> bool:
        return stream.encode("utf-16-le") in data

    if has("EncryptedPackage"):
        message = "The document is encrypted. Save a copy without a password."
        raise refused(source.name, "encrypted", message)
    if has("WordDocument"):
        return DocumentKind.DOC
    what = "an Outlook message; save it as EML" if ending == "msg" else "an old spreadsheet, presentation or message"
    message = f"The file is {what}. Save its text as DOCX, PDF or TXT."
    raise refused(source.name, "unknown kind", message)


def _is_text(head: bytes) -> bool:
    """Whether a file without a known ending may be text: UTF-16, or hardly any control characters."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    sample = head[:4096]
    return b"\0" not in sample and sum(byte < 9 or 13 < byte < 32 for byte in sample) * 20 <= len(sample)
