"""Reading a document of any kind in this process. Other rooms call `extracting`, which does it in a child process."""

from collections.abc import Callable, Collection, Iterator
from posixpath import splitext
from typing import IO, Final

from annotations.formats.documents import archives, docx, fhir, hl7, html, mail, ocr, odt, office, omop, pdf, rtf, text
from annotations.formats.documents.base import Budget, DocumentSource, Draft, Extracted, Limits, Reader, Result, refused
from annotations.formats.documents.cleaning import CleaningRule, cleaned
from annotations.formats.documents.kinds import ENDINGS, DocumentKind, kind_of
from annotations.formats.notes import NoteError, check_text

MEMORY: Final = "memory"
"""The code of the problem of a document that takes too much memory."""

_READERS: Final[dict[DocumentKind, Reader]] = {
    DocumentKind.PDF: pdf.read,
    DocumentKind.DOCX: docx.read,
    DocumentKind.DOC: office.read,
    DocumentKind.RTF: rtf.read,
    DocumentKind.ODT: odt.read,
    DocumentKind.HTML: html.read,
    DocumentKind.MAIL: mail.read,
    DocumentKind.TEXT: text.read,
    DocumentKind.IMAGE: ocr.read_image,
    DocumentKind.ZIP: archives.read_zip,
    DocumentKind.TAR: archives.read_tar,
    DocumentKind.HL7: hl7.read,
    DocumentKind.FHIR: fhir.read,
    DocumentKind.OMOP_CSV: omop.read_csv,
    DocumentKind.OMOP_PARQUET: omop.read_parquet,
}


def read_document(
    name: str,
    file: IO[bytes],
    *,
    limits: Limits,
    encoding: str | None,
    rules: Collection[CleaningRule],
    programs: bool = False,
    language: str = "",
    alive: Callable[[], None] = lambda: None,
) -> Iterator[Result]:
    """The notes of a document, and a NoteError for each one that can't be read. Raises nothing for bad documents.

    For `programs`, `language` and `alive` see `Source`.
    """

    def nested(source: DocumentSource) -> Iterator[Result]:
        return _read(source, rules)

    budget = Budget(limits.unpacked)
    source = DocumentSource(name, file, limits, encoding or None, nested, budget, 0, programs, language, alive)
    return nested(source)


def _read(source: DocumentSource, rules: Collection[CleaningRule]) -> Iterator[Result]:
    try:
        kind = kind_of(source)
        for each in _READERS[kind](source):
            yield _finished(each, source, kind, rules) if isinstance(each, Draft) else each
    except NoteError as error:
        yield error
    except MemoryError:
        megabytes = source.limits.memory >> 20
        message = (
            f"Reading the document takes more than {megabytes:,} MiB of memory. Split it, or save its text as .txt."
        )
        yield refused(source.name, MEMORY, message)
    except RecursionError:
        message = "The document has too many levels within each other. Save its text as .txt."
        yield refused(source.name, "nesting", message)
    # Libraries raise errors of many kinds for damaged documents. Their messages may quote the text.
    except Exception as error:
        message = (
            f"The document can't be read ({type(error).__name__}): it is damaged or made in an unusual way. "
            "Save it again, or as PDF, DOCX or .txt."
        )
        yield refused(source.name, "damaged", message)


def _finished(draft: Draft, source: DocumentSource, kind: DocumentKind, rules: Collection[CleaningRule]) -> Extracted:
    """The note of a draft, cleaned. Raises NoteError if it has no text or text that can't be stored."""
    found, parts, counts = cleaned(draft.text, draft.parts, rules)
    if not found.strip():
        raise refused(source.name, "no text", "The document has no text.")
    check_text(found, source.name)
    ending = splitext(source.name)[1][1:].lower()
    if (named := ENDINGS.get(ending)) is not None and named is not kind:
        draft.warn(f"The file is named .{ending}, but it is {kind}, and was read as that.")
    return Extracted(
        name=draft.name,
        kind=kind,
        text=found,
        parts=tuple(parts),
        cleaned=counts,
        encoding=draft.encoding,
        warnings=tuple(draft.warnings),
        patient_id=draft.patient_id,
        ocr=draft.ocr,
    )
