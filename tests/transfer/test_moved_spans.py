"""Importing brat files with wrong offsets: the note is refused, or on request its spans are moved and listed."""

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.jobs.runner import run as work
from annotations.models import Document, Import, Job, Span
from annotations.ops.services.erasing import erase_patient
from tests.transfer.brat_files import brat, codes, spans_of
from tests.transfer.import_pages import PAGE, page_of
from tests.worlds.checks import check_page
from tests.worlds.managing import run, staged, upload

WRONG = "T1\tPATIENT 2 13\tMario Rossi\nT2\tCITY 30 36\tTorino\n"
FILES = dict(brat(ann=WRONG))
GOLD = {"format": "brat", "annotations": "gold"}
RIGHT = [(0, 11, "PATIENT"), (30, 36, "CITY")]
MOVED = "The text of the span 2-13 stands at 0-11; the span was moved there."


def test_without_the_option_the_note_is_refused(mia):
    row = staged(upload(mia, FILES, **GOLD))
    assert not row.repair_offsets
    assert codes(run(row)) == ["quote"]
    assert not Document.objects.filter(name="a").exists()


def test_the_option_moves_and_lists_the_spans(mia):
    row = staged(upload(mia, FILES, **GOLD, repair_offsets="on"))
    html = check_page(mia.get(page_of(row)))
    assert "Spans moved" in html and MOVED in html
    mia.post(reverse("job_start_import", args=["covid", row.pk]))
    job = Job.objects.get()
    work(job.pk)
    job.refresh_from_db()
    assert spans_of() == RIGHT
    assert job.result["moved_spans"] == 1
    assert "Spans moved" in check_page(mia.get(reverse("job", args=["covid", job.number])))
    html = check_page(mia.get(page_of(row)))
    assert "Spans moved" in html and MOVED in html and "Imported with a warning" in html
    lines = list(csv.reader(io.StringIO(mia.get(f"{page_of(row)}report.csv").content.decode("utf-8-sig"))))
    assert lines[1:] == [["imported with a warning", "a.ann", "1", "moved", MOVED]]


def test_the_preview_offers_the_option_and_its_opposite(mia):
    row = staged(upload(mia, FILES, **GOLD))
    html = check_page(mia.get(page_of(row)))
    assert "Move spans to their text" in html and "Would be refused" in html
    assert mia.post(page_of(row), {"do": "repair"}).status_code == 302
    html = check_page(mia.get(page_of(row)))
    assert "Refuse wrong offsets" in html and "Would be refused" not in html and MOVED in html
    mia.post(page_of(row), {"do": "keep"})
    assert not Import.objects.get().repair_offsets
    assert "Would be refused" in check_page(mia.get(page_of(row)))


def test_a_started_import_keeps_its_choice(mia):
    row = staged(upload(mia, FILES, **GOLD))
    run(row)
    response = mia.post(page_of(row), {"do": "repair"})
    assert response.status_code == 409 and "already started" in response.content.decode()
    assert not Import.objects.get().repair_offsets


def test_only_brat_with_an_author_offers_the_option(mia):
    for choices in ({"format": "text"}, {"format": "brat"}):
        html = check_page(mia.get(page_of(staged(upload(mia, FILES, **choices)))))
        assert "Move spans to their text" not in html


def test_the_same_upload_with_another_choice_is_another_import(mia):
    rows = [staged(upload(mia, FILES, **GOLD, **more)) for more in ({}, {"repair_offsets": "on"}, {})]
    assert rows[0] == rows[2] != rows[1]


def test_the_form_has_the_option_off(mia):
    html = check_page(mia.get(PAGE))
    assert '<input type="checkbox" name="repair_offsets" aria-describedby=' in html


def test_the_command(world, tmp_path, capsys):
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(CommandError):
        call_command("import_documents", "covid", str(tmp_path), "--as=gold")
    capsys.readouterr()
    call_command("import_documents", "covid", str(tmp_path), "--as=gold", "--repair-offsets")
    said = capsys.readouterr().out
    assert "Spans moved to the text that they quote: 1." in said
    assert f"Warning: a.ann, line 1: {MOVED}" in said
    assert spans_of() == RIGHT


def test_erasing_a_patient_deletes_the_lines(world, mia):
    files = FILES | {"patients.csv": b"name,patient_id\na,P-1\n"}
    row = staged(upload(mia, files, **GOLD, repair_offsets="on"))
    run(row)
    erase_patient(project=world.project, patient_id="P-1", actor=world.mia)
    report = Import.objects.get(pk=row.pk).report
    assert report["warnings"] == [] and "a.ann" not in json.dumps(report)
    assert not Span.objects.exists()
