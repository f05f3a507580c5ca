"""Labels of imported files that the project doesn't have: map, add or skip, on the preview and by the command."""

import csv
import io
import json
import re

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.core.progress import silent
from annotations.domain.formats import FORMATS, detected
from annotations.domain.formats.base import Loaded, NoteFiles
from annotations.jobs.runner import run as work
from annotations.jobs.services.queue import cancel
from annotations.models import Category, Document, Import, Job, Label, Span
from annotations.ops.services.erasing import erase_patient
from annotations.projects.services.labels import add_label, delete_label, merge_labels, update_label
from annotations.transfer.services import reading
from annotations.transfer.services.importing import run_import
from annotations.transfer.services.label_choices import MOST_LABELS, unknown_of
from annotations.transfer.services.starting import start_import
from tests.transfer.import_pages import page_of
from tests.worlds.checks import check_page
from tests.worlds.managing import staged, upload, zip_of

TEXT = b"Anna Neri a Roma"
FILES = {
    "uno.txt": TEXT,
    "uno.ann": b"T1\tPATIENTS 0 4\tAnna\nT2\tpatients 5 9\tNeri\nT3\tDRAGON 12 16\tRoma\n",
    "due.txt": b"Anna Bianchi",
    "due.ann": b"T1\tPATIENT 0 4\tAnna\nT2\tPATIENTS 5 12\tBianchi\n",
}
TOWN = {"uno.txt": TEXT, "uno.ann": b"T1\tTOWN 12 16\tRoma\n"}


@pytest.fixture
def row(mia):
    return staged(upload(mia, FILES, format="brat", annotations="gold"))


def label(world, code):
    return Label.objects.get(label_set__project=world.project, code=code)


def unknown(row):
    return unknown_of(Import.objects.select_related("project").get(pk=row.pk))


def choose(client, row, values, seen=None):
    """Save choices as the page does; `values` by the label in the files."""
    state = unknown(row)
    body = {f"label-{one.key}": values.get(one.name, one.value) for one in state.rows}
    return client.post(page_of(row), {"do": "labels", "choices": seen or state.seen, **body})


def start(client, row, seen=None):
    body = {"choices": unknown(row).seen if seen is None else seen}
    response = client.post(reverse("job_start_import", args=["covid", row.pk]), body)
    if job := Job.objects.filter(kind="import").first():
        work(job.pk)
    row.refresh_from_db()
    return response


def spans():
    return {
        (one.annotation_set.document.name, one.start, one.label.code)
        for one in Span.objects.filter(annotation_set__document__name__in=["uno", "due"]).select_related(
            "label", "annotation_set__document"
        )
    }


def test_the_preview_lists_unknown_labels_with_counts_and_suggestions(world, mia, row):
    html = check_page(mia.get(page_of(row)))
    assert "Unknown labels" in html and "Did you mean" in html
    table = html.partition('id="labels"')[2].partition("</section>")[0]
    cells = [re.sub(r"\s+", " ", each) for each in re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)[1:]]
    assert [(one.name, one.spans, one.notes) for one in unknown(row).rows] == [("PATIENTS", 3, 2), ("DRAGON", 1, 1)]
    assert ">3</td>" in cells[0] and ">2</td>" in cells[0] and label(world, "PATIENT").name in cells[0]
    assert "disabled" in html.partition("Start import")[0].rpartition("<button")[2]
    assert not Document.objects.filter(name="uno").exists()


def test_map_add_and_skip(world, mia, row):
    category = Category.objects.filter(label_set__project=world.project).first()
    choose(mia, row, {"PATIENTS": f"map:{label(world, 'PATIENT').pk}", "DRAGON": f"add:{category.pk}"})
    assert not Label.objects.filter(code="DRAGON").exists()
    html = check_page(mia.get(page_of(row)))  # the choices survive a reload
    assert html.count(" selected>") == 3  # with the format
    start(mia, row)
    assert row.state == Import.State.DONE
    assert spans() == {
        ("uno", 0, "PATIENT"),
        ("uno", 5, "PATIENT"),
        ("uno", 12, "DRAGON"),
        ("due", 0, "PATIENT"),
        ("due", 5, "PATIENT"),
    }
    assert label(world, "DRAGON").category == category
    lines = {name: (line["do"], line["label"], line["spans"]) for name, line in row.report["labels"].items()}
    assert lines == {"PATIENTS": ("mapped", "PATIENT", 3), "DRAGON": ("added", "DRAGON", 1)}
    check_page(mia.get(page_of(row)))
    check_page(mia.get(reverse("job", args=["covid", Job.objects.get().number])))
    report = list(csv.reader(io.StringIO(mia.get(f"{page_of(row)}report.csv").content.decode("utf-8-sig"))))
    assert ["label mapped", "", "", "label", "“PATIENTS” as PATIENT: 3 spans"] in report


