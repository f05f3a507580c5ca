"""Every format through the commands: what is exported is detected, imported elsewhere, and the same."""

import io
import json

import pytest
from django.core.management import call_command

from annotations.core.progress import silent
from annotations.domain.formats import FORMATS
from annotations.models import Document, Import, Label, Span
from annotations.transfer.services import staged
from annotations.transfer.services.importing import import_files, run_import
from tests import factories as make

TEXTS = {
    "uno": "Anna Neri, 60 anni\nvive a Roma 😀 con Bo",
    "reparto/due": "\ufeffRicovero: 12/03/2020.\r\n\tDott. Verdi  ",
    "vuoto": "Nessun nome qui.",
}
SPANS = {
    "uno": [(0, 9, "PATIENT"), (37, 39, "PATIENT")],
    "reparto/due": [(11, 21, "DATE"), (31, 36, "DOCTOR")],
    "vuoto": [],
}
# Text alone; the tags of these formats stand for no character of a note.
SAME_READER = {"iob1": "conll2003", "bioes": "conll2003"}  # one reader finds the scheme from the tags
HOLD_SPANS = sorted(set(FORMATS) - {"text"})


@pytest.fixture
def exported(world, tmp_path):
    """A function that exports three notes of gold in a format, and returns the folder."""
    Document.objects.all().delete()
    files = []
    for name, text in TEXTS.items():
        rows = "".join(
            f"T{number}\t{label} {start} {end}\t{text[start:end]}\n"
            for number, (start, end, label) in enumerate(SPANS[name], 1)
        )
        files += [(f"{name}.txt", text.encode()), (f"{name}.ann", rows.encode())]
    import_files(project=world.project, files=files, format="brat", written_as="gold")

    def export(format):
        out = tmp_path / format
        call_command("export_documents", "covid", str(out), "--format", format, "--set", "gold", stdout=io.StringIO())
        return out

    return export


@pytest.fixture
def elsewhere(exported):
    project = make.make_project("elsewhere")
    assert {"PATIENT", "DATE", "DOCTOR"} <= set(
        Label.objects.filter(label_set__project=project).values_list("code", flat=True)
    )
    return project


def notes_of(project):
    return dict(Document.objects.filter(project=project).values_list("name", "text"))


def spans_of(project):
    rows = Span.objects.filter(annotation_set__document__project=project).order_by("start")
    found = {name: [] for name in notes_of(project)}
    for name, *span in rows.values_list("annotation_set__document__name", "start", "end", "label__code"):
        found[name].append(tuple(span))
    return found


@pytest.mark.parametrize("format", HOLD_SPANS)
def test_an_export_is_detected_and_imported_unchanged(exported, elsewhere, format):
    out = exported(format)
    report = json.loads((out / "export.json").read_text())
    assert (report["notes"], report["spans"], report["loss_count"]) == (3, 4, 0)
    call_command("import_documents", "elsewhere", str(out), "--as", "gold", stdout=io.StringIO())
    assert Import.objects.latest("id").format == SAME_READER.get(format, format)
    assert notes_of(elsewhere) == TEXTS
    assert spans_of(elsewhere) == SPANS
    assert Import.objects.latest("id").report["refused"] == []


@pytest.mark.parametrize("format", HOLD_SPANS)
def test_a_zipped_export_is_previewed_and_imported_by_a_job(exported, elsewhere, format, world):
    out = exported(format)
    files = [(path.relative_to(out).as_posix(), path.read_bytes()) for path in out.rglob("*") if path.is_file()]
    row = staged.stage_import(
        project=elsewhere, name="x.zip", content=staged.pack(files), format="auto", written_as="run:tool", language="",
        take_duplicates=False, actor=world.mia,
    )  # fmt: skip
    assert row.format == SAME_READER.get(format, format)
    assert row.labels_found == {"PATIENT": [2, 1], "DATE": [1, 1], "DOCTOR": [1, 1]}
    preview = staged.preview_import(row)
    assert (preview["notes"], preview["spans"], preview["total"], preview["refused"]) == (3, 4, 3, [])
    report = run_import(import_id=row.pk, progress=silent)
    assert (report["notes"], report["spans"], report["refused"]) == (3, 4, [])
    assert spans_of(elsewhere) == SPANS


def test_text_holds_no_spans(exported, elsewhere):
    out = exported("text")
    assert json.loads((out / "export.json").read_text())["loss_count"] == 4
    call_command("import_documents", "elsewhere", str(out), stdout=io.StringIO())
    assert notes_of(elsewhere) == TEXTS
