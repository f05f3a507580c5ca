"""Notes in brat's format, and what an import makes of them."""

import io

import docx
import pytest
from django.urls import reverse
from fpdf import FPDF

from annotations.core.stored_files import open_stored
from annotations.exchange.services import staged
from annotations.exchange.services.importing import run_import
from annotations.models import Document, Import, Job, JobState, LabelMapping, MappedLabel, Project, Span, StoredFile
from tests import factories as make
from tests.zips import unzipped, zipped

TEXT = "Mario Rossi, 54 anni, visto a Torino.\n"
ANN = "T1\tPATIENT 0 11\tMario Rossi\nT2\tCITY 30 36\tTorino\n"


def brat(name="a", text=TEXT, ann=ANN):
    return [(f"{name}.txt", text.encode()), (f"{name}.ann", ann.encode())]


def spans_of(kind="gold"):
    rows = Span.objects.filter(annotation_set__author__kind=kind).order_by("start")
    return [(s.start, s.end, s.label.code) for s in rows.select_related("label")]


def names():
    return list(Document.objects.order_by("id").values_list("name", flat=True))


def codes(report):
    return [row["code"] for row in report["refused"]]


def stage(project, content, **options):
    if isinstance(content, bytes):
        content = io.BytesIO(content)
    given = {"format": "brat", "written_as": "gold", "language": "", "take_duplicates": False, "actor": None}
    return staged.stage_import(project=project, name="up.zip", content=content, **given | options)


def many(count):
    return zipped({f"n{n:04}.txt": f"note number {n}" for n in range(count)})


class Killed(BaseException):
    """Ends an import as the death of its worker does."""


def run_until(row, wanted, error=Killed):
    """Run an import, and end it by the error after so many notes."""

    def stop(done, total):
        if done >= wanted:
            raise error

    with pytest.raises(error):
        run_import(import_id=row.pk, progress=stop)


# URLs of the import pages.


PAGE = "/projects/covid/import/"
GOLD = {"format": "brat", "annotations": "gold"}


def page_of(row: Import) -> str:
    return reverse("import_preview", args=["covid", row.pk])


# A mapping of the labels of tests.factories, and the spans that are exported with it.


# PATIENT and DOCTOR are written alike; AGE is left out.
CODES = {"PATIENT": "NAME", "DOCTOR": "NAME", "DATE": "WHEN", "CITY": "PLACE", "HOSPITAL": "PLACE", "AGE": ""}
SPANS = [(0, 11, "PATIENT"), (0, 11, "DOCTOR"), (13, 15, "AGE"), (31, 41, "DATE"), (44, 50, "CITY")]


def make_mapping(project: Project, name: str = "Partner", codes: dict[str, str] = CODES, target: str = ""):
    mapping = LabelMapping.objects.create(project=project, name=name, target=target)
    for label, code in codes.items():
        MappedLabel.objects.create(mapping=mapping, label=make.label_of(project, label), code=code)
    return mapping


# Small documents, written by other libraries, and what an export has written.


def pdf(*pages: str) -> bytes:
    """A PDF with these pages."""
    written = FPDF()
    written.set_font("Helvetica", size=12)
    for text in pages:
        written.add_page()
        written.multi_cell(0, 8, text)
    return bytes(written.output())


def word(*paragraphs: str) -> bytes:
    """A DOCX with these paragraphs."""
    out = io.BytesIO()
    written = docx.Document()
    for text in paragraphs:
        written.add_paragraph(text)
    written.save(out)
    return out.getvalue()


def files_of(job: Job) -> dict[str, bytes]:
    """The files in the archive of an export."""
    assert make.reread(job).state == JobState.DONE, job.error
    return unzipped(open_stored(StoredFile.objects.get(pk=job.result["file_id"])))
