"""Documents through the import page and the command: preview, source map, original, options, erasing."""

import hashlib
import io

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.core.services import ServiceError, silent
from annotations.core.stored_files import delete_expired, read_chunks
from annotations.exchange.selectors import has_pages, places_in
from annotations.exchange.services import reading, staged
from annotations.exchange.services.importing import import_files, run_import, undo_import
from annotations.exchange.services.input_formats import INPUT_FORMATS, input_format
from annotations.exchange.services.sources import MemorySource
from annotations.formats import FORMATS
from annotations.formats.documents.base import TIME, refused
from annotations.formats.documents.extracting import DocumentsFormat, Extractor
from annotations.formats.notes import NotePart, ParsedNote, Problem
from annotations.models import Assignment, Document, DocumentSource, Event, Import, StoredFile
from annotations.ops.services.erasing import delete_note, erase_patient, note_preview
from tests.exchange.brat_files import names, page_of, pdf, run_until, word
from tests.exchange.brat_files import stage as stage_files
from tests.factories import make_set, reread
from tests.formats.documents.helpers import tarred
from tests.worlds.checks import check_page
from tests.worlds.managing import staged as staged_by
from tests.worlds.managing import upload as send
from tests.zips import zipped

LATIN = "Il paziente è stato visitato dal dottor Nicolò Però, perché la febbre così alta.\n".encode("cp1252")
OMOP = b"note_id,person_id,note_text\n1,p1,Anna Neri\n2,p2,Ugo Rossi\n3,p1,Anna Neri again\n"


PDF = pdf("First page of Anna Neri.", "Second page.")
DOCX = word("Ugo Rossi came on Monday.", "He left.")


def stage(world, files, **options):
    content = io.BytesIO(zipped(files))
    return stage_files(world.project, content, **{"format": "auto", "written_as": "", "actor": world.mia} | options)


def upload(client, files, **chosen):
    return send(client, files, **{"format": "auto"} | chosen)


@pytest.mark.parametrize(
    ("files", "format"),
    [
        ({"a.pdf": PDF}, "documents"),
        ({"a.docx": DOCX, "b.txt": LATIN}, "documents"),
        # Text in UTF-8 is kept exactly among documents.
        ({"a.docx": DOCX, "b.txt": b"plain"}, "text+docs"),
        ({"a.txt": LATIN, "b.txt": b"plain"}, "text+docs"),
        ({"a.doc": b"\xd0\xcf", "a.rtf": b"{\\rtf1 x}"}, "documents"),
        ({"a.odt": b"PK", "b.html": b"<p>x</p>"}, "documents"),
        ({"a.eml": b"From: a\n\nb"}, "documents"),
        ({"a.hl7": b"MSH|^~\\&|"}, "documents"),
        ({"a": b"MSH|^~\\&|"}, "documents"),
        ({"a.json": b'{"resourceType": "DocumentReference"}'}, "documents"),
        ({"a.ndjson": b'{"resourceType": "DocumentReference"}\n'}, "documents"),
        ({"note.csv": OMOP}, "documents"),
        ({"a.tar": b"x"}, "documents"),
        ({"a.txt": LATIN}, "documents"),
        ({"a.txt": "\ufeffx".encode("utf-16")}, "documents"),
        ({"a.txt": "è" * 70_000}, "text"),
        ({"a.txt": b"MSH|^~\\&|"}, "text"),
        ({"a.pdf": PDF, "b.txt": b"x", "b.ann": b""}, "brat+docs"),
        ({"a.bin": b"\x00", "b.txt": b"x", "b.ann": b""}, "brat"),
        ({"a.bin": b"\x00"}, "text"),
    ],
)  # fmt: skip
def test_the_format_is_detected(files, format):
    given = [(name, data.encode() if isinstance(data, str) else data) for name, data in files.items()]
    source = MemorySource(given)
    assert input_format("auto", source.names(), source) == format


