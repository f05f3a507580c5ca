"""An archive before its import: what it says of itself, and how it waits until a manager has confirmed its people.

Errors of archives become errors for the user.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any, Final, NamedTuple

from allauth.account.adapter import get_adapter
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Lower
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations import models
from annotations.core.access import Access
from annotations.core.authors import IMPORTED
from annotations.core.services import ServiceError
from annotations.core.stored_files import open_stored, store_file
from annotations.formats.files.archives import MANIFEST, ArchiveError, ArchiveReader
from annotations.jobs.services.queue import enqueue, once
from annotations.ops.events import WORK_CLAIMED
from annotations.ops.services.archives import tables
from annotations.ops.services.archives.numbers import Bad
from annotations.projects.services.projects import create_project

# The people of an archive. Their work belongs to inactive accounts that are marked as imported.
#
# Nobody's own account gets work or a role by an import: otherwise whoever writes an archive could sign for colleagues.


# User names asked for in one query.
BATCH = 500
LONGEST = 150 - len(IMPORTED)


@dataclass(frozen=True)
class ArchivePerson:
    """A person of the archive, whose work is imported under their name with “ (imported)”. `role`: empty for no member.

    `account`: an account here of the same name. It gets neither the role nor the work, and can be added as a member.
    """

    name: str
    role: str
    active: bool
    account: str | None


def name_of(row: dict[str, Any]) -> str:
    """The user name of a row of people.jsonl. Raises Bad."""
    name = row.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST or set(row) != {"name", "member"}:
        raise Bad(_("must have a user name of at most %(most)s characters as “name”, and “member”") % {"most": LONGEST})
    return name


def accounts_here(names: list[str]) -> dict[str, models.User]:
    """The accounts of this instance by the lower-case user name, for the names that have one."""
    found: dict[str, models.User] = {}
    for at in range(0, len(names), BATCH):
        wanted = [name.lower() for name in names[at : at + BATCH]]
        rows = models.User.objects.annotate(lower=Lower("username")).filter(lower__in=wanted)
        found |= {user.username.lower(): user for user in rows}
    return found


def make_account(name: str) -> models.User:
    """Make the account that stands for a person of an archive: inactive, and without a password. Raises Bad."""
    typed = name
    while typed.endswith(IMPORTED):  # It was imported before.
        typed = typed.removesuffix(IMPORTED)
    try:
        get_adapter().clean_username(typed, shallow=True)
    except ValidationError:
        raise Bad(_("has a user name that is not allowed here")) from None
    user = models.User(username=name + IMPORTED, is_active=False)
    user.set_unusable_password()
    user.save()
    return user


MOST_PEOPLE: Final = 10_000


class ArchiveSummary(NamedTuple):
    """What an archive says of itself, before it is imported."""

    slug: str
    name: str
    version: str
    counts: dict[str, int]
    people: list[ArchivePerson]


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
                ArchivePerson(
                    called, str(member.get("role", "")), member.get("active", True) is True,
                    account.username if account else None,
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


def stage_archive(
    *, file: IO[bytes], name: str, slug: str, actor: models.User
) -> tuple[models.Project, models.StoredFile]:
    """Create an empty project with `actor` as its manager, and keep the archive in it. Raises ServiceError."""
    found = look_into(file)
    file.seek(0)
    with transaction.atomic():
        project = create_project(
            name=found.name, label_set_key=LABEL_SET, slug=slug or found.slug, manager=actor, actor=actor
        )
        stored = store_file(project=project, kind=models.StoredFileKind.UPLOAD, name=name, content=file, actor=actor)
    return project, stored


def upload_of(project: models.Project, pk: int) -> models.StoredFile | None:
    return models.StoredFile.objects.filter(project=project, kind=models.StoredFileKind.UPLOAD, pk=pk).first()


def upload_for(access: Access, pk: int) -> models.StoredFile:
    """Return an uploaded archive of the project. Raises Http404."""
    return get_object_or_404(models.StoredFile, project=access.project, kind=models.StoredFileKind.UPLOAD, pk=pk)


def drop_upload(pk: int) -> None:
    models.StoredFile.objects.filter(kind=models.StoredFileKind.UPLOAD, pk=pk).delete()


def check_empty(project: models.Project) -> None:
    """Raise ServiceError `filled` unless an archive may fill the project."""
    held = (models.Document.objects.filter(project=project), models.Author.objects.filter(project=project))
    if any(rows.exists() for rows in held):
        raise ServiceError(_("The project is not empty. Import the archive as a new project."), code="filled")


def staged(stored: models.StoredFile) -> ArchiveSummary:
    """What the stored archive says of itself, with the accounts that its people have here now. Raises ServiceError."""
    with open_stored(stored) as file:
        return look_into(file)


def start_loading(*, project: models.Project, stored: models.StoredFile, actor: models.User) -> models.Job:
    """Start the import of a staged archive, once. Raises ServiceError if the project is not empty any more."""
    check_empty(project)
    key = f"archive-import-{stored.pk}"
    return enqueue(kind="archive_import", project=project, params={"file_id": stored.pk}, key=key, actor=actor)


def start_archive(*, project: models.Project, actor: models.User, token: str) -> models.Job:
    """Start writing an archive. The same `token` (one per form) gives the same job."""
    return once("archive_export", project, {}, actor, token)


def ready_archives(project: models.Project) -> "QuerySet[models.StoredFile]":
    """The archives of the project that can be downloaded, newest first."""
    rows = models.StoredFile.objects.filter(project=project, kind=models.StoredFileKind.ARCHIVE)
    return rows.filter(expires_at__gt=timezone.now()).select_related("created_by").order_by("-pk")


# A person takes over what an archive brought under their user name. Only they can say that it is theirs.


def imported_self(project: models.Project, user: models.User) -> models.Author | None:
    """The imported annotator with the person's user name, if the project has one."""
    return models.Author.objects.filter(
        project=project, kind=models.AuthorKind.ANNOTATOR, user__username__iexact=user.username + IMPORTED
    ).first()


