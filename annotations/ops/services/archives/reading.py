"""Import a whole project from an archive, in one transaction: everything, or nothing."""

from collections.abc import Callable
from typing import IO, Any, NamedTuple

from django.db import connection, transaction
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from annotations.core.authors import ARCHIVE
from annotations.core.errors import ServiceError
from annotations.core.progress import Progress, silent
from annotations.formats.files.archives import ArchiveError, ArchiveReader
from annotations.models import Author, Document, Import, Label, LabelSet, Project, Role, User
from annotations.ops.events import ARCHIVE_IMPORTED
from annotations.ops.services.archives import tables
from annotations.ops.services.archives.joining import (
    answer_comments,
    check_versions,
    join_second_reviews,
    list_for_review,
)
from annotations.ops.services.archives.looking import named, said
from annotations.ops.services.archives.note_rows import store_notes, store_sets
from annotations.ops.services.archives.project_rows import (
    check_codes,
    mark_authors,
    merge_labels,
    merge_runs,
    store_people,
    store_project,
)
from annotations.ops.services.archives.rows import Lines, Row, Rows
from annotations.ops.services.archives.tables import Table
from annotations.projects.services.members import add_member


class Imported(NamedTuple):
    slug: str
    notes: int
    sets: int
    spans: int
    people: int
    accounts: int


def import_archive(*, file: IO[bytes], slug: str = "", actor: User | None = None) -> Imported:
    """Make a new project from an archive; its short name is `slug`, or that of the archive. Raises ServiceError.

    Its only member is `actor`, as a manager. Without one it has no member.
    """
    with said(), ArchiveReader(file, tables.NAMES) as archive:
        _verify(archive, silent)
        own, name = named(archive)
        chosen = slugify(slug or own)[:60].strip("-")
        if not chosen:
            raise ServiceError(_("Choose a short name with letters a–z or digits."), code="slug")
        with transaction.atomic():
            if Project.objects.filter(slug=chosen).exists():
                raise ServiceError(
                    _("A project with the short name “%(slug)s” already exists. Choose another one.")
                    % {"slug": chosen},
                    code="exists",
                )
            project = Project.objects.create(slug=chosen, name=name, created_by=actor)
            if actor is not None:
                add_member(project=project, user=actor, role=Role.MANAGER, actor=actor)
            return _everything(Rows(archive, project), actor)


def fill_project(
    *, project: Project, file: IO[bytes], actor: User | None, progress: Progress, finish: Callable[[Row], None]
) -> None:
    """Import an archive into an empty project, whose managers stay managers. Raises ServiceError.

    `finish` is called with the counts in the same transaction.
    """
    with said(), ArchiveReader(file, tables.NAMES) as archive:
        _verify(archive, progress)
        with transaction.atomic():
            Project.objects.select_for_update(no_key=True).get(pk=project.pk)
            if Document.objects.filter(project=project).exists() or Author.objects.filter(project=project).exists():
                raise ServiceError(_("The project is not empty. Import the archive as a new project."), code="filled")
            finish(_everything(Rows(archive, project), actor)._asdict())


def _verify(archive: ArchiveReader, progress: Progress) -> None:
    for done, name in enumerate(sorted(tables.NAMES)):
        progress(done, len(tables.NAMES) + 1)
        archive.verify(name)


def _everything(rows: Rows, actor: User | None) -> Imported:
    people, accounts = store_people(rows)
    # A project that was made for the upload has labels, which those of the archive replace.
    Label.objects.filter(label_set__project=rows.project).delete()
    LabelSet.objects.filter(project=rows.project).delete()
    for table in tables.BEFORE:
        _store(rows, table)
        if table is tables.LABELS:
            merge_labels(rows)
        if table is tables.MAPPED:
            check_codes(rows)
        if table is tables.AUTHORS:
            mark_authors(rows)
            merge_runs(rows)
    # The sets name this import, so that every place that shows them can say so.
    by = Import.objects.create(
        project=rows.project, format=ARCHIVE, state=Import.State.DONE, created_by=actor, finished_at=timezone.now()
    )
    notes = store_notes(rows)
    sets, spans = store_sets(rows, by)
    for table in tables.AFTER:
        _store(rows, table)
    answer_comments(rows)
    join_second_reviews(rows)
    check_versions(rows)
    list_for_review(rows)
    imported = Imported(rows.project.slug, notes, sets, spans, people, accounts)
    by.report = {"notes": notes, "spans": spans}
    by.save(update_fields=["report"])
    counts = {key: value for key, value in imported._asdict().items() if key != "slug"}
    ARCHIVE_IMPORTED.record(actor=actor, project_id=rows.project.pk, data=counts)  # type: ignore[arg-type]
    # Last: an archived project refuses events.
    store_project(rows)
    return imported


def _store(rows: Rows, table: Table) -> None:
    constant: Row = {}
    if table.constant == "project_id":
        constant = {"project_id": rows.project.pk}
    elif table.constant:
        owner = LabelSet.objects.filter(project=rows.project).first()
        if owner is None:
            raise ArchiveError("There must be exactly one row.", file=tables.LABEL_SET.name)
        constant = {table.constant: owner.pk}
    key: Any = table.model._meta.pk
    for batch in rows.batches(table.name):
        names = {row["note"] for _line, row in batch if isinstance(row.get("note"), str)}
        rows.keys.begin(names)
        found: Lines = []
        for line, row in batch:
            values = rows.values(table.name, line, table.columns, row) | constant
            if table.numbered:
                values[key.attname] = key.get_db_prep_save(rows.keys.number(table.numbered), connection)
            found.append((line, values))
        rows.insert(table.name, table.model, found)
