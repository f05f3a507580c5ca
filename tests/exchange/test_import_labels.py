"""Labels of imported files that the project doesn't have: map, add or skip, also by a label mapping."""

import csv
import io
import json
import re

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.core.services import ServiceError, silent
from annotations.exchange.services import reading
from annotations.exchange.services.importing import run_import
from annotations.exchange.services.label_choices import MOST_LABELS, unknown_of
from annotations.exchange.services.staged import start_import
from annotations.jobs.runner import run as work
from annotations.jobs.services.queue import cancel
from annotations.models import Category, Document, Import, ImportState, Job, Label, Span
from annotations.ops.services.erasing import erase_patient
from annotations.projects.services.labels import add_label, delete_label, merge_labels, update_label
from tests import factories as make
from tests.exchange.brat_files import GOLD, make_mapping, page_of, run_until
from tests.worlds.checks import check_page
from tests.worlds.managing import run, staged, upload
from tests.zips import zipped

TEXT = b"Anna Neri a Roma"
FILES = {
    "uno.txt": TEXT, "uno.ann": b"T1\tPATIENTS 0 4\tAnna\nT2\tpatients 5 9\tNeri\nT3\tDRAGON 12 16\tRoma\n",
    "due.txt": b"Anna Bianchi", "due.ann": b"T1\tPATIENT 0 4\tAnna\nT2\tPATIENTS 5 12\tBianchi\n",
}  # fmt: skip
SKIPPED = {"PATIENTS": "skip", "DRAGON": "skip"}


def take(mia, files, format="brat", annotations="gold"):
    return staged(upload(mia, files, format=format, annotations=annotations))


@pytest.fixture
def row(mia):
    return take(mia, FILES)


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
    found = Span.objects.filter(annotation_set__document__name__in=["uno", "due"])
    return set(found.values_list("annotation_set__document__name", "start", "label__code"))


def test_the_preview_lists_unknown_labels_with_counts_and_suggestions(world, mia, row):
    table = check_page(mia.get(page_of(row))).partition('id="labels"')[2].partition("</section>")[0]
    first = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)[1]
    assert [(one.name, one.spans, one.notes) for one in unknown(row).rows] == [("PATIENTS", 3, 2), ("DRAGON", 1, 1)]
    assert ">3</td>" in first and ">2</td>" in first and label(world, "PATIENT").name in first
    start(mia, row)
    assert row.state == ImportState.STAGED, "labels without a choice"
    assert not Document.objects.filter(name="uno").exists()


def test_map_add_and_skip(world, mia, row):
    category = Category.objects.filter(label_set__project=world.project).first()
    choose(mia, row, {"PATIENTS": f"map:{label(world, 'PATIENT').pk}", "DRAGON": f"add:{category.pk}"})
    assert not Label.objects.filter(code="DRAGON").exists()
    html = check_page(mia.get(page_of(row)))  # the choices survive a reload
    assert html.count(" selected>") == 3  # with the format
    start(mia, row)
    assert row.state == ImportState.DONE
    patients = {("uno", 0, "PATIENT"), ("uno", 5, "PATIENT"), ("due", 0, "PATIENT"), ("due", 5, "PATIENT")}
    assert spans() == patients | {("uno", 12, "DRAGON")}
    assert label(world, "DRAGON").category == category
    lines = {name: (line["do"], line["label"], line["spans"]) for name, line in row.report["labels"].items()}
    assert lines == {"PATIENTS": ("mapped", "PATIENT", 3), "DRAGON": ("added", "DRAGON", 1)}
    check_page(mia.get(page_of(row)))
    check_page(mia.get(reverse("job", args=["covid", Job.objects.get().number])))
    report = list(csv.reader(io.StringIO(mia.get(f"{page_of(row)}report.csv").content.decode("utf-8-sig"))))
    assert ["label mapped", "", "", "label", "“PATIENTS” as PATIENT: 3 spans"] in report


