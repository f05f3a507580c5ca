"""Routes that delete: an archived project, one note. And the metadata of a note."""

import uuid
from typing import Annotated, Self

from django.http import Http404, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from ninja import Field, File, Form, Schema, UploadedFile
from ninja.responses import Status

from annotations.core.access import Access, Can, note_for
from annotations.core.answers import attachment
from annotations.core.api import routes
from annotations.core.api.mount import sends
from annotations.core.requests import takes_uploads
from annotations.core.services import Erasure
from annotations.exchange.api.exports import FileItem
from annotations.exchange.services.sources import NoteRow
from annotations.jobs.api import JobItem
from annotations.models import Document, Job, StoredFile
from annotations.ops.forms import ArchiveForm, EraseForm, PatientForm
from annotations.ops.selectors.free_texts import FreeText, free_texts, seen_weights
from annotations.ops.services import erasing
from annotations.ops.services.archives import staging
from annotations.ops.services.backup import EarlierBackup, backups_before_erasing
from annotations.ops.services.deleting import delete_project
from annotations.projects.api import require_creating_projects

router = routes.ProjectRouter(tags=["Deleting and metadata"])


class ProjectName(routes.Body):
    """The name of the project, exactly as it is shown, so that nobody deletes another one by mistake."""

    name: str


class Metadata(routes.Body):
    """What is known about a note. An empty field changes nothing."""

    patient_id: str = Field("", max_length=80)
    note_type: str = Field("", max_length=80)
    site: str = Field("", max_length=80)


@router.delete("/projects/{slug:slug}", Can.ARCHIVE, response={204: None})
def remove_project(access: Access, body: ProjectName) -> None:
    """Delete an archived project with everything in it. Nobody can undo this."""
    with routes.named({"name": "name"}):
        delete_project(project=access.project, name=body.name, actor=access.user)


@router.delete("/projects/{slug:slug}/notes/{int:note}", Can.MANAGE, response={204: None})
def remove_note(access: Access, note: int) -> None:
    """Delete a note with everything made from it. Nobody can undo this."""
    erasing.delete_note(project=access.project, note=note_for(access, note).pk, actor=access.user)


@router.patch("/projects/{slug:slug}/notes/{int:note}", Can.MANAGE, response=routes.Done)
def change_metadata(access: Access, note: int, body: Metadata) -> routes.Done:
    """Set the patient, the type and the site of a note."""
    name = note_for(access, note).name
    rows = {name: NoteRow(body.patient_id, body.note_type, body.site)}
    done = erasing.set_rows(project=access.project, rows=rows, actor=access.user)
    return routes.Done(changed=bool(done.changed or done.metadata))


# Routes of project archives: write and download one, import one as a new project.


archives_router = routes.ProjectRouter(tags=["Project archives"])
ARCHIVES = "/projects/{slug:slug}/archives"
STAGED = "/projects/{slug:slug}/archive-imports/{int:archive_upload}"
Staged = Annotated[StoredFile, staging.upload_for]


class ArchiveName(Schema):
    """The short name of the new project; empty: the one that is written in the archive."""

    slug: str = ""


class StagedArchive(Schema):
    """The new, empty project, and the upload that waits in it for the confirmation of its people."""

    slug: str
    upload: int


class ClaimedWork(Schema):
    """How many annotation sets the person took over."""

    sets: int


class ArchiveContent(Schema):
    """What an archive holds: the number of rows by kind, and its people."""

    name: str
    counts: dict[str, int]
    people: list[staging.ArchivePerson]


@archives_router.get(ARCHIVES, Can.ARCHIVE, response=list[FileItem])
def list_archives(access: Access) -> list[StoredFile]:
    """List the archives of a project that can be downloaded."""
    return list(staging.ready_archives(access.project))


@archives_router.post(ARCHIVES, Can.ARCHIVE, response={202: JobItem})
def write_archive(access: Access) -> Job:
    """Start writing an archive of the whole project. The job's result has the id of the file."""
    return staging.start_archive(project=access.project, actor=access.user, token=uuid.uuid4().hex)


@archives_router.get(
    f"{ARCHIVES}/{{int:archive}}.zip", Can.ARCHIVE, response={200: None}, openapi_extra=sends("application/zip")
)
def download_archive(request: routes.ApiRequest, access: Access, archive: int) -> StreamingHttpResponse:
    """Download an archive. The audit log records it."""
    return attachment(request, access, get_object_or_404(staging.ready_archives(access.project), pk=archive))


@archives_router.post("/archive-imports", response={201: StagedArchive})
@takes_uploads(None)
def stage_archive_import(
    request: routes.ApiRequest, options: Form[ArchiveName], archive: File[UploadedFile]
) -> Status[StagedArchive]:
    """Upload an archive into a new, empty project. Its people wait for confirmation."""
    require_creating_projects(request)
    wanted = routes.check(ArchiveForm(options.dict(), request.FILES))
    file = wanted["archive"]
    with routes.named({"archive": "archive", "exists": "slug", "slug": "slug"}):
        project, stored = staging.stage_archive(file=file, name=file.name, slug=wanted["slug"], actor=request.user)
    return Status(201, StagedArchive(slug=project.slug, upload=stored.pk))


