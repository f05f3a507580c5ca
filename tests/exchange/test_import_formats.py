"""Imports: files with many notes, other formats, all notes or none; the preview and the report."""

import csv
import io
import json
import re

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.core.services import ServiceError, silent
from annotations.exchange.services import reading, staged
from annotations.exchange.services.import_plan import LISTED, ImportReport
from annotations.exchange.services.importing import import_files, run_import
from annotations.formats.notes import Problem
from annotations.jobs.runner import run as work
from annotations.models import Document, Import, Job, Span
from annotations.ops.services.erasing import erase_patient
from tests.exchange.brat_files import GOLD, PAGE, brat, codes, names, page_of, run_until, spans_of
from tests.exchange.brat_files import stage as stage_files
from tests.factories import reread
from tests.worlds.checks import check_page
from tests.worlds.managing import run, upload
from tests.worlds.managing import staged as staged_by
from tests.worlds.queue import worked

TEXT = "Anna Neri"


def of(*rows):
    return "".join(json.dumps({"label": []} | row) + "\n" for row in rows).encode()


def stage(world, data, **options):
    content = staged.pack([("all.jsonl", data)])
    return stage_files(
        world.project, content, **{"format": "auto", "take_duplicates": True, "actor": world.mia} | options
    )


def test_a_file_of_many_notes_is_previewed_and_imported(empty, monkeypatch):
    row = stage(empty, five(label=[[0, 4, "PATIENT"]]))
    assert (row.format, row.notes_found, row.labels_found) == ("doccano", 5, {"PATIENT": [5, 5]})
    preview = staged.preview_import(row)
    assert (preview["total"], preview["looked_at"], preview["notes"], preview["spans"]) == (5, 5, 5, 5)
    monkeypatch.setattr(staged, "PREVIEWED", 2)
    preview = staged.preview_import(row)
    assert (preview["total"], preview["looked_at"], preview["notes"]) == (5, 2, 2)
    report = run_import(import_id=row.pk, progress=silent)
    assert (report["notes"], report["spans"]) == (5, 5)
    assert names() == [f"n{at}" for at in range(5)]


def test_a_killed_import_continues_inside_the_file(empty, monkeypatch):
    monkeypatch.setattr(reading, "BATCH", 2)
    row = stage(empty, five())
    run_until(row, 4)
    assert names() == ["n0", "n1", "n2", "n3"]
    seen = []
    run_import(import_id=row.pk, progress=lambda done, total: seen.append((done, total)))
    assert names() == [f"n{at}" for at in range(5)]
    assert seen == [(4, 5), (5, 5)]
    assert reread(row).report["notes"] == 5


def test_two_notes_of_one_name(empty):
    report = take(empty, {"name": "a", "text": "x"}, {"name": "a", "text": "y"})
    assert (report["notes"], report["refused_notes"], report["refused"][0]["code"]) == (1, 1, "same name")
    assert Document.objects.get().text == "x"


def test_a_note_in_a_long_file_is_not_longer_than_others(empty, settings):
    settings.NOTE_MAX_BYTES = 20
    report = take(empty, {"name": "short", "text": "àèìòù"}, {"name": "long", "text": "àèìòù" * 3})
    assert (names(), report["refused_notes"], report["refused"][0]["code"]) == (["short"], 1, "size")


def test_all_or_nothing_takes_everything_back(empty, monkeypatch, tmp_path):
    monkeypatch.setattr(reading, "BATCH", 1)
    rows = of({"name": "a", "text": "x"}, {"name": "b"}, {"name": "c", "text": "z"})
    row = stage(empty, rows, all_or_nothing=True)
    with pytest.raises(ServiceError, match=r"all\.jsonl, line 2: "):
        run_import(import_id=row.pk, progress=silent)
    assert reread(row).report["refused_notes"] == 1
    Document.objects.all().delete()
    (tmp_path / "all.jsonl").write_bytes(rows)
    with pytest.raises(CommandError, match="Nothing was imported"):
        call_command("import_documents", "covid", str(tmp_path), "--all-or-nothing", "--format", "auto")
    assert names() == []
    call_command("import_documents", "covid", str(tmp_path), stdout=io.StringIO())
    assert names() == ["a", "c"]


