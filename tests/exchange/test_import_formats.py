"""Files with many notes, another format for staged files, and imports of all notes or none."""

import io
import json
import re

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.core.services import ServiceError, silent
from annotations.exchange.services import reading, staged
from annotations.exchange.services.importing import import_files, run_import
from annotations.models import Document, Import, Span
from tests.exchange.brat_files import names, run_until
from tests.exchange.brat_files import stage as stage_files
from tests.worlds.checks import check_page
from tests.worlds.managing import staged as staged_by
from tests.worlds.managing import upload

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
    row.refresh_from_db()
    assert row.report["notes"] == 5


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
    row.refresh_from_db()
    assert row.report["refused_notes"] == 1
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
    row.refresh_from_db()
    assert (row.format, row.labels_found) == ("brat", {"PATIENT": [1, 1]})
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
