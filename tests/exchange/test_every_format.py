"""Every format through the commands: what is exported is detected, imported elsewhere, and the same."""

import io
import json

import pytest
from django.core.management import call_command

from annotations.core.services import silent
from annotations.exchange.services import staged
from annotations.exchange.services.importing import import_files, run_import
from annotations.formats import FORMATS
from annotations.models import Document, Import, Span
from tests import factories as make
from tests.exchange.brat_files import brat, stage

TEXTS = {
    "uno": "Anna Neri, 60 anni\nvive a Roma 😀 con Bo",
    "reparto/due": "\ufeffRicovero: 12/03/2020.\r\n\tDott. Verdi  ",
    "vuoto": "Nessun nome qui.",
}
SPANS = {
    "uno": [(0, 9, "PATIENT"), (37, 39, "PATIENT")], "reparto/due": [(11, 21, "DATE"), (31, 36, "DOCTOR")], "vuoto": [],
}  # fmt: skip
# Text alone; the tags of these formats stand for no character of a note.
SAME_READER = {"iob1": "conll2003", "bioes": "conll2003"}  # one reader finds the scheme from the tags
HOLD_SPANS = sorted(set(FORMATS) - {"text"})


@pytest.fixture
def exported(world, tmp_path):
    """A function that exports three notes of gold in a format, and returns the folder."""
    Document.objects.all().delete()
    files = []
    for name, text in TEXTS.items():
        spans = enumerate(SPANS[name], 1)
        rows = [f"T{number}\t{label} {start} {end}\t{text[start:end]}\n" for number, (start, end, label) in spans]
        files += brat(name, text, "".join(rows))
    import_files(project=world.project, files=files, format="brat", written_as="gold")

    make.make_project("elsewhere")

    def export(format):
        out = tmp_path / format
        call_command("export_documents", "covid", str(out), "--format", format, "--set", "gold", stdout=io.StringIO())
        return out

    return export


def notes_of(project):
    return dict(Document.objects.filter(project__slug=project).values_list("name", "text"))


def spans_of(project):
    rows = Span.objects.filter(annotation_set__document__project__slug=project).order_by("start")
    found = {name: [] for name in notes_of(project)}
    for name, *span in rows.values_list("annotation_set__document__name", "start", "end", "label__code"):
        found[name].append(tuple(span))
    return found


@pytest.mark.parametrize("format", HOLD_SPANS)
def test_an_export_is_detected_and_imported_unchanged(exported, format, world):
    out = exported(format)
    report = json.loads((out / "export.json").read_text())
    assert (report["notes"], report["spans"], report["loss_count"]) == (3, 4, 0)
    call_command("import_documents", "elsewhere", str(out), "--as", "gold", stdout=io.StringIO())
    row = Import.objects.latest("id")
    assert (row.format, row.report["refused"]) == (SAME_READER.get(format, format), [])
    assert notes_of("elsewhere") == TEXTS and spans_of("elsewhere") == SPANS
    # A zip of it is previewed, and imported by a job.
    files = [(path.relative_to(out).as_posix(), path.read_bytes()) for path in out.rglob("*") if path.is_file()]
    zipped = {"format": "auto", "written_as": "run:tool", "actor": world.mia}
    row = stage(make.make_project("zipped"), staged.pack(files), **zipped)
    assert row.format == SAME_READER.get(format, format)
    assert row.labels_found == {"PATIENT": [2, 1], "DATE": [1, 1], "DOCTOR": [1, 1]}
    preview = staged.preview_import(row)
    assert (preview["notes"], preview["spans"], preview["total"], preview["refused"]) == (3, 4, 3, [])
    report = run_import(import_id=row.pk, progress=silent)
    assert (report["notes"], report["spans"], report["refused"]) == (3, 4, [])
    assert spans_of("zipped") == SPANS