def test_skipped_spans_are_counted_and_an_erasure_forgets_the_labels_of_files(world, mia, row):
    choose(mia, row, SKIPPED)
    start(mia, row)
    assert spans() == {("due", 0, "PATIENT")}
    assert Document.objects.filter(name__in=["uno", "due"]).count() == 2
    assert {name: line["spans"] for name, line in row.report["labels"].items()} == {"PATIENTS": 3, "DRAGON": 1}
    check_page(mia.get(page_of(row)))
    Document.objects.filter(pk=world.note.pk).update(patient_id="P1")
    erase_patient(project=world.project, patient_id="P1", actor=None)
    assert "labels" not in make.reread(row).report and row.labels_found is None and row.label_choices == {}


def test_nothing_starts_before_every_label_has_a_choice(world, mia, row):
    city = label(world, "CITY")
    choose(mia, row, {"PATIENTS": f"map:{city.pk}", "DRAGON": "skip"})
    delete_label(label=city, actor=None)
    start(mia, row)
    assert row.state == ImportState.STAGED and not Job.objects.exists()
    assert [one.name for one in unknown(row).open] == ["PATIENTS"]
    assert "PATIENTS" in check_page(mia.get(page_of(row)))
    with pytest.raises(ServiceError, match=r"(?s)PATIENTS.*spans: 3, notes: 2.*PATIENT"):
        start_import(project=world.project, import_id=row.pk, actor=world.mia)


def test_two_managers_choose_at_once(world, mia, row):
    seen = unknown(row).seen
    choose(mia, row, SKIPPED, seen)
    # The same choices again, as after a double click, change nothing and are no error.
    assert choose(mia, row, SKIPPED, seen).status_code == 302
    target = f"map:{label(world, 'PATIENT').pk}"
    assert choose(mia, row, {"PATIENTS": target, "DRAGON": "skip"}, seen).status_code == 409
    # A person who saw other choices can't start the import either.
    assert "have changed" in check_page(mia.get(start(mia, row, seen).url))
    assert row.state == ImportState.STAGED
    start(mia, row)
    assert row.state == ImportState.DONE and spans() == {("due", 0, "PATIENT")}


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


def test_without_an_author_labels_do_not_matter(mia):
    row = take(mia, FILES, annotations="none")
    form = {"annotations": "none"} | {f"label-{one.key}": "" for one in unknown(row).rows}
    assert mia.post(reverse("job_start_import", args=["covid", row.pk]), form).url.startswith("/projects/covid/jobs/")
    start(mia, row, "")
    assert Document.objects.filter(name__in=["uno", "due"]).count() == 2 and not spans()


def test_conll_bundles_and_characters_that_no_form_takes(world, mia):
    table = "-DOCSTART-\tuno\nAnna\t0\t4\tB-X\u202eY\nNeri\t5\t9\tI-X\u202eY\na\t10\t11\tO\nRoma\t12\t16\tI-X\u202eY\n"
    row = take(mia, {"uno.txt": TEXT, "all.conll": table.encode()}, "conll")
    assert [(one.spans, one.notes) for one in unknown(row).rows] == [(2, 1)]
    choose(mia, row, {"X\u202eY": f"map:{label(world, 'PATIENT').pk}"})
    start(mia, row)
    assert spans() == {("uno", 0, "PATIENT"), ("uno", 12, "PATIENT")}


def test_impossible_choices_are_refused(mia, row):
    Label.objects.filter(pk=1).delete()
    for value in ("map:1", "map:x", "add:99999999", "map:99999999999999999999999", "everything"):
        assert choose(mia, row, {"DRAGON": value}).status_code == 409, value
    assert make.reread(row).label_choices == {}
    lines = b"".join(b"T%d\tX%d 0 4\tAnna\n" % (at, at) for at in range(MOST_LABELS + 1))
    response = upload(mia, {"uno.txt": TEXT, "uno.ann": lines}, **GOLD)
    assert response.status_code == 422 and Import.objects.count() == 1, "too many labels are no annotations"


@pytest.fixture
def folder(tmp_path):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    return str(tmp_path)


