"""Routes of project archives: write and download one, import one as a new project."""

import uuid

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.utils import timezone
from ninja import File, Form, Router, Schema, UploadedFile
from ninja.responses import Status

from annotations.core.access import Access, Can, may_create_projects
from annotations.core.answers import attachment
from annotations.core.api.mount import sends
from annotations.core.api.problems import check, named
from annotations.core.api.requests import ApiRequest, Scope, enter, require_any_project, require_scope
from annotations.core.requests import takes_uploads
from annotations.exchange.api.exports import FileItem
from annotations.jobs.api import JobItem, started
from annotations.models import StoredFile, StoredFileKind
from annotations.ops.forms import ArchiveForm
from annotations.ops.services.archives.staging import (
    claim,
    imported_self,
    ready_archives,
    stage_archive,
    staged,
    start_archive,
    start_loading,
    upload_of,
)

router = Router(tags=["Project archives"])
PATH = "/projects/{slug:slug}/archives"
STAGED = "/projects/{slug:slug}/archive-imports/{int:archive_upload}"


class ArchiveName(Schema):
    """The short name of the new project; empty: the one that is written in the archive."""

    slug: str = ""


class StagedArchive(Schema):
    """The new, empty project, and the upload that waits in it for the confirmation of its people."""

    slug: str
    upload: int


class ArchivePerson(Schema):
    """A person of the archive, whose work is imported under their name with “ (imported)”.

    `account`: an account here of the same name. It gets neither the role nor the work, and can be added as a member.
    """

    name: str
    role: str
    active: bool
    account: str | None


class ClaimedWork(Schema):
    """How many annotation sets the person took over."""

    sets: int


class ArchiveContent(Schema):
    """What an archive holds: the number of rows by kind, and its people."""

    name: str
    counts: dict[str, int]
    people: list[ArchivePerson]


@router.get(PATH, response=list[FileItem])
def list_archives(request: ApiRequest, slug: str) -> list[FileItem]:
    """List the archives of a project that can be downloaded."""
    return [FileItem.of(one) for one in ready_archives(enter(request, slug, Can.ARCHIVE).project)]


@router.post(PATH, response={202: JobItem})
def write_archive(request: ApiRequest, response: HttpResponse, slug: str) -> Status[JobItem]:
    """Start writing an archive of the whole project. The job's result has the id of the file."""
    access = enter(request, slug, Can.ARCHIVE)
    return started(response, slug, start_archive(project=access.project, actor=access.user, token=uuid.uuid4().hex))


@router.get(f"{PATH}/{{int:archive}}.zip", response={200: None}, openapi_extra=sends("application/zip"))
def download_archive(request: ApiRequest, slug: str, archive: int) -> StreamingHttpResponse:
    """Download an archive. The audit log records it."""
    access = enter(request, slug, Can.ARCHIVE)
    rows = StoredFile.objects.filter(project=access.project, kind=StoredFileKind.ARCHIVE, pk=archive)
    stored = rows.first()
    if stored is None or (stored.expires_at is not None and stored.expires_at <= timezone.now()):
        raise Http404("This archive does not exist.")
    return attachment(request, access, stored)


@router.post("/archive-imports", response={201: StagedArchive})
@takes_uploads(None)
def stage_archive_import(
    request: ApiRequest, options: Form[ArchiveName], archive: File[UploadedFile]
) -> Status[StagedArchive]:
    """Upload an archive into a new, empty project. Its people wait for confirmation."""
    require_scope(request, Scope.MANAGE)
    require_any_project(request)
    if not may_create_projects(request.user):
        raise PermissionDenied("Only administrators and managers can create projects.")
    wanted = check(ArchiveForm(options.dict(), request.FILES))
    file = wanted["archive"]
    with named({"archive": "archive", "exists": "slug", "slug": "slug"}):
        project, stored = stage_archive(file=file, name=file.name, slug=wanted["slug"], actor=request.user)
    return Status(201, StagedArchive(slug=project.slug, upload=stored.pk))


@router.get(STAGED, response=ArchiveContent)
def read_archive_import(request: ApiRequest, slug: str, archive_upload: int) -> ArchiveContent:
    """Read what an uploaded archive holds, and who of its people has an account here."""
    _access, stored = _staged(request, slug, archive_upload)
    with named({"archive": "archive"}):
        found = staged(stored)
    people = [
        ArchivePerson(name=one.name, role=one.role, active=one.active, account=one.account or None)
        for one in found.people
    ]
    return ArchiveContent(name=found.name, counts=dict(found.counts), people=people)


@router.post(f"{STAGED}/confirm", response={202: JobItem})
def confirm_archive_import(
    request: ApiRequest, response: HttpResponse, slug: str, archive_upload: int
) -> Status[JobItem]:
    """Confirm the people of an uploaded archive, and start its import."""
    access, stored = _staged(request, slug, archive_upload)
    return started(response, slug, start_loading(project=access.project, stored=stored, actor=access.user))


@router.post("/projects/{slug:slug}/imported-work", response=ClaimedWork)
def claim_imported_work(request: ApiRequest, slug: str) -> ClaimedWork:
    """Take over what an archive brought under the person's user name: it is theirs from then on."""
    access = enter(request, slug)
    if imported_self(access.project, access.user) is None:
        raise Http404("No archive brought work under this user name.")
    return ClaimedWork(sets=claim(project=access.project, user=access.user))


def _staged(request: ApiRequest, slug: str, pk: int) -> tuple[Access, StoredFile]:
    access = enter(request, slug, Can.MANAGE)
    stored = upload_of(access.project, pk)
    if stored is None:
        raise Http404("This upload does not exist.")
    return access, stored