@archives_router.get(STAGED, Can.MANAGE, response=ArchiveContent)
def read_archive_import(access: Access, archive_upload: Staged) -> ArchiveContent:
    """Read what an uploaded archive holds, and who of its people has an account here."""
    with routes.named({"archive": "archive"}):
        found = staging.staged(archive_upload)
    return ArchiveContent(name=found.name, counts=dict(found.counts), people=found.people)


@archives_router.post(f"{STAGED}/confirm", Can.MANAGE, response={202: JobItem})
def confirm_archive_import(access: Access, archive_upload: Staged) -> Job:
    """Confirm the people of an uploaded archive, and start its import."""
    return staging.start_loading(project=access.project, stored=archive_upload, actor=access.user)


@archives_router.post("/projects/{slug:slug}/imported-work", Can.SEE_PROJECT, response=ClaimedWork)
def claim_imported_work(access: Access) -> ClaimedWork:
    """Take over what an archive brought under the person's user name: it is theirs from then on."""
    if staging.imported_self(access.project, access.user) is None:
        raise Http404("No archive brought work under this user name.")
    return ClaimedWork(sets=staging.claim(project=access.project, user=access.user))


# Routes of patients: set patient ids, and erase one patient's notes. No address contains a patient id.


patients_router = routes.ProjectRouter(tags=["Patients"])
PATIENTS = "/projects/{slug:slug}/patients"
MOST_ROWS = 100_000


class Patients(Schema):
    """How many notes there are, and how many of them have a patient id."""

    notes: int
    with_id: int
    backups: list[EarlierBackup]


class PatientId(routes.Body):
    """The id exactly as it was imported."""

    patient_id: str = Field(max_length=80)


class RepeatedPatientId(PatientId):
    """The id, and the same id `again`, so that nobody erases another patient by mistake."""

    again: str = Field(max_length=80)


class ModelElsewhere(Schema):
    """A model of another project that learned from this project's gold."""

    model: str
    project: str
    url: str


class ErasedNotes(Schema):
    """What an erasure deletes, and what stays for a person to check.

    `models` may have learned words of the notes. `copies` are notes of other projects with the same texts.
    `hidden_models` are in projects of which the person is not a member.
    """

    notes: int
    annotation_sets: int
    gold_versions: int
    stored_files: int
    models: int
    copies: int
    texts: list[FreeText]
    models_elsewhere: list[ModelElsewhere]
    hidden_models: int
    backups: list[EarlierBackup]

    @classmethod
    def of(cls, counts: Erasure, access: Access) -> Self:
        weights = seen_weights(access.project, access.user)
        return cls(
            **counts,
            texts=free_texts(access.project),
            models_elsewhere=[ModelElsewhere.from_orm(one) for one in weights["shown"]],
            hidden_models=weights["hidden"],
            backups=backups_before_erasing(access.project),
        )


class AboutNote(Metadata):
    """What is known about the note with this name. An empty field changes nothing."""

    name: str = Field(max_length=240)


class AboutNotes(routes.Body):
    rows: list[AboutNote] = Field(min_length=1, max_length=MOST_ROWS)


class SetPatients(Schema):
    """Notes whose patient id changed, notes whose type or site changed, and names that match no note."""

    patients: int
    metadata: int
    unknown: list[str]


@patients_router.get(PATIENTS, Can.MANAGE, response=Patients)
def read_patients(access: Access) -> Patients:
    """Count the notes with a patient id, and list the backups that still have erased notes."""
    notes = Document.objects.filter(project=access.project)
    with_id = notes.exclude(patient_id="").count()
    return Patients(notes=notes.count(), with_id=with_id, backups=backups_before_erasing(access.project))


@patients_router.post(f"{PATIENTS}/ids", Can.MANAGE, response=SetPatients)
@takes_uploads(Can.MANAGE)
def set_patients(access: Access, body: AboutNotes) -> SetPatients:
    """Set patient ids, types and sites of many notes by name."""
    rows: dict[str, NoteRow] = {}
    for number, row in enumerate(body.rows):
        if row.name in rows:
            raise routes.invalid((f"rows.{number}.name", _("Another row of this request has the same name.")))
        rows[row.name] = NoteRow(row.patient_id, row.note_type, row.site)
    done = erasing.set_rows(project=access.project, rows=rows, actor=access.user)
    return SetPatients(patients=done.changed, metadata=done.metadata, unknown=done.unknown)


@patients_router.post(f"{PATIENTS}/preview", Can.MANAGE, response=ErasedNotes)
def preview_erasure(access: Access, body: PatientId) -> ErasedNotes:
    """Count what erasing a patient's notes would delete. It deletes nothing."""
    patient = routes.check(PatientForm(body.dict()))["patient_id"]
    with routes.named({"none": "patient_id"}):
        return ErasedNotes.of(erasing.erasure_preview(project=access.project, patient_id=patient), access)


@patients_router.post(f"{PATIENTS}/erase", Can.MANAGE, response=ErasedNotes)
def erase_notes_of_patient(access: Access, body: RepeatedPatientId) -> ErasedNotes:
    """Erase a patient's notes with everything made from them. Nobody can undo this."""
    patient = routes.check(EraseForm(body.dict()))["patient_id"]
    with routes.named({"none": "patient_id"}):
        counts = erasing.erase_patient(project=access.project, patient_id=patient, actor=access.user)
    return ErasedNotes.of(counts, access)
