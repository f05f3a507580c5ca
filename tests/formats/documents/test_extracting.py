"""The child process that extracts documents, conversions, and pages that are read by OCR."""

import io
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from fpdf import FPDF

from annotations.formats.documents.base import Limits
from annotations.formats.documents.extracting import Extractor
from annotations.formats.documents.reading import read_document
from annotations.formats.notes import NoteError, ParsedNote
from annotations.installation import CODE
from fixtures.quality.written_documents import docx, pdf
from tests.formats.documents.helpers import docx as small_docx
from tests.formats.documents.helpers import extract, mapped, said
from tests.formats.documents.test_pdf import one_page, shown
from tests.waiting import HANGS, wait_for
from tests.zips import zipped


def codes(found):
    return [problem.code for each in found if isinstance(each, NoteError) for problem in each.problems]


def texts(found):
    return [each.text for each in found if isinstance(each, ParsedNote)]


def process_of(extractor):
    return psutil.Process(extractor._running()._process.pid)


def test_extract_gives_the_one_note_with_everything_that_was_found():
    data = "D. JosÃ© Muñoz".encode("cp1252")
    note = extract("dir/a.txt", data, encoding="cp1252")
    assert (note.name, note.kind, note.text, note.encoding) == ("dir/a", "text", "D. José Muñoz", "cp1252")
    assert note.cleaned == {"mojibake": 1}
    assert extract("dir/a.txt", data, encoding="cp1252", rules=()).text == "D. JosÃ© Muñoz"
    assert mapped(extract("a.pdf", pdf(1).data)) == pdf(1).parts
    with pytest.raises(NoteError) as damaged:
        extract("dir/a.pdf", b"%PDF-1.4")
    assert [(each.file, each.code) for each in damaged.value.problems] == [("dir/a.pdf", "damaged")]
    with pytest.raises(NoteError, match="2 notes"):
        extract("a.zip", zipped({"1.txt": "1", "2.txt": "2"}))


def test_one_child_reads_many_documents_and_ends_with_the_extractor(tmp_path, monkeypatch):
    kept = tmp_path / "temporary"
    kept.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(kept))
    (tmp_path / "a.docx").write_bytes(docx(1).data)
    with Extractor(Limits(characters=50_000)) as extractor:
        process = process_of(extractor)
        for seed in range(3):
            assert texts(extractor.results("a.docx", docx(seed).data)) == [docx(seed).text]
        with (tmp_path / "a.docx").open("rb") as file:
            assert texts(extractor.results("a.docx", file)) == [docx(1).text]
        assert codes(extractor.results("a.txt", b"x" * 50_001)) == ["too long"]
        assert texts(extractor.results("a.txt", b"x" * 50_000)) == ["x" * 50_000] and process_of(extractor) == process
    assert not process.is_running() and list(kept.iterdir()) == []


