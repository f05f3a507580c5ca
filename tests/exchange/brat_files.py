"""Notes in brat's format, and what an import makes of them."""

import io
import zipfile

import pytest

from annotations.exchange.services import staged
from annotations.exchange.services.importing import run_import
from annotations.models import Span

TEXT = "Mario Rossi, 54 anni, visto a Torino.\n"
ANN = "T1\tPATIENT 0 11\tMario Rossi\nT2\tCITY 30 36\tTorino\n"


def brat(name="a", text=TEXT, ann=ANN):
    return [(f"{name}.txt", text.encode()), (f"{name}.ann", ann.encode())]


def spans_of(kind="gold"):
    rows = Span.objects.filter(annotation_set__author__kind=kind).order_by("start")
    return [(s.start, s.end, s.label.code) for s in rows.select_related("label")]


def codes(report):
    return [row["code"] for row in report["refused"]]


def zipped(*entries):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in entries:
            archive.writestr(name, data)
    buffer.seek(0)
    return buffer


def stage(project, content, **options):
    given = {"format": "brat", "written_as": "gold", "language": "", "take_duplicates": False, "actor": None}
    return staged.stage_import(project=project, name="up.zip", content=content, **given | options)


def many(count):
    return zipped(*[(f"n{n:04}.txt", f"note number {n}") for n in range(count)])


class Killed(BaseException):
    """Ends an import as the death of its worker does."""


def run_until(row, wanted, error=Killed):
    """Run an import, and end it by the error after so many notes."""

    def stop(done, total):
        if done >= wanted:
            raise error

    with pytest.raises(error):
        run_import(import_id=row.pk, progress=stop)
