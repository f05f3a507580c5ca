"""An archive before its import: what it says of itself, and how it waits until a manager has confirmed its people.

Errors of archives become errors for the user.
"""

from collections.abc import Callable
from typing import IO, Any, Final, NamedTuple

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.stored_files import open_stored, store_file
from annotations.formats.files.archives import MANIFEST, ArchiveError, ArchiveReader
from annotations.jobs.services.queue import enqueue
from annotations.jobs.services.starting import once
from annotations.models import Author, Document, Job, Project, StoredFile, StoredFileKind, User
from annotations.ops.services.archives import tables
from annotations.ops.services.archives.numbers import Bad
from annotations.ops.services.archives.people import Person, accounts_here, name_of
from annotations.projects.services.projects import create_project

MOST_PEOPLE: Final = 10_000


class ArchiveSummary(NamedTuple):
    """What an archive says of itself, before it is imported."""

    slug: str
    name: str
    version: str
    counts: dict[str, int]
    people: list[Person]


def look_into(file: IO[bytes]) -> ArchiveSummary:
    """Check the manifest and the people of an archive. Raises ServiceError (`archive`)."""
    with said(), ArchiveReader(file, tables.NAMES) as archive:
        slug, name = named(archive)
        listed = archive.members[tables.PEOPLE]
        if listed.rows > MOST_PEOPLE or listed.bytes > MOST_PEOPLE * 1000:
            raise ArchiveError("The archive names more than 10,000 people.", file=tables.PEOPLE)
        archive.verify(tables.PEOPLE)
        rows = [(line, row, at(tables.PEOPLE, line, name_of, row)) for line, row in archive.rows(tables.PEOPLE)]
        here = accounts_here([name for _line, _row, name in rows])
        people = []
        for _line, row, called in rows:
            member = row["member"] if isinstance(row["member"], dict) else {}
            account = here.get(called.lower())
            people.append(
                Person(
                    called, str(member.get("role", "")), member.get("active", True) is True,
                    account.username if account else "",
                )
            )  # fmt: skip
        counts = archive.manifest.get("counts")
        return ArchiveSummary(
            slug, name, str(archive.manifest.get("version", "")),
            {key: value for key, value in counts.items() if type(value) is int} if isinstance(counts, dict) else {},
            people,
        )  # fmt: skip


def named(archive: ArchiveReader) -> tuple[str, str]:
    match archive.manifest.get("project"):
        case {"slug": str(slug), "name": str(name)} if slug and 0 < len(name) <= 120:
            return slug, name
    raise ArchiveError("“project” must give the project's slug and name.", file=MANIFEST)


def at(file: str, line: int, read: Callable[..., Any], *values: Any) -> Any:
    """Call `read`, and say where the row is if it can't be taken."""
    try:
        return read(*values)
    except Bad as error:
        raise ArchiveError(f"The row {error}.", file=file, line=line) from None


class said:
    """Turns errors of the archive into errors for the user."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ArchiveError):
            raise ServiceError(_("%(error)s Nothing was imported.") % {"error": error}, code="archive") from None


# An uploaded archive waits in the project that it will fill.

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
        stored = store_file(project=project, kind=StoredFileKind.UPLOAD, name=name, content=file, actor=actor)
    return project, stored


def upload_of(project: Project, pk: int) -> StoredFile | None:
    return StoredFile.objects.filter(project=project, kind=StoredFileKind.UPLOAD, pk=pk).first()


def drop_upload(pk: int) -> None:
    StoredFile.objects.filter(kind=StoredFileKind.UPLOAD, pk=pk).delete()


def is_empty(project: Project) -> bool:
    """Whether an archive may fill the project."""
    held = (Document.objects.filter(project=project), Author.objects.filter(project=project))
    return not any(rows.exists() for rows in held)


def staged(stored: StoredFile) -> ArchiveSummary:
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
    rows = StoredFile.objects.filter(project=project, kind=StoredFileKind.ARCHIVE)
    return list(rows.select_related("created_by").order_by("-pk"))