def test_the_command_maps_adds_and_skips(world, folder, capsys):
    words = ["covid", folder, "--as=gold", "--json"]
    call_command("import_documents", *words, "--map-label", "PATIENTS=patient", "--add-label", "dragon")
    labels = json.loads(capsys.readouterr().out)["labels"]
    assert {name: line["spans"] for name, line in labels.items()} == {"PATIENTS": 3, "DRAGON": 1}
    assert ("uno", 12, "DRAGON") in spans() and len(spans()) == 5
    Document.objects.filter(name__in=["uno", "due"]).delete()
    call_command("import_documents", *words, "--skip-label=PATIENTS")
    assert spans() == {("uno", 12, "DRAGON"), ("due", 0, "PATIENT")}


def test_labels_with_an_equals_sign(world, tmp_path, capsys):
    names = ["A", "A=B", "A=B=C", "ROLE", "ROLE=DOCTOR"]
    category = Category.objects.filter(label_set__project=world.project).last()
    rows = "".join(f"T{at}\t{name} {at} {at + 1}\t{'Annas'[at]}\n" for at, name in enumerate(names))
    (tmp_path / "uno.txt").write_bytes(b"Annas")
    (tmp_path / "uno.ann").write_text(rows)
    words = ["covid", str(tmp_path), "--as=gold", "--json"]
    options = [
        f"--add-label=A={category.name}", "--skip-label=A=B", "--map-label=A=B=C=PATIENT", "--map-label=ROLE=CITY",
    ]  # fmt: skip
    call_command("import_documents", *words, *options, f"--add-label=ROLE=DOCTOR={category.code}")
    lines = json.loads(capsys.readouterr().out)["labels"]
    assert [(lines[name]["do"], lines[name]["label"]) for name in names] == [
        ("added", "A"), ("skipped", ""), ("mapped", "PATIENT"), ("mapped", "CITY"), ("added", "ROLE_DOCTOR")
    ]  # fmt: skip
    assert label(world, "A").category == label(world, "ROLE_DOCTOR").category == category
    Document.objects.filter(name="uno").delete()
    options = ["--map-label=A=B=ROLE=DOCTOR", "--skip-label=A=B=C", "--skip-label=ROLE"]
    call_command("import_documents", *words, *options)
    assert json.loads(capsys.readouterr().out)["labels"]["A=B"]["label"] == "ROLE_DOCTOR"


def test_wrong_options_of_the_command_import_nothing(world, folder):
    for option, words in (
        ("--all-or-nothing", r"(?s)“PATIENTS” \(spans: 3, notes: 2\).*PATIENT\?.*“DRAGON” \(spans: 1, notes: 1\)"),
        ("--map-label=DRAGON=NOBODY", "no label “NOBODY”"),
        ("--map-label=CAT=PATIENT", "“CAT” is not an unknown label"),
        ("--add-label=DRAGON=BEASTS", "no category “BEASTS”"),
        ("--skip-label=PATIENT", "“PATIENT” is not an unknown label"),
    ):
        with pytest.raises(CommandError, match=words):
            call_command("import_documents", "covid", folder, "--as=gold", option)
    assert not Document.objects.filter(name="uno").exists() and not Import.objects.exists()


def test_documents_and_empty_notes_are_named(mia, tmp_path, capsys):
    files = {"uno.txt": b"", "due.txt": b" \n", "tre.docx": zipped({"word/document.xml": b"x"}), "quattro.txt": TEXT}
    row = take(mia, files, "text", "none")
    for _ in range(2):
        html = check_page(mia.get(page_of(row)))
        assert "tre.docx" in html and "“documents”" in html and html.count("this note is empty") == 2
        start(mia, row, "")
    for name in ("uno.txt", "tre.docx"):
        (tmp_path / name).write_bytes(files[name])
    call_command("import_documents", "covid", str(tmp_path), "--take-duplicates", "--format=text")
    out = capsys.readouterr().out
    assert "file uno" in out and "tre.docx" in out


