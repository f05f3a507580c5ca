"""Losses of an export whose format can't represent all spans: the job stores the first ones, a file lists all."""

import csv
import io
import json
import zipfile

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotations.core.stored_files import open_stored
from annotations.jobs.runner import run as work
from annotations.models import Document, Event, Import, Job, Label, Span, StoredFile
from annotations.ops.services.erasing import erase_patient
from annotations.transfer.events import NOTES_EXPORTED
from annotations.transfer.services import exporting
from annotations.transfer.services.exporting import LISTED
from annotations.transfer.services.importing import import_path
from annotations.transfer.services.starting import start_export
from tests import factories as make
from tests.held import fresh
from tests.worlds.pages import make_world

MANY = LISTED + 7
NAME = "=1+1"


def make_many():
    """Two notes by one annotator with MANY spans, which plain text can't represent. One note's name is a formula."""
    world = make_world()
    half = MANY // 2
    label = Label.objects.get(label_set__project=world.project, name="PATIENT")
    for name, count in ((NAME, half), ("many-002", MANY - half)):
        note = make.make_note(world.project, "a " * count, name=name, patient_id=f"P-{count}")
        made = make.make_set(note, world.ann, submitted=True)
        Span.objects.bulk_create(
            Span(annotation_set=made, start=2 * at, end=2 * at + 1, label=label) for at in range(count)
        )
    return world


@pytest.fixture(scope="module")
def made_world(once):
    return once(make_many)


@pytest.fixture
def many(made_world, db):
    return fresh(made_world, make_many)


@pytest.fixture
def exported(many):
    job = start_export(project=many.project, set_spec="annotator:ann", format="text", actor=many.rev)
    work(job.pk)
    job.refresh_from_db()
    assert job.state == Job.State.DONE, job.error
    many.job = job
    return many


def archive_of(job):
    with open_stored(StoredFile.objects.get(pk=job.result["file_id"])) as content, zipfile.ZipFile(content) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rows_of(data):
    assert data.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def test_the_job_stores_the_first_losses_and_the_count(exported):
    result = exported.job.result
    assert (len(result["losses"]), result["loss_count"]) == (LISTED, MANY)
    assert Event.objects.get(verb=NOTES_EXPORTED).data["losses"] == MANY


def test_the_archive_lists_every_loss(exported):
    files = archive_of(exported.job)
    rows = rows_of(files["losses.csv"])
    assert len(rows) == MANY
    note = Document.objects.get(name="many-002")
    assert rows[-1] == {
        "note": "many-002",
        "note_id": str(note.pk),
        "start": str(note.length - 2),
        "end": str(note.length - 1),
        "label": "PATIENT",
        "reason": "Plain text contains no spans.",
    }
    manifest = json.loads(files["export.json"])
    assert (len(manifest["losses"]), manifest["loss_count"]) == (LISTED, MANY)


def test_a_name_that_is_a_formula_stays_text(exported):
    assert {row["note"] for row in rows_of(archive_of(exported.job)["losses.csv"])} == {f"'{NAME}", "many-002"}


def test_losses_move_from_memory_to_disk(many, monkeypatch):
    made = []
    spooled = exporting.tempfile.SpooledTemporaryFile

    def seen(size):
        made.append(spooled(size))
        return made[-1]

    monkeypatch.setattr(exporting, "IN_MEMORY", 1000)
    monkeypatch.setattr(exporting.tempfile, "SpooledTemporaryFile", seen)
    wanted = exporting.wanted_set(many.project, "annotator:ann")
    report = exporting.ExportReport(set="annotator:ann", format="text")
    files = exporting.export_files(many.project, wanted, "text", report)
    losses = next(data for name, data in files if name == "losses.csv")
    assert made[0]._rolled
    assert len(rows_of(losses.read())) == MANY
    files.close()
    assert made[0].closed


def test_the_page_says_where_to_find_the_other_losses(exported, sign_in):
    html = sign_in(exported.rev).get(reverse("job", args=["covid", exported.job.number])).content.decode()
    assert f"<dd>{MANY:,}</dd>" in html
    assert f"The first {LISTED:,} of {MANY:,} spans. The file losses.csv in the export lists all." in html
    assert html.count("Plain text contains no spans.") == LISTED


def test_the_page_of_an_older_export_still_opens(exported, sign_in):
    """Versions before the file of losses stored every loss with the job, and no count."""
    result = exported.job.result
    del result["loss_count"]
    result["losses"] = result["losses"][:3]
    exported.job.save()
    html = sign_in(exported.rev).get(reverse("job", args=["covid", exported.job.number])).content.decode()
    assert "<dd>3</dd>" in html and html.count("Plain text contains no spans.") == 3
    assert "losses.csv" not in html


def test_the_command_names_the_first_and_writes_all_beside_the_notes(many, tmp_path, capsys):
    words = ("covid", str(tmp_path / "out"), "--format", "text", "--set", "annotator:ann")
    call_command("export_documents", *words)
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.endswith("Plain text contains no spans.")]) == LISTED
    assert lines[-1] == (
        f"The first {LISTED:,} of {MANY:,} spans that were not exported are listed above. losses.csv lists all."
    )
    assert len(rows_of((tmp_path / "out/losses.csv").read_bytes())) == MANY


def test_an_export_without_losses_has_no_such_file(many, tmp_path):
    exporting.export_to_path(project=many.project, out=tmp_path / "out", format="brat", set_spec="annotator:ann")
    assert not (tmp_path / "out/losses.csv").exists()


def test_an_exported_folder_can_be_imported_again(many, tmp_path):
    exporting.export_to_path(project=many.project, out=tmp_path / "out", format="text", set_spec="annotator:ann")
    report = import_path(project=make.make_project("again"), path=tmp_path / "out", format="text")
    assert (report["notes"], report["refused_files"]) == (2, 0)
    assert Import.objects.get(project__slug="again").state == "done"


def test_erasing_a_patient_deletes_the_list_with_the_archive(exported):
    erase_patient(project=exported.project, patient_id=f"P-{MANY // 2}", actor=None)
    assert not StoredFile.objects.filter(pk=exported.job.result["file_id"]).exists()
    exported.job.refresh_from_db()
    assert NAME not in json.dumps(exported.job.result)