def test_skipped_spans_are_counted_and_their_notes_imported(world, mia, row):
    choose(mia, row, {"PATIENTS": "skip", "DRAGON": "skip"})
    start(mia, row)
    assert spans() == {("due", 0, "PATIENT")}
    assert Document.objects.filter(name__in=["uno", "due"]).count() == 2
    assert {name: line["spans"] for name, line in row.report["labels"].items()} == {"PATIENTS": 3, "DRAGON": 1}
    assert "Skipped" in check_page(mia.get(page_of(row)))


def test_nothing_starts_before_every_label_has_a_choice(world, mia, row):
    choose(mia, row, {"DRAGON": "skip"})
    start(mia, row)
    assert row.state == Import.State.STAGED and not Job.objects.exists()
    html = check_page(mia.get(page_of(row)))
    assert "PATIENTS" in html
    with pytest.raises(ServiceError, match=r"(?s)PATIENTS.*spans: 3, notes: 2.*Did you mean PATIENT"):
        start_import(project=world.project, import_id=row.pk, actor=world.mia)


def test_two_managers_choose_at_once(world, mia, row):
    seen = unknown(row).seen
    choose(mia, row, {"PATIENTS": "skip", "DRAGON": "skip"}, seen)
    # The same choices again, as after a double click, change nothing and are no error.
    assert choose(mia, row, {"PATIENTS": "skip", "DRAGON": "skip"}, seen).status_code == 302
    target = f"map:{label(world, 'PATIENT').pk}"
    response = choose(mia, row, {"PATIENTS": target, "DRAGON": "skip"}, seen)
    assert response.status_code == 409 and "have changed since you opened this page" in response.content.decode()
    # A person who saw other choices can't start the import either.
    assert "have changed" in check_page(mia.get(start(mia, row, seen).url))
    assert row.state == Import.State.STAGED
    start(mia, row)
    assert row.state == Import.State.DONE and spans() == {("due", 0, "PATIENT")}


def test_labels_renamed_and_merged_before_and_after_the_start(world, mia, row):
    patient, city = label(world, "PATIENT"), label(world, "CITY")
    choose(mia, row, {"PATIENTS": f"map:{city.pk}", "DRAGON": "skip"})
    doctor = add_label(label_set=city.label_set, category=city.category, name="PLACE", actor=None)
    merge_labels(source=city, target=doctor, actor=None)
    assert unknown(row).rows[0].value == f"map:{doctor.pk}"  # the choice follows the merge
    job = start_import(project=world.project, import_id=row.pk, actor=world.mia)
    update_label(label=doctor, actor=None, name="Renamed")
    last = add_label(label_set=city.label_set, category=city.category, name="LAST", actor=None)
    merge_labels(source=patient, target=last, actor=None)
    work(job.pk)
    assert spans() == {("uno", 0, "PLACE"), ("uno", 5, "PLACE"), ("due", 0, "LAST"), ("due", 5, "PLACE")}


def test_a_label_renamed_after_the_start_is_still_known(world, mia):
    city = label(world, "CITY")
    update_label(label=city, actor=None, name="TOWN")
    row = staged(
        upload(mia, {"uno.txt": TEXT, "uno.ann": b"T1\tTOWN 12 16\tRoma\n"}, annotations="gold", format="brat")
    )
    job = start_import(project=world.project, import_id=row.pk, actor=world.mia)
    update_label(label=city, actor=None, name="PLACE")
    work(job.pk)
    assert spans() == {("uno", 12, "CITY")}