def test_formats_that_are_only_read(empty, sign_in):
    denotation = {"id": "T1", "span": {"begin": 0, "end": 4}, "obj": "PATIENT"}
    files = {
        "pubtator": ("a.txt", b"12|t|Anna Neri\n12\t0\t4\tAnna\tPATIENT\n"),
        "pubannotation": ("b.json", json.dumps({"text": "Anna Bo", "denotations": [denotation]}).encode()),
    }
    for format, file in files.items():
        content = staged.pack([file, ("more.rtf", b"{\\rtf1 Bo}")])
        row = stage_files(empty.project, content, format="auto", written_as="gold", actor=empty.mia)
        assert (row.format, row.labels_found) == (f"{format}+docs", {"PATIENT": [1, 1]})
        report = run_import(import_id=row.pk, progress=silent)
        assert (report["sets"], report["spans"]) == (1, 1)
    assert names() == ["12", "more", "b-00001"]
    html = sign_in(empty.mia).get(reverse("import", args=["covid"])).content.decode()
    assert all(f'<option value="{format}"' in html for format in files)


def test_an_upload_of_several_formats(empty, sign_in, monkeypatch):
    mia = sign_in(empty.mia)
    files = {
        "brat/a.txt": b"Anna Neri", "brat/a.ann": b"T1\tPATIENT 0 4\tAnna\n",
        "all.jsonl": five(label=[[0, 4, "PATIENT"]]), "loose.txt": b"Nobody",
    }  # fmt: skip
    row = staged_by(upload(mia, files, format="auto", take_duplicates="on"))
    assert (row.format, row.labels_found) == ("several", {"PATIENT": [6, 6]})
    page = reverse("import_preview", args=["covid", row.pk])
    html = check_page(mia.get(page))
    assert re.findall(r"<dt>(brat|doccano|Plain text)</dt>\s*<dd>([^<]+)</dd>", html) == [
        ("brat", "brat/a.ann, brat/a.txt"), ("doccano", "all.jsonl"), ("Plain text", "loose.txt"),
    ]  # fmt: skip
    assert 'name="annotations" value="gold" required' in html
    preview = staged.preview_import(row)
    assert (preview["total"], preview["notes"], preview["spans"], preview["refused"]) == (7, 7, 0, [])
    assert mia.post(page, {"do": "author", "annotations": "gold"}).status_code == 302
    monkeypatch.setattr(reading, "BATCH", 2)
    run_until(row, 4)
    assert names() == ["brat/a", "n0", "n1", "n2"]
    report = run_import(import_id=row.pk, progress=silent)
    assert (report["notes"], report["sets"], report["spans"]) == (7, 6, 6)
    assert names() == ["brat/a", *(f"n{at}" for at in range(5)), "loose"]


def test_several_formats_through_the_command(empty, tmp_path):
    (tmp_path / "all.jsonl").write_bytes(five(label=[[0, 4, "PATIENT"]]))
    (tmp_path / "a.txt").write_text("Anna")
    (tmp_path / "a.ann").write_text("T1\tPATIENT 0 4\tBodo\n")
    call_command("import_documents", "covid", str(tmp_path), "--as=gold", "--take-duplicates", stdout=io.StringIO())
    row = Import.objects.get()
    assert (row.format, row.report["spans"], row.report["refused"][0]["file"]) == ("several", 5, "a.ann")


def test_the_annotation_set_of_gate_files_is_chosen(empty, sign_in, tmp_path):
    def annotation(name, label, end):
        one = f'<Annotation Id="1" Type="{label}" StartNode="0" EndNode="{end}"></Annotation>'
        return f'<AnnotationSet Name="{name}">{one}</AnnotationSet>'

    text = '<TextWithNodes><Node id="0"/>Anna<Node id="4"/> Neri<Node id="9"/></TextWithNodes>'
    sets = annotation("ann1", "PATIENT", 4) + annotation("Key", "PATIENT", 9)
    (tmp_path / "a.xml").write_text(f"<GateDocument>{text}{sets}</GateDocument>")
    content = staged.pack([("a.xml", (tmp_path / "a.xml").read_bytes())])
    row = stage_files(empty.project, content, format="auto", written_as="gold", actor=empty.mia)
    mia, page = sign_in(empty.mia), reverse("import_preview", args=["covid", row.pk])
    assert row.format == "gate" and staged.preview_import(row)["gate_sets"] == ["gate:Key", "gate:ann1"]
    assert mia.post(page, {"do": "format", "format": "gate:Key"}).status_code == 302
    assert '<option value="gate:Key" selected>' in mia.get(page).content.decode()
    assert mia.post(page, {"do": "format", "format": f"gate:{'x' * 20}"}).status_code == 409
    run_import(import_id=row.pk, progress=silent)
    call_command("import_documents", "covid", str(tmp_path), "--format=gate:ann1", "--as=run:one")
    assert sorted(Span.objects.values_list("annotation_set__author__kind", "end")) == [("gold", 9), ("run", 4)]
    with pytest.raises(CommandError):
        call_command("import_documents", "covid", str(tmp_path), "--format=pdf")