def claim(*, project: models.Project, user: models.User) -> int:
    """Give a person the imported work under their user name. Return the number of annotation sets.

    Raises ServiceError: `none` without such work, `begun` if the person has begun to work in the project.
    """
    try:
        with transaction.atomic():
            models.Project.objects.select_for_update(no_key=True).get(pk=project.pk)
            author = imported_self(project, user)
            if author is None or author.user is None:
                raise ServiceError(_("No archive brought work under your user name into this project."), code="none")
            moved = _move(project, author, author.user, user)
            WORK_CLAIMED.record(actor=user, project_id=project.pk, data={"sets": moved})
    except IntegrityError:
        raise _begun() from None
    return moved


def _begun() -> ServiceError:
    return ServiceError(
        _("You have already begun to work in this project, so the imported work stays apart from yours."), code="begun"
    )


def _move(project: models.Project, author: models.Author, marked: models.User, user: models.User) -> int:
    own = models.Author.objects.filter(project=project, kind=models.AuthorKind.ANNOTATOR, user=user).first()
    if own is not None:
        if own.annotation_sets.exists():
            raise _begun()
        own.delete()
    # The rule assigns notes to whoever becomes a member. The imported assignments count.
    notes = models.Assignment.objects.filter(project=project, user=marked).values("document")
    models.Assignment.objects.filter(
        project=project, user=user, document__in=list(notes.values_list("document", flat=True))
    ).delete()
    models.Author.objects.filter(pk=author.pk).update(name=user.username)
    models.AnnotationSet.objects.filter(author=author).update(imported_by=None)
    for model in tables.TABLES:
        rows = tables.rows_of(model, project)
        for field in model._meta.concrete_fields:
            if field.related_model is models.User:
                change: dict[str, Any] = {field.name: user}
                rows.filter(**{field.name: marked}).order_by().update(**change)
    taken = models.Handover.people.through.objects.filter(handover__review__document__project=project, user=marked)
    taken.update(user=user)
    return models.AnnotationSet.objects.filter(author=author).count()
