"""Reading a document of any kind in this process. Other rooms call `extracting`, which does it in a child process."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import chain
from posixpath import splitext
from typing import IO, Any, Final, NamedTuple, TextIO

from annotations.formats.documents import archives, base, hl7, html, pdf, rtf, texts, word
from annotations.formats.documents import programs as other_programs
from annotations.formats.documents.base import DocumentSource, Draft, PartKind, Result, refused, stem
from annotations.formats.documents.hl7 import looks_like_hl7
from annotations.formats.documents.html import looks_like_html
from annotations.formats.documents.texts import CleaningRule, DetectedEncoding, cleaned, note_encoding, open_text
from annotations.formats.documents.word import is_docx
from annotations.formats.files import csv_reading
from annotations.formats.files.zips import DAMAGED, TooManyEntries, open_zip
from annotations.formats.notes import NoteError, ParsedNote, check_text
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop

# Tables of notes as CSV or Parquet, a note for each row.
#
# These are the table NOTE of the OMOP Common Data Model (OHDSI, CDM 5.4), NOTEEVENTS of MIMIC-III, the notes of MIMIC-
# IV, and others with columns of these names. Rows are read as a stream. A note is named by its number or name, and its
# patient is the person or subject.


_IDS: Final = ("note_id", "row_id", "document_id", "doc_id", "id", "note", "name", "file_name", "filename")
_TEXTS: Final = ("note_text", "text", "report_text", "document_text", "note")
_PERSONS: Final = ("person_id", "subject_id", "patient_id", "patient")
_OF_SPANS: Final = frozenset({"start", "begin", "start_offset", "label"})
"""Columns of tables with spans, which are a format of annotations."""
_BATCH: Final = 256
_SEPARATORS: Final = ",\t;|"


class _Columns(NamedTuple):
    """The names of the columns in lower case; `person` is empty without such a column."""

    id: str
    text: str
    person: str


def _columns(names: Iterable[str]) -> _Columns | None:
    """The columns of a table of notes; None if it is none."""
    given = set(names)
    text = next((name for name in _TEXTS if name in given), "")
    identity = next((name for name in _IDS if name in given and name != text), "")
    person = next((name for name in _PERSONS if name in given), "")
    return _Columns(identity, text, person) if text and identity and not given & _OF_SPANS else None


def has_note_columns(head: bytes) -> bool:
    """Whether the first line of a CSV names the columns of a note."""
    line = head.replace(b"\0", b"").split(b"\n", 1)[0].decode("ascii", "ignore").lower()
    return _columns(cell.strip("\"' \r") for cell in re.split(f"[{_SEPARATORS}]", line)) is not None


def read_csv(source: DocumentSource) -> Iterator[Draft | Result]:
    """The notes of a CSV file with any of the separators comma, tab, semicolon and bar."""
    lines, found = open_text(source.file, source.encoding, file=source.name)
    try:
        yield from _notes(source, _rows(lines, source), found)
    finally:
        lines.detach()


_Cells = tuple[Any, Any, Any]
"""The id, the text and the person of a row."""


def _rows(lines: TextIO, source: DocumentSource) -> Iterator[tuple[int, _Cells]]:
    """The line on which each row ends, and its cells."""
    line = 1
    try:
        first = lines.readline()
        rows = csv_reading.DictReader(chain([first], lines), delimiter=max(_SEPARATORS, key=first.count), strict=True)
        names = {(name or "").strip().lower(): name for name in rows.fieldnames or ()}
        columns = _checked(names, source)
        while (row := next(rows, None)) is not None:
            line = rows.line_num
            yield line, _cells(row, names, columns)
    except csv_reading.Error:
        message = _("The row after this line is not valid CSV: check its quotation marks. Rows before it were read.")
        raise refused(source.name, "csv", message, line) from None
    except UnicodeDecodeError as error:
        message = _(
            "The text after this line is not {encoding}. Choose another encoding. Rows before it were read.",
            error.encoding,
        )
        raise refused(source.name, "encoding", message, line) from None


def read_parquet(source: DocumentSource) -> Iterator[Draft | Result]:
    """The notes of a Parquet file."""
    import pyarrow
    from pyarrow import parquet

    source.file.seek(0)
    try:
        file = parquet.ParquetFile(source.file, pre_buffer=False)
        names = {name.strip().lower(): name for name in file.schema_arrow.names}
        columns = _checked(names, source)
        read = [names[name] for name in columns if name]
        found = (row for batch in file.iter_batches(_BATCH, columns=read) for row in batch.to_pylist())
        rows = ((number, _cells(row, names, columns)) for number, row in enumerate(found, 1))
        yield from _notes(source, rows, None)
    except (pyarrow.ArrowException, OSError):
        message = _("The file is not a complete Parquet file. Write it again, or save it as CSV.")
        raise refused(source.name, "parquet", message) from None


def _checked(names: Iterable[str], source: DocumentSource) -> _Columns:
    if (found := _columns(names)) is None:
        message = _(
            "This is not a table of notes: it needs the columns note_id (or row_id, id) and note_text (or text)."
        )
        raise refused(source.name, "columns", message, 1)
    return found


def _cells(row: Mapping[str, Any], names: Mapping[str, str], columns: _Columns) -> _Cells:
    identity, text, person = (row.get(names[name]) if name else None for name in columns)
    return identity, text, person


def _notes(
    source: DocumentSource, rows: Iterable[tuple[int, _Cells]], found: DetectedEncoding | None
) -> Iterator[Draft | Result]:
    seen: set[str] = set()
    at_all = False
    for line, (identity, text, person) in rows:
        at_all = True
        note_id = "" if identity is None else str(identity).strip()
        if not note_id or note_id in seen:
            message = _("The row has no id of a note.") if not note_id else _("Another row before has the same id.")
            yield refused(source.name, "note_id", message + " " + _("The note was left out."), line)
            continue
        seen.add(note_id)
        if not isinstance(text, str) or not text.strip():
            yield refused(source.name, "no text", _("The row has no text. The note was left out."), line)
            continue
        draft = Draft(source, f"{stem(source.name)}/{note_id.replace('/', '-')}")
        if found is not None:
            note_encoding(draft, found)
        draft.note.patient_id = "" if person is None else str(person).strip()
        draft.add(text, PartKind.ROW, line)
        yield draft
    if not at_all:
        raise refused(source.name, "no rows", _("The table has no rows."))


# The kinds of documents, and which one a file is: by its content first, then by its name.


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


_READERS: Final[dict[DocumentKind, tuple[base.Reader, str]]] = {
    DocumentKind.PDF: (pdf.read_pdf, "pdf"),
    DocumentKind.DOCX: (word.read_docx, "docx docm dotx dotm"),
    DocumentKind.DOC: (other_programs.read_doc, "doc dot"),
    DocumentKind.RTF: (rtf.read_rtf, "rtf"),
    DocumentKind.ODT: (word.read_odt, "odt ott"),
    DocumentKind.HTML: (html.read_html, "html htm xhtml"),
    DocumentKind.MAIL: (html.read_mail, "eml"),
    DocumentKind.TEXT: (texts.read_text, "txt text asc"),
    DocumentKind.ZIP: (archives.read_zip, "zip"),
    DocumentKind.TAR: (archives.read_tar, "tar tgz gz tbz2 bz2 txz xz"),
    DocumentKind.IMAGE: (other_programs.read_image, "png jpg jpeg tif tiff"),
    DocumentKind.HL7: (hl7.read_hl7, "hl7 er7"),
    DocumentKind.FHIR: (hl7.read_fhir, "json ndjson"),
    DocumentKind.OMOP_CSV: (read_csv, "csv tsv"),
    DocumentKind.OMOP_PARQUET: (read_parquet, "parquet"),
}
"""The reader of each kind, and the endings of its documents."""
ENDINGS: Final = {ending: kind for kind, (_, endings) in _READERS.items() for ending in endings.split()}
"""The endings of documents that are read, in lower case and without dot."""

_OLD_OFFICE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_IMAGES: Final = (b"\x89PNG", b"\xff\xd8\xff", b"II*\0", b"MM\0*")
_OTHERS: Final = (
    (b"GIF8", gettext_noop("a picture")),
    (b"Rar!", gettext_noop("a RAR archive")),
    (b"7z\xbc\xaf", gettext_noop("a 7z archive")),
    (b"\x7fELF", gettext_noop("a program")),
    (b"MZ", gettext_noop("a program")),
)


def kind_of(source: base.DocumentSource) -> DocumentKind:
    """The kind of a document. Raises NoteError for a file that no reader can read, and says what it is if known."""
    source.file.seek(0)
    head = source.file.read(_HEAD)
    ending = splitext(source.name)[1][1:].lower()
    if not head:
        raise base.refused(source.name, "empty", _("The file is empty."))
    by_content = _by_content(source, head, ending)
    if by_content is not None:
        return by_content
    named = ENDINGS.get(ending)
    if named is DocumentKind.OMOP_CSV:
        message = _("The CSV is not a table of notes: its first line must name columns such as note_id and note_text.")
        raise base.refused(source.name, "columns", message, 1)
    if named in (DocumentKind.TEXT, DocumentKind.HTML, DocumentKind.MAIL, DocumentKind.FHIR):
        return named
    if named is not None:
        message = _("The file is named .{ending}, but it is not. It may be damaged or have the wrong ending.", ending)
        raise base.refused(source.name, "damaged", message)
    if _is_text(head):
        return DocumentKind.TEXT
    known = ", ".join(f".{each}" for each in ENDINGS)
    raise base.refused(
        source.name, "unknown kind", _("The file is not a document that can be read. These can: {known}.", known)
    )


def _by_content(source: base.DocumentSource, head: bytes, ending: str) -> DocumentKind | None:
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
        advice = _("Save it as PNG") if other == "a picture" else _("Import the documents themselves")
        raise base.refused(
            source.name, "unknown kind", _("The file is {other}, not a document with text. {advice}.", _(other), advice)
        )
    return None


def _in_zip(source: base.DocumentSource) -> DocumentKind:
    source.file.seek(0)
    try:
        with open_zip(source.file) as archive:
            names = frozenset(archive.namelist())
    except TooManyEntries:
        return DocumentKind.ZIP  # whose reader says what is wrong
    except (*DAMAGED, IndexError):
        message = _("The file starts like a ZIP, DOCX or ODT file, but it is damaged. Save it again.")
        raise base.refused(source.name, "damaged", message) from None
    if is_docx(names):
        return DocumentKind.DOCX
    if {"content.xml", "mimetype"} <= names:
        return DocumentKind.ODT
    if "[Content_Types].xml" in names:
        message = _("The file is a spreadsheet or a presentation. Save its text as DOCX or PDF, or its table as CSV.")
        raise base.refused(source.name, "unknown kind", message)
    return DocumentKind.ZIP


def _in_old_office(source: base.DocumentSource, ending: str) -> DocumentKind:
    """What a compound file of old Office programs holds: the names of its streams are in UTF-16."""
    source.file.seek(0)
    data = source.file.read()

    def has(stream: str) -> bool:
        return stream.encode("utf-16-le") in data

    if has("EncryptedPackage"):
        raise base.refused(source.name, "encrypted", _("The document is encrypted. Save a copy without a password."))
    if has("WordDocument"):
        return DocumentKind.DOC
    what = (
        _("an Outlook message; save it as EML") if ending == "msg" else _("an old spreadsheet, presentation or message")
    )
    raise base.refused(source.name, "unknown kind", _("The file is {what}. Save its text as DOCX, PDF or TXT.", what))


def _is_text(head: bytes) -> bool:
    """Whether a file without a known ending may be text: UTF-16, or hardly any control characters."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    sample = head[:4096]
    return b"\0" not in sample and sum(byte < 9 or 13 < byte < 32 for byte in sample) * 20 <= len(sample)