def test_another_format_for_staged_files(empty, sign_in):
    mia = sign_in(empty.mia)
    content = staged.pack([("a.txt", TEXT.encode()), ("a.ann", b"T1\tPATIENT 0 4\tAnna\n")])
    row = stage_files(empty.project, content, format="conll", actor=empty.mia)
    page = reverse("import_preview", args=["covid", row.pk])
    assert mia.post(page, {"do": "format", "format": "brat"}).status_code == 302
    assert (reread(row).format, row.labels_found) == ("brat", {"PATIENT": [1, 1]})
    for format in ("pdf", "text"):  # text holds no annotations
        assert mia.post(page, {"do": "format", "format": format}).status_code == 409
    for do, whole in (("all", True), ("readable", False)):
        mia.post(page, {"do": do})
        assert Import.objects.get(pk=row.pk).all_or_nothing is whole
    run_import(import_id=row.pk, progress=silent)
    assert mia.post(page, {"do": "format", "format": "conll"}).status_code == 409


def take(world, *rows, **options):
    return import_files(project=world.project, files=[("all.jsonl", of(*rows))], format="doccano", **options)


def five(**more):
    return of(*({"name": f"n{at}", "text": TEXT} | more for at in range(5)))


# The preview and the report of an import: refused and moved, files that were not read, and duplicates


def test_a_note_is_refused_whole_without_its_text(mia):
    ann = b"T1\tPATIENT 0 99\tAnna\nT2\tPATIENT 0 4\tLuigi\n"
    files = {"uno.txt": b"Anna Neri", "uno.ann": ann, "due.txt": b"Roma", "due.ann": b""}
    row = staged_by(upload(mia, files, **GOLD))
    html = check_page(mia.get(page_of(row)))
    assert "uno.ann" in html and "Anna" not in html and "Luigi" not in html
    report = run(row)
    assert (report["notes"], report["refused_notes"]) == (1, 1)
    assert [(line["code"], line["line"]) for line in report["refused"]] == [("outside", 1), ("quote", 2)]
    assert not Document.objects.filter(name="uno").exists()


def test_files_that_are_not_notes_and_refused_notes_are_counted_separately(world, mia, capsys, tmp_path):
    files = {"uno.txt": b"a\0b", "due.txt": b"Roma", "caso\u202e.txt": b"Milano", "tre.pdf": b"x"}
    row = staged_by(upload(mia, files))
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
    row = staged_by(upload(mia, {"copia.txt": world.note.text.encode(), "caso-002.txt": b"other text"}))
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
    row = staged_by(upload(mia, {"<b>x</b>.txt".replace("/", ""): b"one", "<i>.pdf": b""}))
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
    row = staged_by(upload(mia, FILES | {"patients.csv": b"name,patient_id\na,P-1\n"}, **GOLD, repair_offsets="on"))
    assert MOVED in check_page(mia.get(page_of(row)))
    mia.post(reverse("job_start_import", args=["covid", row.pk]))
    job = worked(Job.objects.get())
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
    row = staged_by(upload(mia, FILES, **GOLD))
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
        assert 'value="repair"' not in check_page(mia.get(page_of(staged_by(upload(mia, FILES, **choices)))))


def test_the_command(world, tmp_path, capsys):
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(CommandError):
        call_command("import_documents", "covid", str(tmp_path), "--as=gold")
    call_command("import_documents", "covid", str(tmp_path), "--as=gold", "--repair-offsets")
    assert MOVED in capsys.readouterr().out and spans_of() == RIGHT