def test_a_label_that_becomes_unknown_before_the_start_asks_for_a_choice(world, mia):
    city = label(world, "CITY")
    update_label(label=city, actor=None, name="TOWN")
    row = staged(
        upload(mia, {"uno.txt": TEXT, "uno.ann": b"T1\tTOWN 12 16\tRoma\n"}, annotations="gold", format="brat")
    )
    assert "Unknown labels" not in check_page(mia.get(page_of(row)))
    update_label(label=city, actor=None, name="PLACE")
    start(mia, row, "")
    assert row.state == Import.State.STAGED
    assert "TOWN" in check_page(mia.get(page_of(row)))


def test_two_labels_mapped_to_one_give_one_span(world, mia):
    annotations = b"T1\tA1 0 4\tAnna\nT2\tB2 0 4\tAnna\n"
    row = staged(upload(mia, {"uno.txt": TEXT, "uno.ann": annotations}, annotations="gold", format="brat"))
    target = f"map:{label(world, 'PATIENT').pk}"
    choose(mia, row, {"A1": target, "B2": target})
    start(mia, row)
    assert spans() == {("uno", 0, "PATIENT")} and row.report["spans"] == 1


def test_without_an_author_labels_do_not_matter(mia):
    row = staged(upload(mia, FILES, format="brat"))
    assert "Unknown labels" not in check_page(mia.get(page_of(row)))
    start(mia, row, "")
    assert Document.objects.filter(name__in=["uno", "due"]).count() == 2 and not spans()


def test_conll_bundles_and_characters_that_no_form_takes(world, mia):
    table = "-DOCSTART-\tuno\nAnna\t0\t4\tB-X\u202eY\nNeri\t5\t9\tI-X\u202eY\na\t10\t11\tO\nRoma\t12\t16\tI-X\u202eY\n"
    row = staged(upload(mia, {"uno.txt": TEXT, "all.conll": table.encode()}, annotations="gold", format="conll"))
    assert [(one.spans, one.notes) for one in unknown(row).rows] == [(2, 1)]
    choose(mia, row, {"X\u202eY": f"map:{label(world, 'PATIENT').pk}"})
    start(mia, row)
    assert spans() == {("uno", 0, "PATIENT"), ("uno", 12, "PATIENT")}


@pytest.mark.parametrize("value", ["map:1", "map:x", "add:99999999", "map:99999999999999999999999", "everything"])
def test_impossible_choices_are_refused(mia, row, value):
    Label.objects.filter(pk=1).delete()
    response = choose(mia, row, {"DRAGON": value})
    assert response.status_code == 409
    row.refresh_from_db()
    assert row.label_choices == {}


def test_too_many_labels_are_no_annotations(mia):
    lines = b"".join(b"T%d\tX%d 0 4\tAnna\n" % (at, at) for at in range(MOST_LABELS + 1))
    response = upload(mia, {"uno.txt": TEXT, "uno.ann": lines}, annotations="gold", format="brat")
    assert response.status_code == 422 and "different labels" in response.content.decode()
    assert not Import.objects.exists()


def test_an_erasure_forgets_the_labels_of_files(world, mia, row):
    choose(mia, row, {"PATIENTS": "skip", "DRAGON": "skip"})
    start(mia, row)
    Document.objects.filter(pk=world.note.pk).update(patient_id="P1")
    erase_patient(project=world.project, patient_id="P1", actor=None)
    row.refresh_from_db()
    assert "labels" not in row.report and row.labels_found is None and row.label_choices == {}


@pytest.fixture
def folder(tmp_path):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    return str(tmp_path)


def test_the_command_lists_unknown_labels_and_imports_nothing(world, folder):
    with pytest.raises(CommandError) as error:
        call_command("import_documents", "covid", folder, "--as=gold")
    message = str(error.value)
    assert "“PATIENTS” (spans: 3, notes: 2). Did you mean PATIENT?" in message
    assert "“DRAGON” (spans: 1, notes: 1)" in message and "--map-label" in message
    assert not Document.objects.filter(name="uno").exists() and not Import.objects.exists()


