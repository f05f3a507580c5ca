"""The preview and the report of an import: refused notes, files that were not read, and duplicates."""

import csv
import io
import re

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotations.domain.notes import Problem
from annotations.jobs.runner import run as work
from annotations.models import Document, Import, Job, Span
from annotations.ops.services.erasing import erase_patient
from annotations.transfer.services.import_plan import LISTED, Report
from tests.transfer.import_pages import PAGE, page_of
from tests.worlds.checks import check_page
from tests.worlds.managing import HUGE, run, staged, upload


def report_of(mia, files, **data):
    """Import, and return the report. Check that the preview lists the refused files too."""
    row = staged(upload(mia, files, **data))
    html = check_page(mia.get(page_of(row)))
    report = run(row)
    for problem in report["refused"]:
        assert problem["file"] in html
    return report


@pytest.mark.parametrize(
    "note, words",
    [
        (b"T1\tPATIENT 0 99\tAnna\n", "end"),
        (b"T1\tPATIENT 0 4\tAnn\n", "text"),
    ],
)
def test_a_note_is_refused_whole(mia, note, words):
    files = {"uno.txt": b"Anna Neri", "uno.ann": note, "due.txt": b"Roma", "due.ann": b""}
    report = report_of(mia, files, format="brat", annotations="gold")
    assert report["notes"] == 1
    assert report["refused_notes"] == 1
    assert words in report["refused"][0]["message"]
    assert report["refused"][0]["line"] == 1
    assert not Document.objects.filter(name="uno").exists()


def test_files_that_are_not_notes_and_refused_notes_are_counted_separately(world, mia, capsys, tmp_path):
    files = {"uno.txt": b"a\0b", "due.txt": b"Roma", "caso\u202e.txt": b"Milano", "tre.pdf": b"x"}
    row = staged(upload(mia, files))
    html = check_page(mia.get(page_of(row)))
    assert ">1</dd>" in html.partition("<dt>Notes refused</dt>")[2] and "<dt>Files not read</dt>" in html
    mia.post(reverse("job_start_import", args=["covid", row.pk]))
    job = Job.objects.get()
    work(job.pk)
    row.refresh_from_db()
    report = row.report
    assert (report["notes"], report["refused_notes"], report["refused_files"]) == (1, 1, 2)
    html = check_page(mia.get(f"/projects/covid/import/{row.pk}/"))
    assert '<dt>Notes refused</dt><dd class="is-bad">1</dd>' in html
    assert '<dt>Files not read</dt><dd class="is-bad">2</dd>' in html and "Nothing was refused" not in html
    assert "2 files not read" in check_page(mia.get("/projects/covid/import/"))
    assert "<dt>Files not read</dt><dd>2</dd>" in check_page(mia.get(reverse("job", args=["covid", job.number])))
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "quattro.txt").write_text("Bari")
    (folder / "cinque.pdf").write_text("x")
    call_command("import_documents", "covid", str(folder), "--format=text")
    assert "Refused: 0 notes. Not read: 1 files." in capsys.readouterr().out


def test_a_report_without_its_lines_does_not_say_that_nothing_was_refused(world, mia):
    report_of(mia, {"tre.pdf": b"x", "due.txt": b"Roma"})
    Document.objects.filter(pk=world.note.pk).update(patient_id="P1")
    erase_patient(project=world.project, patient_id="P1", actor=None)
    html = check_page(mia.get(f"/projects/covid/import/{Import.objects.latest('pk').pk}/"))
    assert "Nothing was refused" not in html and "were removed when a patient was erased" in html


def test_nul_and_not_utf8_and_too_large_a_note(mia, settings):
    settings.NOTE_MAX_BYTES = 50
    files = {"nul.txt": b"a\0b", "latin.txt": "età".encode("latin-1"), "big.txt": b"x" * 51, "ok.txt": b"fine"}
    report = report_of(mia, files)
    assert report["notes"] == 1
    assert {problem["code"] for problem in report["refused"]} == {"nul", "utf8", "size"}


def test_duplicates(world, mia):
    text = world.note.text.encode()
    report = report_of(mia, {"caso-001.txt": text, "caso-002.txt": b"other text", "copia.txt": text})
    assert (report["notes"], report["already_there"], report["refused_notes"]) == (0, 1, 2)
    words = {problem["file"]: problem["message"] for problem in report["refused"]}
    assert "another text" in words["caso-002"]
    assert "has the same text as “caso-001”" in words["copia"]
    world.notes[1].refresh_from_db()
    assert world.notes[1].text != "other text"


