"""Losses of an export whose format can't represent all spans: the job stores the first ones, a file lists all."""

import csv
import io
import json

import pytest
from django.core.management import call_command

from annotations.exchange.events import NOTES_EXPORTED
from annotations.exchange.services import exporting
from annotations.exchange.services.exporting import LISTED
from annotations.exchange.services.importing import import_path
from annotations.exchange.services.staged import start_export
from annotations.jobs.runner import run as work
from annotations.models import Document, Event, Label, Span
from tests import factories as make
from tests.exchange.brat_files import files_of
from tests.held import made_once
from tests.worlds.pages import make_world

MANY = LISTED + 7
NAME = "=1+1"
REASON = "Plain text contains no spans."


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


made, many = made_once(make_many)


@pytest.fixture
def exported(many):
    many.job = start_export(project=many.project, set_spec="annotator:ann", format="text", actor=many.rev)
    work(many.job.pk)
    many.files = files_of(many.job)
    return many


def rows_of(data):
    assert data.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def test_the_command_names_the_first_and_writes_all_beside_the_notes(many, tmp_path, capsys):
    out = tmp_path / "out"
    call_command("export_documents", "covid", str(out), "--format", "text", "--set", "annotator:ann")
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if REASON in line]) == LISTED and f"loss_count: {MANY}" in lines
    assert len(rows_of((out / "losses.csv").read_bytes())) == MANY
    # The folder can be imported again.
    report = import_path(project=make.make_project("again"), path=out, format="text")
    assert (report["notes"], report["refused_files"]) == (2, 0)
    exporting.export_to_path(project=many.project, out=tmp_path / "brat", format="brat", set_spec="annotator:ann")
    assert not (tmp_path / "brat/losses.csv").exists()


def test_the_job_stores_the_first_losses_and_the_archive_lists_all(exported):
    result = exported.job.result
    assert (len(result["losses"]), result["loss_count"]) == (LISTED, MANY)
    assert Event.objects.get(verb=NOTES_EXPORTED).data["losses"] == MANY
    rows = rows_of(exported.files["losses.csv"])
    assert len(rows) == MANY and {row["note"] for row in rows} == {f"'{NAME}", "many-002"}, "a formula stays text"
    note = Document.objects.get(name="many-002")
    last = {"note": "many-002", "note_id": str(note.pk), "start": str(note.length - 2), "end": str(note.length - 1)}
    assert rows[-1] == last | {"label": "PATIENT", "reason": REASON}
    manifest = json.loads(exported.files["export.json"])
    assert (len(manifest["losses"]), manifest["loss_count"]) == (LISTED, MANY)
