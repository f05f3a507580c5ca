"""The preview and the report of an import: refused and moved, files that were not read, and duplicates."""

import csv
import io
import json
import re

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.exchange.services.import_plan import LISTED, ImportReport
from annotations.formats.notes import Problem
from annotations.jobs.runner import run as work
from annotations.models import Document, Import, Job, Span
from annotations.ops.services.erasing import erase_patient
from tests.exchange.brat_files import GOLD, PAGE, brat, codes, page_of, spans_of
from tests.worlds.checks import check_page
from tests.worlds.managing import run, staged, upload


def test_a_note_is_refused_whole_without_its_text(mia):
    ann = b"T1\tPATIENT 0 99\tAnna\nT2\tPATIENT 0 4\tLuigi\n"
    files = {"uno.txt": b"Anna Neri", "uno.ann": ann, "due.txt": b"Roma", "due.ann": b""}
    row = staged(upload(mia, files, **GOLD))
    html = check_page(mia.get(page_of(row)))
    assert "uno.ann" in html and "Anna" not in html and "Luigi" not in html
    report = run(row)
    assert (report["notes"], report["refused_notes"]) == (1, 1)
    assert [(line["code"], line["line"]) for line in report["refused"]] == [("outside", 1), ("quote", 2)]
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
    assert [row.report[key] for key in ("notes", "refused_notes", "refused_files")] == [1, 1, 2]
    html = check_page(mia.get(page_of(row)))
    assert '<dt>Notes refused</dt><dd class="is-bad">1</dd>' in html
    assert '<dt>Files not read</dt><dd class="is-bad">2</dd>' in html and "Nothing was refused" not in html
    assert "2 files not read" in check_page(mia.get(PAGE))
    assert "<dt>Files not read</dt><dd>2</dd>" in check_page(mia.get(reverse("job", args=["covid", job.number])))
    for name in ("quattro.txt", "cinque.pdf"):
        (tmp_path / name).write_text("Bari")
    call_command("import_documents", "covid", str(tmp_path), "--format=text")
    assert {"refused_notes: 0", "refused_files: 1"} <= set(capsys.readouterr().out.splitlines())
    # A report that lost its lines doesn't say that nothing was refused.
    Document.objects.filter(pk=world.note.pk).update(patient_id="P1")
    erase_patient(project=world.project, patient_id="P1", actor=None)
    html = check_page(mia.get(page_of(row)))
    assert "Nothing was refused" not in html and "were removed when a patient was erased" in html


def test_duplicates(world, mia):
    row = staged(upload(mia, {"copia.txt": world.note.text.encode(), "caso-002.txt": b"other text"}))
    assert 'value="take"' in check_page(mia.get(page_of(row)))
    assert mia.post(page_of(row), {"do": "take"}).status_code == 302
    assert 'value="leave"' in check_page(mia.get(page_of(row)))
    report = run(row)
    assert (report["notes"], [line["code"] for line in report["refused"]]) == (1, ["other-text"])
    world.notes[1].refresh_from_db()
    assert world.notes[1].text != "other text"


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
    assert lines[2][3] == "more" and lines[2][4].startswith("5 ")
    assert lines[3][:3] == ["imported with a warning", "'=1+1.txt", ""]


def test_markup_in_names_stays_text(mia):
    row = staged(upload(mia, {"<b>x</b>.txt".replace("/", ""): b"one", "<i>.pdf": b""}))
    html = check_page(mia.get(page_of(row)))
    assert "<b>x" not in html and "<i>" not in html and "&lt;b&gt;x" in html


def test_a_report_lists_its_first_lines_and_counts_the_others():
    report, problem = ImportReport(), Problem("a.txt", None, "utf8", "The file is not UTF-8.")
    for count in (LISTED, 1, 2):
        report.warn([problem] * count)
        report.refuse_files([problem] * count)
    assert len(report.warnings) == len(report.refused) == LISTED
    assert (report.warnings_more, report.refused_more, report.refused_files) == (3, 3, LISTED + 3)


FILES = dict(brat(ann="T1\tPATIENT 2 13\tMario Rossi\nT2\tCITY 30 36\tTorino\n"))
RIGHT = [(0, 11, "PATIENT"), (30, 36, "CITY")]
MOVED = "The text of the span 2-13 stands at 0-11; the span was moved there."


def test_the_option_moves_and_lists_the_spans_until_a_patient_is_erased(world, mia):
    row = staged(upload(mia, FILES | {"patients.csv": b"name,patient_id\na,P-1\n"}, **GOLD, repair_offsets="on"))
    assert MOVED in check_page(mia.get(page_of(row)))
    mia.post(reverse("job_start_import", args=["covid", row.pk]))
    job = Job.objects.get()
    work(job.pk)
    job.refresh_from_db()
    assert spans_of() == RIGHT and job.result["moved_spans"] == 1
    assert "Spans moved" in check_page(mia.get(reverse("job", args=["covid", job.number])))
    assert MOVED in check_page(mia.get(page_of(row)))
    lines = list(csv.reader(io.StringIO(mia.get(f"{page_of(row)}report.csv").content.decode("utf-8-sig"))))
    assert lines[1:] == [["imported with a warning", "a.ann", "1", "moved", MOVED]]
    erase_patient(project=world.project, patient_id="P-1", actor=world.mia)
    report = Import.objects.get(pk=row.pk).report
    assert report["warnings"] == [] and "a.ann" not in json.dumps(report)
    assert not Span.objects.exists()


def test_the_preview_offers_the_option_and_its_opposite(mia):
    row = staged(upload(mia, FILES, **GOLD))
    for do, offered, refused in (("repair", "keep", False), ("keep", "repair", True)):
        assert mia.post(page_of(row), {"do": do}).status_code == 302
        html = check_page(mia.get(page_of(row)))
        assert (
            f'value="{offered}"' in html and ("Would be refused" in html) is refused and (MOVED in html) is not refused
        )
    assert not Import.objects.get().repair_offsets
    assert codes(run(row)) == ["quote"]
    assert not Document.objects.filter(name="a").exists()
    assert mia.post(page_of(row), {"do": "repair"}).status_code == 409
    assert not Import.objects.get().repair_offsets


def test_only_brat_with_an_author_offers_the_option(mia):
    for choices in ({"format": "text"}, {"format": "brat"}):
        html = check_page(mia.get(page_of(staged(upload(mia, FILES, **choices)))))
        assert 'value="repair"' not in html


def test_the_command(world, tmp_path, capsys):
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(CommandError):
        call_command("import_documents", "covid", str(tmp_path), "--as=gold")
    call_command("import_documents", "covid", str(tmp_path), "--as=gold", "--repair-offsets")
    assert MOVED in capsys.readouterr().out and spans_of() == RIGHT
