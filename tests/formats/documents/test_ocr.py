"""Pictures of pages: read by Tesseract where it is installed (.ci/dev-packages), else refused by name."""

import io
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from fpdf import FPDF

from annotations.formats.documents.base import ExtractedNote, Limits
from annotations.formats.documents.extracting import Extractor
from annotations.formats.documents.reading import read_document
from annotations.formats.notes import NoteError

FIRST = ["Paciente: José Muñoz Núñez", "Fecha de ingreso: 12/03/2021"]
SECOND = ["Médico: Dra. García"]
# Millimeters: Tesseract takes longer for larger pages.
PAGE = (100, 45)


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A PDF with pictures of two pages, and the pictures."""
    folder = tmp_path_factory.mktemp("scan")
    text, pictures = FPDF(format=PAGE), FPDF(format=PAGE)
    for lines in (FIRST, SECOND):
        text.add_page()
        text.set_margin(5)
        text.set_font("helvetica", size=16)
        for line in lines:
            text.cell(0, 14, line, new_x="LMARGIN", new_y="NEXT")
    (folder / "text.pdf").write_bytes(bytes(text.output()))
    subprocess.run(["pdftoppm", "-png", "-gray", "-r", "150", "text.pdf", "page"], cwd=folder, check=True)
    names = sorted(folder.glob("page*.png"))
    for name in names:
        pictures.add_page()
        pictures.image(str(name), 0, 0, PAGE[0])
    return SimpleNamespace(pdf=bytes(pictures.output()), png=names[0].read_bytes())


def read_here(name: str, data: bytes, limits: Limits | None = None, **more: object) -> ExtractedNote | NoteError:
    """Read a document in this process, as the child does where it may start programs."""
    options = {"programs": True, "language": "es", "limits": limits or Limits(), "encoding": None, "rules": ()} | more
    (found,) = read_document(name, io.BytesIO(data), **options)
    assert isinstance(found, ExtractedNote | NoteError)
    return found


def test_a_scanned_pdf_is_read_page_by_page(scan: SimpleNamespace) -> None:
    pages: list[None] = []
    found = read_here("scan.pdf", scan.pdf, alive=lambda: pages.append(None))
    assert isinstance(found, ExtractedNote)
    assert found.kind == "pdf"
    assert found.text.split() == " ".join(FIRST + SECOND).split()
    rows = [(str(part), found.text[part.start : part.end].split()) for part in found.parts]
    assert rows == [("page 1", " ".join(FIRST).split()), ("page 2", SECOND[0].split())]
    assert found.ocr is not None and 0.7 < found.ocr <= 1
    (warning,) = found.warnings
    assert f"{found.ocr:.0%}" in warning
    assert len(pages) == 2


def test_a_picture_is_read(scan: SimpleNamespace) -> None:
    found = read_here("scan.png", scan.png)
    assert isinstance(found, ExtractedNote)
    assert (found.kind, "".join(found.text.split())) == ("image", "".join(" ".join(FIRST).split()))
    assert [str(part) for part in found.parts] == ["page 1"]
    found = read_here("scan.png", scan.png, language="xx")
    assert isinstance(found, ExtractedNote) and "“xx”" in found.warnings[0]


def test_the_child_reads_scans_without_network(scan: SimpleNamespace) -> None:
    with Extractor() as extractor:
        if not extractor.network_is_cut():
            pytest.skip("The kernel or a container forbids namespaces here.")
        (found,) = extractor.results("scan.pdf", scan.pdf, language="es")
    assert isinstance(found, ExtractedNote)
    assert "José Muñoz Núñez" in found.text and found.ocr is not None


def refusal_of(found: object) -> tuple[str, str]:
    assert isinstance(found, NoteError)
    return found.problems[0].code, found.problems[0].message


def test_without_the_programs_scans_are_refused_with_what_to_install(
    scan: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert refusal_of(read_here("scan.pdf", scan.pdf, programs=False))[0] == "no text layer"
    monkeypatch.setenv("PATH", str(tmp_path))
    code, message = refusal_of(read_here("scan.pdf", scan.pdf))
    assert (code, "tesseract-ocr, poppler-utils" in message) == ("no text layer", True)
    code, message = refusal_of(read_here("scan.png", scan.png))
    assert (code, "tesseract-ocr" in message, "poppler-utils" in message) == ("no text layer", True, False)


def test_too_many_pages_and_damaged_and_empty_pictures_are_refused(scan: SimpleNamespace) -> None:
    code, message = refusal_of(read_here("scan.pdf", scan.pdf, Limits(ocr_pages=1)))
    assert code == "time" and " 1 " in message
    assert refusal_of(read_here("a.png", scan.png[:200]))[0] == "damaged"
    blank = FPDF()
    blank.add_page()
    assert refusal_of(read_here("a.pdf", bytes(blank.output())))[0] == "no text"