def test_through_the_page(empty, mia):
    row = staged_by(upload(mia, {"in/report.pdf": PDF, "in/letter.docx": DOCX, "old.txt": LATIN}))
    assert row.format == "documents" and not Document.objects.exists()
    html = check_page(mia.get(page_of(row)))
    assert all(each in html for each in ("page 1", "page 2", "Second page.", "body", "He left.", "cp1252", "Nicolò"))
    mia.post(reverse("job_start_import", args=["covid", row.pk]))
    run_import(import_id=row.pk, progress=silent)
    assert names() == ["in/letter", "in/report", "old"]
    note = Document.objects.get(name="in/report")
    assert note.text == "First page of Anna Neri.\n\nSecond page."
    assert note.source.places == [[0, 24, "page 1"], [26, 38, "page 2"]]
    assert (note.source.name, note.source.kind) == ("in/report.pdf", "pdf")
    original = note.source.original
    assert (original.size, original.sha256) == (len(PDF), hashlib.sha256(PDF).hexdigest())
    assert b"".join(read_chunks(original)) == PDF and original.expires_at is None
    assert delete_expired() == 0 and StoredFile.objects.count() == 3, "the upload is gone, the originals stay"
    assert mia.get(reverse("file_download", args=["covid", original.pk])).status_code == 404, "it is no export"


def test_each_file_of_a_mixed_upload_is_read_in_its_format(empty, mia):
    files = {
        "a.txt": "so\u00adft".encode(), "b.txt": LATIN, "a.pdf": PDF, "c.docx": DOCX, "d.txt": b"Anna.",
        "d.ann": b"T1\tPATIENT 0 4\tAnna\n", "e.bin": b"\0",
    }  # fmt: skip
    row = staged_by(upload(mia, files))
    assert row.format == "brat+docs"
    html = check_page(mia.get(page_of(row)))
    assert all(each in html for each in ("page 1", "He left.", "Nicolò", "e.bin"))
    preview = staged.preview_import(row)
    assert (preview["notes"], preview["total"], preview["refused_files"], preview["refused_notes"]) == (5, 5, 1, 0)
    for format in ("text+docs", "brat+docs"):
        assert mia.post(page_of(row), {"do": "format", "format": format}).status_code == 302
    run_import(import_id=row.pk, progress=silent)
    assert names() == ["a", "b", "d", "a.pdf", "c"]
    assert Document.objects.get(name="a").text == "so\u00adft"
    assert Document.objects.get(name="b").source.encoding == "cp1252"


def test_options_are_shown_and_can_be_changed(empty, mia):
    files = {"old.txt": LATIN, "soft.txt": "so\u00adft".encode("utf-16")}
    row = staged_by(upload(mia, files, encoding="cp1252", no_cleanup=["control"]))
    assert (row.encoding, row.no_cleanup) == ("cp1252", ["control"])
    html = check_page(mia.get(page_of(row)))
    assert "<dd>cp1252</dd>" in html and "<dd>control</dd>" in html

    def choose(**options):
        return mia.post(page_of(row), {"do": "documents"} | options).status_code

    assert choose(encoding="", no_cleanup=[]) == 302
    assert "soft-hyphens: 1" in check_page(mia.get(page_of(row)))
    assert choose(encoding="", no_cleanup=["soft-hyphens"]) == 302
    assert choose(encoding="klingon") == choose(no_cleanup=["dust"]) == 409
    run_import(import_id=row.pk, progress=silent)
    assert Document.objects.get(name="soft").text == "so\u00adft"
    assert choose(encoding="cp1252") == 409


def test_documents_hold_no_annotations(empty, mia):
    for format in ("documents", "auto"):
        response = upload(mia, {"a.pdf": PDF}, annotations="gold", format=format)
        assert response.status_code == 422 and "ocuments" in response.content.decode()
    assert "text" in FORMATS and "documents" not in FORMATS and list(INPUT_FORMATS)[-1] == "documents"
    files = [("a.txt", b"Anna"), ("a.ann", b""), ("b.pdf", PDF)]
    for format, given in (("brat", files), ("text", [("b.txt", b"Ugo"), ("old.txt", LATIN)])):
        report = import_files(project=empty.project, files=given, format=format)
        assert report["notes"] == 1 and "“documents”" in report["refused"][0]["message"]


