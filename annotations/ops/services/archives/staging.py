"""An uploaded archive waits in the project that it will fill, until a manager has confirmed its people."""

from typing import IO

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.stored_files import open_stored, store_file
from annotations.jobs.services.queue import enqueue
from annotations.jobs.services.starting import once
from annotations.models import Author, Document, Job, Project, StoredFile, User
from annotations.ops.services.archives.looking import Found, look_into
from annotations.projects.services.projects import create_project

# Replaced by the label set of the archive.
LABEL_SET = "i2b2-2014"


def stage_archive(*, file: IO[bytes], name: str, slug: str, actor: User) -> tuple[Project, StoredFile]:
    """Create an empty project with `actor` as its manager, and keep the archive in it. Raises ServiceError."""
    found = look_into(file)
    file.seek(0)
    with transaction.atomic():
        project = create_project(
            name=found.name, label_set_key=LABEL_SET, slug=slug or found.slug, manager=actor, actor=actor
        )
        stored = store_file(project=project, kind=StoredFile.Kind.UPLOAD, name=name, content=file, actor=actor)
    return project, stored


def upload_of(project: Project, pk: int) -> StoredFile | None:
    return StoredFile.objects.filter(project=project, kind=StoredFile.Kind.UPLOAD, pk=pk).first()


def drop_upload(pk: int) -> None:
    StoredFile.objects.filter(kind=StoredFile.Kind.UPLOAD, pk=pk).delete()


def is_empty(project: Project) -> bool:
    """Whether an archive may fill the project."""
    held = (Document.objects.filter(project=project), Author.objects.filter(project=project))
    return not any(rows.exists() for rows in held)


def staged(stored: StoredFile) -> Found:
    """What the stored archive says of itself, with the accounts that its people have here now. Raises ServiceError."""
    with open_stored(stored) as file:
        return look_into(file)


def start_loading(*, project: Project, stored: StoredFile, actor: User) -> Job:
    """Start the import of a staged archive, once. Raises ServiceError if the project is not empty any more."""
    if not is_empty(project):
        raise ServiceError(_("The project is not empty. Import the archive as a new project."), code="filled")
    return enqueue(
        kind="archive_import",
        project=project,
        params={"file_id": stored.pk},
        key=f"archive-import-{stored.pk}",
        actor=actor,
    )


def start_archive(*, project: Project, actor: User, token: str) -> Job:
    """Start writing an archive. The same `token` (one per form) gives the same job."""
    return once("archive_export", project, {}, actor, token)


def ready_archives(project: Project) -> "list[StoredFile]":
    """The archives of the project that can be downloaded."""
    rows = StoredFile.objects.filter(project=project, kind=StoredFile.Kind.ARCHIVE)
    return list(rows.select_related("created_by").order_by("-pk"))