def test_the_same_name_and_text_is_another_annotation_set(world, mia):
    ann = b"T1\tPATIENT 0 11\tMario Rossi\n"
    files = {"caso-001.txt": world.note.text.encode(), "caso-001.ann": ann}
    report = report_of(mia, files, format="brat", annotations="run", run="bert")
    assert (report["notes"], report["sets"], report["spans"]) == (0, 1, 1)
    report = report_of(mia, files, format="brat", annotations="run", run="bert")
    assert (report["already_there"], report["sets"]) == (1, 0)
    assert Span.objects.filter(annotation_set__document=world.note).count() == 1


def test_duplicates_can_still_be_imported_from_the_preview(world, mia):
    row = staged(upload(mia, {"copia.txt": world.note.text.encode()}))
    assert "Import duplicates" in check_page(mia.get(page_of(row)))
    assert mia.post(page_of(row), {"do": "take"}).status_code == 302
    assert "Refuse duplicates" in check_page(mia.get(page_of(row)))
    assert run(row)["notes"] == 1


def test_the_preview_says_if_there_is_nothing_to_import(world, mia):
    html = check_page(mia.get(page_of(staged(upload(mia, {"a.pdf": b"x"})))))
    assert "These files contain no notes" in html
    assert "Start import" not in html
    html = check_page(mia.get(page_of(staged(upload(mia, {"caso-001.txt": world.note.text.encode()})))))
    assert "This import would change nothing" in html


def test_the_list_takes_few_queries(mia, world, django_assert_max_num_queries):
    for n in range(25):
        Import.objects.create(project=world.project, format="text", report={"notes": n, "refused": ["x"] * 2000})
    with django_assert_max_num_queries(15):
        html = check_page(mia.get(PAGE))
    assert "Page 1" in html
    assert mia.get(PAGE, {"page": HUGE}).status_code == 200


def test_the_report_is_safe_in_a_spreadsheet(mia, world):
    bad = {"file": "=1+1.txt", "line": 3, "code": "utf8", "message": "not; =UTF-8"}
    report = {"notes": 0, "refused": [bad], "refused_more": 5, "warnings": [bad | {"line": None}]}
    row = Import.objects.create(project=world.project, format="text", state="done", report=report)
    response = mia.get(f"{page_of(row)}report.csv")
    assert response["Content-Type"].startswith("text/csv")
    text = response.content.decode("utf-8-sig")
    assert all(re.fullmatch(r'"[^"]*"(,"[^"]*")*', line) for line in text.splitlines()), "every cell is quoted"
    lines = list(csv.reader(io.StringIO(text)))
    assert lines[1] == ["refused", "'=1+1.txt", "3", "utf8", "not;' =UTF-8"]
    assert lines[2][3:] == ["more", "5 more problems are not listed."]
    assert lines[3][:3] == ["imported with a warning", "'=1+1.txt", ""]


def test_markup_in_names_stays_text(mia):
    row = staged(upload(mia, {"<b>x</b>.txt".replace("/", ""): b"one", "<i>.pdf": b""}))
    html = check_page(mia.get(page_of(row)))
    assert "<b>x" not in html and "<i>" not in html
    assert "&lt;b&gt;x" in html


def test_the_preview_of_refused_notes_shows_no_note_text(mia):
    files = {"uno.txt": b"Mario Rossi", "uno.ann": b"T1\tPATIENT 0 5\tLuigi\nT2\tXX 0 5\tMario\n"}
    row = staged(upload(mia, files, format="brat", annotations="gold"))
    html = check_page(mia.get(page_of(row)))
    assert "Mario" not in html and "Luigi" not in html


def test_a_report_lists_its_first_lines_and_counts_the_others():
    report, problem = Report(), Problem("a.txt", None, "utf8", "The file is not UTF-8.")
    for count in (LISTED, 1, 2):
        report.warn([problem] * count)
        report.refuse_files([problem] * count)
    assert len(report.warnings) == len(report.refused) == LISTED
    assert (report.warnings_more, report.refused_more, report.refused_files) == (3, 3, LISTED + 3)