def test_the_command_maps_adds_and_skips(world, folder, capsys):
    options = ["--as=gold", "--map-label", "PATIENTS=patient", "--add-label", "dragon"]
    call_command("import_documents", "covid", folder, *options)
    assert "Label “PATIENTS” mapped as PATIENT: 3 spans." in capsys.readouterr().out
    assert ("uno", 12, "DRAGON") in spans() and len(spans()) == 5


def test_the_command_skips_and_says_so_in_json(world, folder, capsys):
    call_command(
        "import_documents", "covid", folder, "--as=gold", "--skip-label=PATIENTS", "--skip-label=DRAGON", "--json"
    )
    result = json.loads(capsys.readouterr().out)
    assert {name: line["spans"] for name, line in result["labels"].items()} == {"PATIENTS": 3, "DRAGON": 1}


@pytest.mark.parametrize(
    "option, words",
    [
        ("--map-label=DRAGON=NOBODY", "no label “NOBODY”"),
        ("--map-label=CAT=PATIENT", "“CAT” is not an unknown label"),
        ("--add-label=DRAGON=BEASTS", "no category “BEASTS”"),
        ("--skip-label=PATIENT", "“PATIENT” is not an unknown label"),
    ],
)
def test_wrong_options_of_the_command(world, folder, option, words):
    with pytest.raises(CommandError, match=words):
        call_command("import_documents", "covid", folder, "--as=gold", option)
    assert not Import.objects.exists()


@pytest.mark.parametrize(
    "names, format",
    [
        (["a/x.txt", "a/x.ann"], "brat"),
        (["x.TXT", "x.CONLL"], "conll"),
        (["x.txt", "y.pdf"], "text"),
        (["x.txt", "__MACOSX/x.ann", ".x.ann"], "text"),
        ([], "text"),
    ],
)
def test_the_format_is_detected(names, format):
    head = b"# columns: token start end tag; note: x\n"
    assert detected(names, Loaded(dict.fromkeys(names, head).__getitem__)) == format


def test_a_zip_is_detected_by_the_page_and_by_the_command(world, mia, tmp_path):
    files = {"set/uno.txt": TEXT, "set/uno.ann": b"T1\tPATIENT 0 4\tAnna\n"}
    row = staged(upload(mia, {"notes.zip": zip_of(files)}, format="auto", annotations="gold"))
    assert row.format == "brat"
    assert "<dd>brat</dd>" in check_page(mia.get(page_of(row)))
    path = tmp_path / "notes.zip"
    path.write_bytes(zip_of(files))
    call_command("import_documents", "covid", str(path), "--as=gold")
    assert spans() == {("uno", 0, "PATIENT")}
    response = upload(mia, {"notes.zip": zip_of({"uno.txt": TEXT})}, format="auto", annotations="gold")
    assert response.status_code == 422 and "their format seems to be “text”" in response.content.decode()


def test_documents_and_empty_notes_are_named(world, mia, tmp_path, capsys):
    files = {"uno.txt": b"", "due.txt": b" \n", "tre.docx": zip_of({"word/document.xml": b"x"}), "quattro.txt": TEXT}
    row = staged(upload(mia, files, format="text"))
    html = check_page(mia.get(page_of(row)))
    assert "tre.docx" in html and "Import the document with the format “documents”" in html
    assert html.count("The text of this note is empty.") == 2
    start(mia, row, "")
    html = check_page(mia.get(page_of(row)))
    assert "tre.docx" in html and html.count("The text of this note is empty.") == 2
    (tmp_path / "tre.docx").write_bytes(files["tre.docx"])
    with pytest.raises(CommandError, match=r"“tre\.docx” is not plain text"):
        call_command("import_documents", "covid", str(tmp_path / "tre.docx"), "--format=text")
    (tmp_path / "cinque.txt").write_bytes(b"")
    call_command("import_documents", "covid", str(tmp_path), "--take-duplicates", "--format=text")
    out = capsys.readouterr().out
    assert "cinque: The text of this note is empty." in out and "tre.docx" in out