def test_the_child_has_neither_secrets_nor_network_nor_unlimited_memory(monkeypatch):
    monkeypatch.setenv("DEIDREVIEW_SECRET_KEY", "only for the parent")
    with Extractor(Limits(memory=1 << 30)) as extractor:
        process = process_of(extractor)
        assert set(process.environ()) <= {"PATH", "LC_ALL", "TMPDIR", "LC_CTYPE"}
        assert process.rlimit(psutil.RLIMIT_AS) == (1 << 30, 1 << 30) and process.rlimit(psutil.RLIMIT_CORE) == (0, 0)
        if extractor._running().namespace:
            assert Path(f"/proc/{process.pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()


TRY = """
import socket, subprocess, sys, urllib.request
from annotations.formats.documents import child
cut = child.cut_network() if "cut" in sys.argv else False
if "guard" in sys.argv:
    child.guard(())
found = []
for act in (
    lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5),
    lambda: urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/", timeout=5),
    lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", int(sys.argv[1]))),
    lambda: socket.getaddrinfo("example.org", 80),
    lambda: subprocess.run(["/bin/true"], check=True),
    lambda: __import__("os").system("true"),
):
    try:
        act()
        found.append("ok")
    except Exception as error:
        found.append("refused" if isinstance(error, PermissionError) or "not allowed" in str(error) else "failed")
print(cut, *found)
"""


@pytest.fixture
def port():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def attempt(port, *how):
    done = subprocess.run(
        [sys.executable, "-c", TRY, str(port), *how], cwd=CODE, capture_output=True, text=True, timeout=HANGS
    )
    cut, *found = done.stdout.split()
    return cut == "True", found


def test_the_namespace_has_no_network(port):
    cut, found = attempt(port, "cut")
    if not cut:
        pytest.skip("The kernel or a container forbids namespaces here.")
    assert found[0] == found[2] == found[3] == "failed"


def test_the_guard_refuses_sockets_and_programs_where_namespaces_are_forbidden(port):
    assert attempt(port, "guard") == (False, ["refused"] * 6)


def test_a_document_that_takes_too_much_time_or_memory_is_refused_and_the_next_one_is_read():
    slow = one_page("".join(shown(x, y, "ab") for x in range(0, 600, 3) for y in range(0, 800, 4)))
    with Extractor(Limits(seconds=1)) as extractor:
        process = process_of(extractor)
        assert codes(extractor.results("slow.pdf", slow)) == ["time"] and not process.is_running()
        assert texts(extractor.results("a.txt", b"next")) == ["next"]
    with Extractor(Limits(memory=72 << 20)) as extractor:
        assert codes(extractor.results("big.docx", small_docx("<w:p/>" * 600_000))) in (["memory"], ["crash"])
        assert texts(extractor.results("a.txt", b"next")) == ["next"]


def test_a_child_that_is_lost_is_replaced_and_a_caller_may_stop_before_the_end():
    many = zipped({f"{number}.txt": str(number) for number in range(1000)})
    with Extractor() as extractor:
        process_of(extractor).send_signal(signal.SIGKILL)
        found = list(extractor.results("a.txt", b"lost"))
        assert codes(found) == ["crash"] and "SIGKILL" in str(found[0])
        results = extractor.results("x.zip", many)
        assert next(results).text == "0"
        results.close()
        assert texts(extractor.results("a.txt", b"next")) == ["next"]


def test_a_child_is_replaced_after_many_documents():
    with Extractor() as extractor:
        first = process_of(extractor)
        for _ in range(500):
            assert texts(extractor.results("a.txt", b"x")) == ["x"]
        assert process_of(extractor) != first


@pytest.fixture
def office(tmp_path, monkeypatch):
    """A program named soffice, in the place of LibreOffice."""

    def install(script):
        program = tmp_path / "soffice"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        (tmp_path / "converted.docx").write_bytes(docx(1).data)
        return tmp_path

    return install


OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "WordDocument".encode("utf-16-le")
CONVERT = 'while [ $# -gt 0 ]; do case "$1" in --outdir) out=$2;; -env:*) profile=${1#*file://};; esac; shift; done'


def needs_namespace(extractor):
    if not extractor._running().namespace:
        pytest.skip("The kernel or a container forbids namespaces here.")


def test_doc_is_converted_with_macros_switched_off(office):
    folder = office(
        f'{CONVERT}\ngrep -q DisableMacrosExecution "$profile/user/registrymodifications.xcu" || exit 1\n'
        'cmp "$out/document.doc" /dev/null >/dev/null 2>&1 && exit 1\n'
        'cp "$(dirname "$0")/converted.docx" "$out/document.docx"'
    )
    with Extractor() as extractor:
        needs_namespace(extractor)
        (note,) = extractor.results("a.doc", OLD)
    assert (note.kind, note.text) == ("doc", docx(1).text)
    assert sorted(path.name for path in folder.iterdir()) == ["converted.docx", "soffice"]


def test_a_doc_that_cannot_be_converted_is_refused(office):
    office("exit 3")
    with Extractor() as extractor:
        needs_namespace(extractor)
        (error,) = extractor.results("a.doc", OLD)
    assert error.problems[0].code == "damaged" and "status 3" in str(error)


def test_a_conversion_that_hangs_is_ended_with_all_its_processes(office):
    folder = office('echo $$ > "$(dirname "$0")/pid"; sleep 300')
    with Extractor(Limits(seconds=2)) as extractor:
        needs_namespace(extractor)
        assert codes(extractor.results("a.doc", OLD)) == ["time"]
    pid = int((folder / "pid").read_text())
    wait_for(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie", what="LibreOffice's end")


def test_doc_without_libreoffice_is_refused_by_name(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoteError, match=r"a\.doc: .*LibreOffice"):
        extract("a.doc", OLD)


# ── OCR ───────────────────────────────────────────────────────────────────────────────────────────────────────────────
FIRST = ["Paciente: José Muñoz Núñez", "Fecha de ingreso: 12/03/2021"]
SECOND = ["Médico: Dra. García"]
# Millimeters: Tesseract takes longer for larger pages.
PAGE = (100, 45)


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
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


def read_here(name, data, limits=None, **more):
    """Read a document in this process, as the child does where it may start programs."""
    options = {"programs": True, "language": "es", "limits": limits or Limits(), "encoding": None, "rules": ()} | more
    (found,) = read_document(name, io.BytesIO(data), **options)
    assert isinstance(found, ParsedNote | NoteError)
    return found


def test_a_scanned_pdf_is_read_page_by_page(scan):
    pages = []
    found = read_here("scan.pdf", scan.pdf, alive=lambda: pages.append(None))
    assert isinstance(found, ParsedNote) and found.kind == "pdf"
    assert found.text.split() == " ".join(FIRST + SECOND).split()
    rows = [(str(part), found.text[part.start : part.end].split()) for part in found.parts]
    assert rows == [("page 1", " ".join(FIRST).split()), ("page 2", SECOND[0].split())]
    assert found.ocr is not None and 0.7 < found.ocr <= 1
    (warning,) = said(found)
    assert f"{found.ocr:.0%}" in warning and len(pages) == 2


def test_a_picture_is_read(scan):
    found = read_here("scan.png", scan.png)
    assert isinstance(found, ParsedNote)
    assert (found.kind, "".join(found.text.split())) == ("image", "".join(" ".join(FIRST).split()))
    assert [str(part) for part in found.parts] == ["page 1"]
    found = read_here("scan.png", scan.png, language="xx")
    assert isinstance(found, ParsedNote) and "“xx”" in said(found)[0]


def test_the_child_reads_scans_without_network(scan):
    with Extractor() as extractor:
        needs_namespace(extractor)
        (found,) = extractor.results("scan.pdf", scan.pdf, language="es")
    assert isinstance(found, ParsedNote) and "José Muñoz Núñez" in found.text and found.ocr is not None


def refusal_of(found):
    assert isinstance(found, NoteError)
    return found.problems[0].code, found.problems[0].message


def test_without_the_programs_scans_are_refused_with_what_to_install(scan, monkeypatch, tmp_path):
    assert refusal_of(read_here("scan.pdf", scan.pdf, programs=False))[0] == "no text layer"
    monkeypatch.setenv("PATH", str(tmp_path))
    code, message = refusal_of(read_here("scan.pdf", scan.pdf))
    assert (code, "tesseract-ocr, poppler-utils" in message) == ("no text layer", True)
    code, message = refusal_of(read_here("scan.png", scan.png))
    assert (code, "tesseract-ocr" in message, "poppler-utils" in message) == ("no text layer", True, False)


def test_too_many_pages_and_damaged_and_empty_pictures_are_refused(scan):
    code, message = refusal_of(read_here("scan.pdf", scan.pdf, Limits(ocr_pages=1)))
    assert code == "time" and " 1 " in message and refusal_of(read_here("a.png", scan.png[:200]))[0] == "damaged"
    blank = FPDF()
    blank.add_page()
    assert refusal_of(read_here("a.pdf", bytes(blank.output())))[0] == "no text"
