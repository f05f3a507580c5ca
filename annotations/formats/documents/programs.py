"""Text recognition (OCR) in images: pdftoppm (Poppler) draws the pages of a PDF, and Tesseract reads them.

Both programs run without network, and within the memory of this process. Where one of them is not installed, documents
that need it are refused, and the message says what to install.
"""

import io
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from annotations.formats.documents.base import TIME, DocumentSource, Draft, PartKind, refused
from annotations.formats.documents.word import read_docx
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop

TESSERACT: Final = "tesseract"
PDFTOPPM: Final = "pdftoppm"
PACKAGES: Final = {TESSERACT: "tesseract-ocr", PDFTOPPM: "poppler-utils"}
"""The programs, and the Debian packages that have them."""
PACKS: Final = {
    "ca": "cat", "da": "dan", "de": "deu", "en": "eng", "es": "spa", "eu": "eus", "fi": "fin", "fr": "fra",
    "gl": "glg", "it": "ita", "nl": "nld", "no": "nor", "pl": "pol", "pt": "por", "ro": "ron", "sv": "swe",
}  # fmt: skip
"""Tesseract's language packs by the code of a language."""
_FALLBACK: Final = "eng"
# Pixels of the long side of a page: 300 dpi for A4. A fixed number also limits what a huge page takes.
_LONG_SIDE: Final = 3508
# Pixels of the long side of a page that people see.
_SHOWN_SIDE: Final = 1600
_WORD: Final = "5"
_COLUMNS: Final = 12


class _Word(NamedTuple):
    """A word that OCR read. `line` is its block, paragraph and line; `confidence` is from 0 to 1."""

    page: int
    line: tuple[str, str, str]
    text: str
    confidence: float


def ocr_programs() -> set[str]:
    """The paths of those of the programs that are installed."""
    return set(filter(None, map(shutil.which, PACKAGES)))


def read_image(source: DocumentSource) -> Iterator[Draft]:
    """The one note of a picture; each page of a TIFF is a part. Raises NoteError if OCR can't read it."""
    _check_programs(source, [TESSERACT], _("The file is a picture."))
    draft = Draft(source)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "picture"
        path.write_bytes(source.load())
        words = list(_read(source, draft, path))
    pages = {word.page for word in words}
    _fill(source, draft, [(number if len(pages) > 1 else 0, words) for number in sorted(pages)])
    yield draft


def read_pdf(source: DocumentSource, pages: int, why: str) -> Draft:
    """The note of a PDF with this many pages, all read by OCR. `why` says in a sentence why they have to be.

    Raises NoteError if OCR can't read it.
    """
    _check_programs(source, [TESSERACT, PDFTOPPM], why)
    if pages > source.limits.ocr_pages:
        message = _("{why} OCR reads at most {most:,} pages of a document. Split it.", why, source.limits.ocr_pages)
        raise refused(source.name, TIME, message)
    draft = Draft(source)
    found: list[tuple[int, list[_Word]]] = []
    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder) / "document.pdf"
        document.write_bytes(source.load())
        for number in range(1, pages + 1):
            picture = Path(folder) / "page"
            _draw(source, document, picture, number, ["-gray", "-scale-to", str(_LONG_SIDE)])
            drawn = picture.with_suffix(".pgm")
            found.append((number, [word._replace(page=number) for word in _read(source, draft, drawn)]))
            drawn.unlink()
            source.alive()
    _fill(source, draft, found)
    return draft


def picture_of(source: DocumentSource, page: int) -> bytes:
    """One page of a PDF as PNG. Raises NoteError if pdftoppm is not there or can't draw it."""
    _check_programs(source, [PDFTOPPM], _("The page is drawn by pdftoppm."))
    with tempfile.TemporaryDirectory() as folder:
        document, picture = Path(folder) / "document.pdf", Path(folder) / "page"
        document.write_bytes(source.load())
        _draw(source, document, picture, page, ["-png", "-scale-to", str(_SHOWN_SIDE)])
        return picture.with_suffix(".png").read_bytes()


def _draw(source: DocumentSource, document: Path, picture: Path, page: int, how: Sequence[str]) -> None:
    only = ["-f", str(page), "-l", str(page), "-singlefile"]
    _run(source, [PDFTOPPM, *how, *only, str(document), str(picture)])


def _check_programs(source: DocumentSource, needed: Sequence[str], why: str) -> None:
    missing = [PACKAGES[name] for name in needed if shutil.which(name) is None]
    advice = _("use OCR yourself (for example ocrmypdf, which adds a text layer to a PDF) and import the result.")
    if missing:
        message = _(
            "{why} Only OCR can read it, and this server has none. Install Tesseract and Poppler on the server "
            "(Debian packages: {packages}), or {advice}",
            *(why, ", ".join(missing), advice),
        )
        raise refused(source.name, "no text layer", message)
    if not source.programs:
        message = _(
            "{why} Only OCR can read it, and this server can't cut off OCR from the network: {tip}", why, advice
        )
        raise refused(source.name, "no text layer", message)


