"""Routes of imports: notes as JSON, or files as the import page takes them. Each starts a job."""

import csv
import io
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Self

from django.utils.translation import gettext as _
from ninja import Field, File, Form, Query, Schema, UploadedFile

from annotations.core.access import Access, Can
from annotations.core.api.paging import Page, PageAnswer, Paging, paged_rows
from annotations.core.api.routes import Answer, ApiRequest, Body, ProjectRouter, Username, check, enter, invalid, named
from annotations.core.requests import takes_uploads
from annotations.core.services import ServiceError
from annotations.exchange.forms.imports import UploadForm
from annotations.exchange.selectors import import_of, imports_of
from annotations.exchange.services import staged
from annotations.exchange.services.label_choices import UnknownLabel, choose_labels, unknown_of
from annotations.exchange.services.sources import PATIENTS
from annotations.exchange.services.staged import discard, pack, stage_import, start_import
from annotations.formats import DETECT
from annotations.formats.notes import NoteError, check_name
from annotations.jobs.api import JobItem
from annotations.models import Category, Import, ImportState, Job, Project
from annotations.projects.selectors.labels import accepted_labels

router = ProjectRouter(tags=["Import"])
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


@router.post("/projects/{slug:slug}/notes", Can.MANAGE, response={202: JobItem})
@takes_uploads(Can.MANAGE)
def import_notes_now(access: Access, body: NewNotes) -> Job:
    """Import notes. The job's result says how many were imported, and why others were refused."""
    _check_names(body.notes)
    files = [(f"{note.name.removesuffix('.txt')}.txt", note.text.encode()) for note in body.notes]
    if patients := _patients(body.notes):
        files.append((PATIENTS, patients))
    staged = _stage(
        access, name=f"{len(body.notes)} notes", content=pack(files), format="text",
        language=body.language, take_duplicates=body.take_duplicates,
    )  # fmt: skip
    return _start(access, staged)


@router.post("/projects/{slug:slug}/imports", Can.MANAGE, response={202: JobItem})
@takes_uploads(Can.MANAGE)
def import_files(
    request: ApiRequest, access: Access, options: Form[FileOptions], files: File[list[UploadedFile]]
) -> Job:
    """Import files in any format that the import page takes. Labels that the project lacks are a conflict (409)."""
    return _start(access, stage_files(request, access, options))


def stage_files(request: ApiRequest, access: Access, options: FileOptions) -> Import:
    """Stage the files of a request, which the form checks. Raises Problem (422)."""
    form = UploadForm(options.dict(), request.FILES)
    format = check(form)["format"]
    name, content = form.content()
    return _stage(access, name=name, content=content, format=format, **form.options())


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


def _start(access: Access, staged: Import) -> Job:
    """Start the import, or discard the upload where it can't start."""
    try:
        return start_import(project=access.project, import_id=staged.pk, actor=access.user)
    except ServiceError:
        discard(row=staged)
        raise


# Routes of imports in steps: upload, preview, choose, start, report. `POST …/imports` starts at once.


PATH = "/projects/{slug:slug}/imports"
ONE = f"{PATH}/{{int:import_id}}"


class ImportItem(Answer):
    """An import. `state` is staged, running, done, failed or canceled; `job` is null before it starts."""

    id: int
    format: str
    annotations: str = Field(validation_alias="written_as")
    state: str
    take_duplicates: bool
    repair_offsets: bool
    all_or_nothing: bool
    encoding: str
    job: int | None = Field(validation_alias="job_number")
    created_by: Username
    created_at: datetime
    finished_at: datetime | None


class UnknownItem(Schema):
    """A label of the files that the project lacks, similar labels of the project, and whether it can be added.

    `chosen` is empty until somebody has chosen what to do with its spans.
    """

    name: str
    spans: int
    notes: int
    likely: list[str]
    can_add: bool
    chosen: str

    @classmethod
    def of(cls, one: UnknownLabel) -> Self:
        return cls(
            name=one.name, spans=one.spans, notes=one.notes, likely=[label.code for label in one.likely],
            can_add=one.can_add, chosen=one.value.partition(":")[0],
        )  # fmt: skip


class ImportDetail(ImportItem):
    """An import with its unknown labels: what it would do (`preview`, while it is staged), or has done (`report`)."""

    unknown_labels: list[UnknownItem]
    preview: dict[str, Any] | None
    report: dict[str, Any]