def test_readmes_and_licenses_are_named_but_no_files_of_the_operating_system(world, mia):
    hidden = [".DS_Store", "__MACOSX/README.txt", "annotation.conf"]
    row = take(mia, {"notes.zip": zipped({"uno.txt": TEXT} | dict.fromkeys(hidden, b"x"))}, "auto", "none")
    html = check_page(mia.get(page_of(row)))
    assert "Files not read" not in html and "by its name" not in html
    names = ["README.txt", "LICENSE.txt", "sub/readme_2024.txt", "Licence"]
    row = take(mia, {"notes.zip": zipped({"uno.txt": TEXT} | dict.fromkeys(names, b"Anna Neri"))}, "auto", "none")
    for _ in range(2):
        html = check_page(mia.get(page_of(row)))
        assert all(name in html for name in names)
        start(mia, row, "")
    assert not world.project.documents.filter(text="Anna Neri").exists()


@pytest.mark.parametrize("ended", ["continued", "canceled"])
def test_a_resumed_import_knows_its_new_label(world, mia, row, monkeypatch, django_capture_on_commit_callbacks, ended):
    category = Category.objects.filter(label_set__project=world.project).first()
    choose(mia, row, {"PATIENTS": f"add:{category.pk}", "DRAGON": "skip"})
    job = start_import(project=world.project, import_id=row.pk, actor=world.mia)
    monkeypatch.setattr(reading, "BATCH", 1)
    run_until(row, 1)
    assert Label.objects.filter(code="PATIENTS").count() == 1
    if ended == "continued":
        report = run_import(import_id=row.pk, progress=silent)
        assert report["labels"]["PATIENTS"]["spans"] == 3 and report["labels"]["DRAGON"]["spans"] == 1
        assert Label.objects.filter(code="PATIENTS").count() == 1
        return
    with django_capture_on_commit_callbacks(execute=True):
        cancel(job)
    assert not Label.objects.filter(code="PATIENTS").exists()
    assert not Document.objects.filter(name__in=["uno", "due"]).exists()


CODED = {
    "uno.txt": b"Anna Neri a Roma, 54",
    "uno.ann": b"T1\twhen 0 4\tAnna\nT2\tNAME 5 9\tNeri\nT3\tDRAGON 12 16\tRoma\nT4\tDOCTOR 0 9\tAnna Neri\n",
}


@pytest.fixture
def waiting(world, mia):
    world.mapping = make_mapping(world.project)
    return staged(upload(mia, CODED, **GOLD))


def preselect(client, waiting, mapping, values=None, seen=None):
    state = unknown(waiting)
    body = {f"label-{one.key}": (values or {}).get(one.name, one.value) for one in state.rows}
    form = {"do": "mapping", "mapping": str(mapping), "choices": seen or state.seen}
    return client.post(page_of(waiting), form | body)


def spans_of(**where):
    return list(Span.objects.filter(**where).order_by("start", "end").values_list("start", "end", "label__name"))


def test_a_mapping_preselects_what_it_knows_and_keeps_other_choices(world, mia, waiting):
    assert ">Partner</option>" in check_page(mia.get(page_of(waiting)))
    seen = unknown(waiting).seen
    response = preselect(mia, waiting, world.mapping.pk, {"DRAGON": "skip"})
    date = f"map:{make.label_of(world.project, 'DATE').pk}"
    # “when” is the code of one label, in other case; NAME is the code of two labels.
    assert {one.name: one.value for one in unknown(waiting).rows} == {"when": date, "NAME": "", "DRAGON": "skip"}
    assert "“NAME”" in check_page(mia.get(response.url.partition("#")[0]))
    # A form that is out of date is refused; a choice that a person made stays.
    assert preselect(mia, waiting, world.mapping.pk, {"NAME": "skip"}, seen=seen).status_code == 409
    preselect(mia, waiting, world.mapping.pk, {"NAME": date})
    assert not unknown(waiting).open
    mia.post(f"/projects/covid/imports/{waiting.pk}/start", {"choices": unknown(waiting).seen})
    run(waiting)
    assert spans_of(annotation_set__document__name="uno") == [(0, 4, "DATE"), (0, 9, "DOCTOR"), (5, 9, "DATE")]