def test_readmes_and_licenses_are_named(world, mia, tmp_path, capsys):
    names = ["README.txt", "LICENSE.txt", "sub/readme_2024.txt", "Licence"]
    files = {"uno.txt": TEXT, **dict.fromkeys(names, b"Anna Neri")}
    row = staged(upload(mia, {"notes.zip": zip_of(files)}, format="auto"))
    html = check_page(mia.get(page_of(row)))
    assert all(name in html for name in names)
    start(mia, row, "")
    html = check_page(mia.get(page_of(row)))
    assert all(name in html for name in names)
    assert list(world.project.documents.filter(text="Anna Neri")) == []
    for file, content in files.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes(content)
    call_command("import_documents", "covid", str(tmp_path), "--take-duplicates", "--format=text")
    out = capsys.readouterr().out
    assert all(f"{name}: " in out for name in names) and "4 files." in out


def test_files_of_the_operating_system_are_not_named(world, mia):
    files = {"uno.txt": TEXT, ".DS_Store": b"x", "__MACOSX/README.txt": b"x", "annotation.conf": b"x"}
    row = staged(upload(mia, {"notes.zip": zip_of(files)}, format="auto"))
    html = check_page(mia.get(page_of(row)))
    assert "Files not read" not in html and "by its name" not in html


def test_labels_are_counted_as_the_formats_read_them():
    annotations = b"T1\tA 0 4;5 9\tAnna Neri\nT2\tB-2 0 4\tAnna\n#1\tAnnotatorNotes T1\tA 0 4\nR1\tA Arg1:T1\n"
    found = FORMATS["brat"].used_labels(
        NoteFiles("x", {"txt": "x.txt", "ann": "x.ann"}), Loaded(lambda _name: annotations)
    )
    assert [dict(each) for each in found] == [{"A": 1, "B-2": 1}]
    assert not list(FORMATS["text"].used_labels(NoteFiles("x", {"txt": "x.txt"}), Loaded(lambda _name: b"")))
    assert not list(FORMATS["brat"].used_labels(NoteFiles("x", {"ann": "x.ann"}), Loaded(lambda _name: b"\xff")))


def test_a_canceled_import_takes_back_the_labels_that_it_added(
    world, mia, row, monkeypatch, django_capture_on_commit_callbacks
):
    category = Category.objects.filter(label_set__project=world.project).first()
    choose(mia, row, {"PATIENTS": f"add:{category.pk}", "DRAGON": "skip"})
    job = start_import(project=world.project, import_id=row.pk, actor=world.mia)
    monkeypatch.setattr(reading, "BATCH", 1)

    class Stopped(Exception):
        pass

    def stop(done, total):
        if done == 1:
            raise Stopped

    with pytest.raises(Stopped):
        run_import(import_id=row.pk, progress=stop)
    assert Label.objects.filter(code="PATIENTS").exists()
    with django_capture_on_commit_callbacks(execute=True):
        cancel(job)
    assert not Label.objects.filter(code="PATIENTS").exists()
    assert not Document.objects.filter(name__in=["uno", "due"]).exists()


def test_an_import_continues_with_the_label_that_it_added(world, mia, row, monkeypatch):
    category = Category.objects.filter(label_set__project=world.project).first()
    choose(mia, row, {"PATIENTS": f"add:{category.pk}", "DRAGON": "skip"})
    start_import(project=world.project, import_id=row.pk, actor=world.mia)
    monkeypatch.setattr(reading, "BATCH", 1)

    class Stopped(Exception):
        pass

    def stop(done, total):
        if done == 1:
            raise Stopped

    with pytest.raises(Stopped):
        run_import(import_id=row.pk, progress=stop)
    report = run_import(import_id=row.pk, progress=silent)
    assert report["labels"]["PATIENTS"]["spans"] == 3 and report["labels"]["DRAGON"]["spans"] == 1
    assert Label.objects.filter(code="PATIENTS").count() == 1


def test_a_deleted_label_reopens_its_choice(world, mia, row):
    city = label(world, "CITY")
    choose(mia, row, {"PATIENTS": f"map:{city.pk}", "DRAGON": "skip"})
    delete_label(label=city, actor=None)
    start(mia, row)
    assert row.state == Import.State.STAGED
    assert [one.name for one in unknown(row).open] == ["PATIENTS"]