MEMORY: Final = "memory"
"""The code of the problem of a document that takes too much memory."""


def read_document(
    name: str,
    file: IO[bytes],
    *,
    limits: base.Limits,
    encoding: str | None,
    rules: Collection[CleaningRule],
    programs: bool = False,
    language: str = "",
    alive: Callable[[], None] = lambda: None,
) -> Iterator[base.Result]:
    """The notes of a document, and a NoteError for each one that can't be read. Raises nothing for bad documents.

    For `programs`, `language` and `alive` see `Source`.
    """

    def nested(source: base.DocumentSource) -> Iterator[base.Result]:
        return _read(source, rules)

    budget = base.Budget(limits.unpacked)
    source = base.DocumentSource(name, file, limits, encoding or None, nested, budget, 0, programs, language, alive)
    return nested(source)


def _read(source: base.DocumentSource, rules: Collection[CleaningRule]) -> Iterator[base.Result]:
    try:
        kind = kind_of(source)
        for each in _READERS[kind][0](source):
            yield _finished(each, source, kind, rules) if isinstance(each, base.Draft) else each
    except NoteError as error:
        yield error
    except MemoryError:
        megabytes = source.limits.memory >> 20
        message = _(
            "Reading the document takes more than {megabytes:,} MiB of memory. Split it, or save its text as .txt.",
            megabytes,
        )
        yield base.refused(source.name, MEMORY, message)
    except RecursionError:
        message = _("The document is nested too deeply. Save its text as .txt.")
        yield base.refused(source.name, "nesting", message)
    # Libraries raise errors of many kinds for damaged documents. Their messages may quote the text.
    except Exception as error:
        message = _(
            "The document can't be read ({error}): it is damaged or made in an unusual way. Save it again, or as "
            "PDF, DOCX or .txt.",
            type(error).__name__,
        )
        yield base.refused(source.name, "damaged", message)


def _finished(
    draft: base.Draft, source: base.DocumentSource, kind: DocumentKind, rules: Collection[CleaningRule]
) -> ParsedNote:
    """The note of a draft, cleaned. Raises NoteError if it has no text or text that can't be stored."""
    note = draft.note
    note.text, note.parts, note.cleaned = cleaned(draft.text, note.parts, rules)
    if not note.text.strip():
        raise base.refused(source.name, "no text", _("The document has no text."))
    check_text(note.text, source.name)
    ending = splitext(source.name)[1][1:].lower()
    if (named := ENDINGS.get(ending)) is not None and named is not kind:
        draft.warn(_("The file is named .{ending}, but it is {kind}, and was read as that.", ending, kind))
    note.kind = kind
    return note