def test_through_the_command(empty, tmp_path, capsys):
    (tmp_path / "report.pdf").write_bytes(PDF)
    (tmp_path / "report.txt").write_bytes(b"not this one")
    call_command("import_documents", "covid", str(tmp_path / "report.pdf"))
    assert Document.objects.get().text.startswith("First page")
    (tmp_path / "old.txt").write_bytes("“€”".encode("mac_roman"))
    words = ["--format=documents", "--encoding=mac_roman", "--no-cleanup=ligatures", "--no-cleanup=control"]
    call_command("import_documents", "covid", str(tmp_path / "old.txt"), *words)
    note = Document.objects.get(name="old")
    assert (note.text, note.source.encoding) == ("“€”", "mac-roman")
    assert Import.objects.first().no_cleanup == ["control", "ligatures"]
    with pytest.raises(CommandError, match="“klingon”"):
        call_command("import_documents", "covid", str(tmp_path / "report.pdf"), "--encoding=klingon")
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "gone.pdf").write_bytes(b"%PDF-1.4 broken")
    (folder / "letter.docx").write_bytes(DOCX)
    with pytest.raises(CommandError, match=r"gone\.pdf: "):
        call_command("import_documents", "covid", str(folder), "--all-or-nothing")
    assert not Document.objects.filter(name="letter").exists() and StoredFile.objects.count() == 2
    capsys.readouterr()
    call_command("import_documents", "covid", str(folder))
    assert "file gone.pdf" in capsys.readouterr().out and Document.objects.filter(name="letter").exists()


def test_documents_of_one_name(empty):
    files = [("a.pdf", PDF), ("a.docx", DOCX), ("README.md", b"x")]
    report = import_files(project=empty.project, files=files, format="documents")
    assert (report["notes"], names()) == (2, ["a", "a.pdf"])
    assert [row["code"] for row in report["refused"]] == ["readme"]


@pytest.mark.both_databases
def test_all_or_nothing_keeps_no_originals(empty, monkeypatch):
    monkeypatch.setattr(reading, "BATCH", 1)
    row = stage(empty, {"a.docx": DOCX, "b.pdf": b"%PDF-1.4 broken"}, all_or_nothing=True)
    with pytest.raises(ServiceError, match="Nothing was imported, because a note was refused"):
        run_import(import_id=row.pk, progress=silent)
    assert names() == ["a"]
    undo_import(import_id=row.pk)
    assert not Document.objects.exists() and not StoredFile.objects.exists()


@pytest.mark.parametrize("dies_at", [1, 2, 3, 4, 6])
def test_a_killed_import_resumes(empty, monkeypatch, dies_at):
    """Archives and tables hold many notes; the broken document counts once."""
    monkeypatch.setattr(reading, "BATCH", 1)
    packed = tarred({"x/1.txt": b"one", "x/2.txt": b"two"})
    row = stage(empty, {"a.docx": DOCX, "b.tar": packed, "c.pdf": b"%PDF broken", "d.csv": OMOP})
    run_until(row, dies_at)
    report = run_import(import_id=row.pk, progress=silent)
    assert (report["notes"], report["refused_notes"], report["already_there"]) == (6, 1, 0)
    assert names() == ["a", "x/1", "x/2", "d/1", "d/2", "d/3"]
    assert StoredFile.objects.filter(kind="original").count() == 3, "a document with many notes is kept once"
    assert (reread(row).notes_done, row.files_done, row.notes_of_files) == (7, 3, 4) or row.files_done == 4


def test_the_preview_has_little_time(empty, monkeypatch):
    late = refused("a.docx", TIME, "Reading takes more than 10 s for one note.")
    monkeypatch.setattr(Extractor, "results", lambda *_given, **_named: iter([late]))
    preview = staged.preview_import(stage(empty, {"a.docx": DOCX}))
    assert (preview["refused_notes"], preview["refused"], preview["texts"]) == (0, [], [])
    assert "takes too long for the preview" in preview["warnings"][0]["message"]


def test_a_preview_shows_the_beginning_of_a_long_note(empty, mia, monkeypatch):
    monkeypatch.setattr(staged, "SHOWN_CHARACTERS", 30)
    row = stage(empty, {"a.pdf": PDF, "b.csv": OMOP})
    html = check_page(mia.get(page_of(row)))
    assert "Seco<" in html and "Anna Neri again" not in html
    assert staged.preview_import(row)["total"] == 4, "the table may hold more notes"


