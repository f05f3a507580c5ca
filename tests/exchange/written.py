"""Small documents, written by other libraries, and what an export has written."""

import io
import zipfile

import docx
from fpdf import FPDF

from annotations.core.stored_files import open_stored
from annotations.models import Job, JobState, StoredFile


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
    job.refresh_from_db()
    assert job.state == JobState.DONE, job.error
    with open_stored(StoredFile.objects.get(pk=job.result["file_id"])) as content, zipfile.ZipFile(content) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