class ImportChoices(Body):
    """What to change of a staged import; the rest stays.

    `labels` says for labels that the project lacks: `map:CODE` of a label, `add:CATEGORY`, or `skip`.
    """

    format: str | None = Field(None, max_length=20)
    take_duplicates: bool | None = None
    repair_offsets: bool | None = None
    all_or_nothing: bool | None = None
    encoding: str | None = Field(None, max_length=40)
    no_cleanup: list[str] | None = None
    labels: dict[str, str] = {}


@router.get(PATH, Can.MANAGE, response=Page[ImportItem])
def list_imports(request: ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the imports of a project, the newest first."""
    return paged_rows(request, paging, imports_of(access.project), ImportItem.from_orm, newest_first=True)


@router.post(f"{PATH}/staged", Can.MANAGE, response={201: ImportDetail})
@takes_uploads(Can.MANAGE)
def stage_import_files(
    request: ApiRequest, access: Access, options: Form[FileOptions], files: File[list[UploadedFile]]
) -> ImportDetail:
    """Upload files and preview their import. Nothing is imported before it is started."""
    row = staged.same_waiting(stage_files(request, access, options))
    return _detail(access, row.pk)


@router.get(ONE, response=ImportDetail)
def read_import(request: ApiRequest, slug: str, import_id: int) -> ImportDetail:
    """Read an import: its preview while it is staged, its report afterwards."""
    return _detail(enter(request, slug, Can.MANAGE), import_id)


@router.patch(ONE, Can.MANAGE, response=ImportDetail)
def change_import(access: Access, import_id: int, body: ImportChoices) -> ImportDetail:
    """Change how a staged import reads its files, or choose what happens to labels that the project lacks."""
    row = import_of(access, import_id)
    with named({"format": "format", "encoding": "encoding", "cleanup": "no_cleanup", "choice": "labels"}):
        _change(access.project, row, body)
    return _detail(access, import_id)


@router.post(f"{ONE}/start", Can.MANAGE, response={202: JobItem})
def start_staged_import(access: Access, import_id: int) -> Job:
    """Start a staged import. Labels that the project lacks need a choice first (409)."""
    row = import_of(access, import_id)
    return start_import(project=access.project, import_id=row.pk, actor=access.user)


@router.delete(ONE, Can.MANAGE, response={204: None})
def discard_import(access: Access, import_id: int) -> None:
    """Discard a staged import. Nothing is imported."""
    staged.discard(row=import_of(access, import_id))


def _change(project: Project, row: Import, body: ImportChoices) -> None:
    # What a client chose for labels belongs to the format, so that comes first.
    if body.format is not None:
        staged.change_format(row=row, format=body.format)
    if options := body.dict(exclude={"format", "labels"}, exclude_none=True):
        staged.change_options(row=row, **options)
    if body.labels:
        row.refresh_from_db()
        _choose(project, row, body.labels)


def _choose(project: Project, row: Import, labels: Mapping[str, str]) -> None:
    """Store choices for unknown labels. Raises Problem (422) that names the label."""
    unknown = unknown_of(row)
    keys = {one.name: one.key for one in unknown.rows}
    _accepted, ids = accepted_labels(project)
    categories = dict(Category.objects.filter(label_set__project=project).values_list("name", "pk"))
    values: dict[str, str] = {}
    errors: list[tuple[str, str]] = []
    for name, choice in labels.items():
        do, _colon, what = choice.partition(":")
        known = {"map": ids, "add": categories}.get(do, {})
        if name not in keys:
            errors.append((f"labels.{name}", _("The files have no such label, or the project has it.")))
        elif choice == "skip":
            values[keys[name]] = choice
        elif what in known:
            values[keys[name]] = f"{do}:{known[what]}"
        else:
            errors.append((f"labels.{name}", _("Choose map:CODE of a label, add:CATEGORY, or skip.")))
    if errors:
        raise invalid(*errors)
    choose_labels(row=row, values=values, seen=unknown.seen)


def _detail(access: Access, pk: int) -> ImportDetail:
    row = import_of(access, pk)
    listed = imports_of(access.project).get(pk=pk)
    preview = None
    if row.state == ImportState.STAGED:
        try:
            preview = staged.preview_import(row)
        except NoteError as error:
            raise invalid(*(("files", problem.message) for problem in error.problems)) from error
    return ImportDetail(
        **ImportItem.from_orm(listed).dict(), preview=preview, report=row.report,
        unknown_labels=[UnknownItem.of(one) for one in unknown_of(row).rows] if preview is not None else [],
    )  # fmt: skip