def _read(source: DocumentSource, draft: Draft, picture: Path) -> Iterator[_Word]:
    """The words in a picture, in reading order."""
    language = source.language.partition("-")[0]
    wanted = PACKS.get(language)
    if wanted not in _run(source, [TESSERACT, "--list-langs"]).split():
        if language:
            install = " " + _("(Debian package {package})", f"tesseract-ocr-{wanted}") if wanted else ""
            draft.warn(
                _(
                    "Tesseract has no language pack for “{language}”{install}. The text was read as English.",
                    *(language, install),
                )
            )
        wanted = _FALLBACK
    for line in _run(source, [TESSERACT, str(picture), "stdout", "-l", wanted, "tsv"]).splitlines():
        cells = line.split("\t")
        if len(cells) == _COLUMNS and cells[0] == _WORD and cells[11].strip():
            yield _Word(int(cells[1]), (cells[2], cells[3], cells[4]), cells[11], float(cells[10]) / 100)


def _run_program(
    command: Sequence[str], folder: Path | None = None, **more: str
) -> "subprocess.CompletedProcess[bytes]":
    """Run a program to its end. It stays in the process group of this process, which is ended when the time is over."""
    environ = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"} | more
    return subprocess.run(  # noqa: S603 - programs found by name, and our own paths
        command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )


def _run(source: DocumentSource, command: Sequence[str]) -> str:
    """The standard output of an OCR program. Raises NoteError if the program fails."""
    program = shutil.which(command[0])
    assert program is not None  # _check_programs
    done = _run_program([program, *command[1:]], OMP_THREAD_LIMIT="1")
    if done.returncode:
        message = _(
            "OCR can't read the document ({program}: status {status}). Save it again as PDF or PNG.",
            *(command[0], done.returncode),
        )
        raise refused(source.name, "damaged", message)
    return done.stdout.decode(errors="replace")


def _fill(source: DocumentSource, draft: Draft, pages: Iterable[tuple[int, list[_Word]]]) -> None:
    """Add the words of each page to a draft, with a blank line between blocks, and say that they were read by OCR."""
    every: list[_Word] = []
    for number, words in pages:
        here = [word for word in words if word.page == number] if number else words
        draft.add(_text(here), PartKind.PAGE, number or 1)
        every += here
    if not every:
        raise refused(source.name, "no text", _("OCR found no text in the document."))
    draft.note.ocr = round(sum(word.confidence for word in every) / len(every), 4)
    draft.warn(
        _(
            "The text was read by OCR (Tesseract), with a mean confidence of {share:.0%}. Compare it with the pages.",
            draft.note.ocr,
        )
    )


def _text(words: Iterable[_Word]) -> str:
    lines: dict[tuple[str, str, str], list[str]] = {}
    for word in words:
        lines.setdefault(word.line, []).append(word.text)
    pieces: list[str] = []
    before: tuple[str, str] | None = None
    for (block, paragraph, _line), texts in lines.items():
        if before is not None and (block, paragraph) != before:
            pieces.append("")
        pieces.append(" ".join(texts))
        before = (block, paragraph)
    return "\n".join(pieces)


# DOC (Word 97 to 2003): LibreOffice converts it to DOCX, which is then read. Without LibreOffice, DOC is refused.
#
# LibreOffice runs with a profile of its own, in which macros are switched off, and only where it has no network.


PROGRAMS: Final = ("soffice", "libreoffice")
_NO_MACROS: Final = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="DisableMacrosExecution" oor:op="fuse">
<value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="MacroSecurityLevel" oor:op="fuse">
<value>3</value></prop></item>
</oor:items>
"""
_ADVICE: Final = gettext_noop("Save the document as DOCX, and import that.")


def office_program() -> str | None:
    """The path of LibreOffice on this machine; None if it is not installed."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


def read_doc(source: DocumentSource) -> Iterator[Draft]:
    """The one note of a DOC. Raises NoteError if LibreOffice is not there or can't convert the document."""
    office = office_program()
    if office is None:
        message = _("DOC can only be read where LibreOffice is installed, and this server has none. {tip}", _(_ADVICE))
        raise refused(source.name, "no libreoffice", message)
    if not source.programs:
        message = _("DOC can't be read: this server can't cut off LibreOffice from the network. {advice}", _(_ADVICE))
        raise refused(source.name, "no libreoffice", message)
    with tempfile.TemporaryDirectory() as folder:
        data = _converted(office, Path(folder), source)
    yield from read_docx(replace(source, file=io.BytesIO(data)))


def _converted(office: str, folder: Path, source: DocumentSource) -> bytes:
    profile = folder / "profile" / "user"
    profile.mkdir(parents=True)
    (profile / "registrymodifications.xcu").write_text(_NO_MACROS)
    (folder / "document.doc").write_bytes(source.load())
    options = ["--headless", "--norestore", "--nologo", "--convert-to", "docx", "--outdir", str(folder)]
    command = [office, f"-env:UserInstallation={profile.parent.as_uri()}", *options, str(folder / "document.doc")]
    done = _run_program(command, folder, HOME=str(folder))
    try:
        return (folder / "document.docx").read_bytes()
    except FileNotFoundError:
        message = _("LibreOffice can't convert the document (status {status}). {advice}", done.returncode, _(_ADVICE))
        raise refused(source.name, "damaged", message) from None
