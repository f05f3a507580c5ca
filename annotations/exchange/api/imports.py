"""Routes of imports: notes as JSON, or files as the import page takes them. Each starts a job."""

import csv
import io
from typing import Any

from django.http import HttpResponse
from ninja import Field, File, Form, Router, Schema, UploadedFile
from ninja.responses import Status

from annotations.core.access import Access, Can
from annotations.core.api.problems import check, invalid
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.api.schemas import Body
from annotations.core.errors import ServiceError
from annotations.core.requests import takes_uploads
from annotations.exchange.forms.imports import UploadForm
from annotations.exchange.services.sources import PATIENTS
from annotations.exchange.services.staged import discard, pack, stage_import
from annotations.exchange.services.starting import start_import
from annotations.formats import DETECT
from annotations.formats.notes import NoteError, check_name
from annotations.jobs.api import JobItem, started
from annotations.models import Import

router = Router(tags=["Import"])
MOST_NOTES = 5000


class NewNote(Body):
    """A note. Its text is stored exactly as it is."""

    name: str = Field(max_length=240)
    text: str = Field(min_length=1)
    patient_id: str = Field("", max_length=80)


class NewNotes(Body):
    """Notes to import. `take_duplicates`: also texts that the project has under another name."""

    notes: list[NewNote] = Field(min_length=1, max_length=MOST_NOTES)
    language: str = ""
    take_duplicates: bool = False


class FileOptions(Schema):
    """How files are read, as on the import page. `annotations`: none, gold, annotator or run.

    `no_cleanup`: the clean-up rules to leave out.
    """

    format: str = DETECT
    annotations: str = "none"
    annotator: str = ""
    run: str = ""
    language: str = ""
    take_duplicates: bool = False
    repair_offsets: bool = False
    all_or_nothing: bool = False
    encoding: str = ""
    no_cleanup: list[str] = []


@router.post("/projects/{slug:slug}/notes", response={202: JobItem})
@takes_uploads(Can.MANAGE)
def import_notes_now(request: ApiRequest, response: HttpResponse, slug: str, body: NewNotes) -> Status[JobItem]:
    """Import notes. The job's result says how many were imported, and why others were refused."""
    access = enter(request, slug, Can.MANAGE)
    _check_names(body.notes)
    files = [(f"{note.name.removesuffix('.txt')}.txt", note.text.encode()) for note in body.notes]
    if patients := _patients(body.notes):
        files.append((PATIENTS, patients))
    staged = _stage(
        access, name=f"{len(body.notes)} notes", content=pack(files), format="text", written_as="",
        language=body.language, take_duplicates=body.take_duplicates,
    )  # fmt: skip
    return _start(response, access, staged)


@router.post("/projects/{slug:slug}/imports", response={202: JobItem})
@takes_uploads(Can.MANAGE)
def import_files(
    request: ApiRequest, response: HttpResponse, slug: str, options: Form[FileOptions], files: File[list[UploadedFile]]
) -> Status[JobItem]:
    """Import files in any format that the import page takes. Labels that the project lacks are a conflict (409)."""
    access = enter(request, slug, Can.MANAGE)
    return _start(response, access, stage_files(request, access, options))


def stage_files(request: ApiRequest, access: Access, options: FileOptions) -> Import:
    """Stage the files of a request, which the form checks. Raises Problem (422)."""
    form = UploadForm(options.dict(), request.FILES)
    wanted = check(form)
    name, content = form.content()
    return _stage(
        access, name=name, content=content, format=wanted["format"], written_as=form.written_as,
        language=wanted["language"], take_duplicates=wanted["take_duplicates"],
        repair_offsets=wanted["repair_offsets"], all_or_nothing=wanted["all_or_nothing"],
        encoding=wanted["encoding"], no_cleanup=wanted["no_cleanup"],
    )  # fmt: skip


def _check_names(notes: list[NewNote]) -> None:
    """Raise Problem for names that can't name a note of an import, or that occur twice."""
    seen: set[str] = set()
    errors: list[tuple[str, str]] = []
    for number, note in enumerate(notes):
        name = note.name.removesuffix(".txt")
        try:
            check_name(name)
        except NoteError as error:
            errors.append((f"notes.{number}.name", error.problems[0].message))
            continue
        if name in seen:
            errors.append((f"notes.{number}.name", "Another note of this request has the same name."))
        if any(part.startswith(".") for part in name.split("/")):
            errors.append((f"notes.{number}.name", "A name or folder that begins with a dot is reserved."))
        seen.add(name)
    if errors:
        raise invalid(*errors)


def _patients(notes: list[NewNote]) -> bytes:
    """The file that assigns notes to patients; empty without any."""
    rows = [(note.name.removesuffix(".txt"), note.patient_id) for note in notes if note.patient_id]
    if not rows:
        return b""
    out = io.StringIO()
    csv.writer(out).writerows([("name", "patient_id"), *rows])
    return out.getvalue().encode()


def _stage(access: Access, **wanted: Any) -> Import:
    try:
        return stage_import(project=access.project, actor=access.user, **wanted)
    except NoteError as error:
        raise invalid(*(("files", problem.message) for problem in error.problems)) from error


def _start(response: HttpResponse, access: Access, staged: Import) -> Status[JobItem]:
    """Start the import, or discard the upload where it can't start."""
    try:
        job = start_import(project=access.project, import_id=staged.pk, actor=access.user)
    except ServiceError:
        discard(row=staged)
        raise
    return started(response, access.project.slug, job)