def test_parts_without_pages_have_no_address(empty, monkeypatch):
    import_files(project=empty.project, files=[("a.docx", DOCX), ("b.pdf", PDF)], format="documents")
    by_name = {note.name: note for note in Document.objects.all()}
    assert [place[2:] for place in places_in("covid", by_name["a"])] == [("body", "")]
    pictures = [DocumentSource(name=name, kind="image", original_id=1) for name in ("scan.PNG", "scan.svg")]
    assert [has_pages(one) for one in pictures] == [True, False]
    monkeypatch.setenv("PATH", "/nowhere")
    assert [place[2:] for place in places_in("covid", by_name["b"])] == [("page 1", ""), ("page 2", "")]


def test_a_text_that_ocr_read_is_marked(empty, mia, monkeypatch):
    warning = Problem("scan.pdf", None, "document", "The text was read by OCR.")
    parsed = ParsedNote("scan", "Anna Neri", None, [warning], file="scan.pdf", kind="pdf", ocr=0.914)
    parsed.parts = [NotePart(0, 9, "page", 1)]
    monkeypatch.setattr(DocumentsFormat, "read_many", lambda *_: iter([parsed]))
    row = stage(empty, {"scan.pdf": PDF})
    assert "91%" in check_page(mia.get(page_of(row)))
    run_import(import_id=row.pk, progress=silent)
    assert DocumentSource.objects.get().ocr_confidence == 0.914
    assert "read by OCR" in mia.get(page_of(row)).content.decode()
    assert "91%" in check_page(mia.get(reverse("note", args=["covid", Document.objects.get().pk])))


def test_erasing_reaches_the_original(empty, mia):
    import_files(project=empty.project, files=[("a.pdf", PDF), ("t.csv", OMOP)], format="documents")
    assert StoredFile.objects.count() == 2
    erase_patient(project=empty.project, patient_id="p2", actor=empty.mia)
    assert names() == ["a", "t/1", "t/3"]
    assert list(StoredFile.objects.values_list("name", flat=True)) == ["a.pdf"], "the table holds the text of p2"
    kept = DocumentSource.objects.get(document__name="t/1")
    assert kept.original is None and kept.places
    check_page(mia.get(reverse("note", args=["covid", kept.document_id])))
    assert mia.get(reverse("note_original", args=["covid", kept.document_id])).status_code == 404
    a = Document.objects.get(name="a").pk
    assert note_preview(project=empty.project, note=a)["stored_files"] == 1
    delete_note(project=empty.project, note=a, actor=empty.mia)
    assert not StoredFile.objects.exists() and DocumentSource.objects.count() == 2


def test_the_note_page_names_the_places_and_shows_their_pages_to_who_reads_the_note(empty, mia, sign_in):
    import_files(project=empty.project, files=[("a.pdf", PDF)], format="documents")
    note, ann = Document.objects.get(), sign_in(empty.ann)
    make_set(note, empty.ann, [(14, 23, "PATIENT"), (26, 32, "PATIENT"), (33, 37, "PATIENT")], submitted=True)
    html = check_page(mia.get(reverse("note", args=["covid", note.pk])))
    page = reverse("source_page", args=["covid", note.pk, 2])
    cells = '<td class="num">26–38</td><td class="num">2</td>'
    assert f'<a href="{page}" target="_blank">page 2</a></th>{cells}' in html
    url = reverse("note_original", args=["covid", note.pk])
    assert url in html
    response = mia.get(url)
    assert b"".join(response) == PDF and 'filename="a.pdf"' in response["Content-Disposition"]
    event = Event.objects.get(verb="file.downloaded")
    assert (event.document_id, event.data["file"]) == (note.pk, note.source.original_id)
    assert mia.get(reverse("note_original", args=["covid", note.pk + 1])).status_code == 404
    Assignment.objects.filter(user=empty.ben).delete()
    assert sign_in(empty.ben).get(page).status_code == 404, "the note is not assigned to this person"
    assert ann.get(reverse("note_data", args=["covid", note.pk])).json()["source"][1] == [26, 38, "page 2", page]
    with Extractor() as extractor:
        if not extractor._running().namespace:
            pytest.skip("The kernel or a container forbids namespaces here.")
    response = ann.get(page)
    assert response["Content-Type"] == "image/png" and response.content.startswith(b"\x89PNG")
    assert Event.objects.filter(verb="note.read", document_id=note.pk, data__what="page").count() == 1
    assert ann.get(reverse("source_page", args=["covid", note.pk, 3])).status_code == 404
