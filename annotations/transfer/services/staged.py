"""Uploads that wait for their import: stage, preview, discard. Nothing is imported until somebody starts the import."""

import io
import zipfile
from collections.abc import Sequence
from dataclasses import asdict
from typing import IO, Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext

from annotations.core.errors import ServiceError
from annotations.core.stored_files import store_file
from annotations.domain.formats import DETECT, detected
from annotations.models import Import, Project, StoredFile, User
from annotations.transfer.services.import_plan import (
    check_choices,
    import_context,
    plan_notes,
)
from annotations.transfer.services.importing import opened, undo_import
from annotations.transfer.services.label_choices import find_labels
from annotations.transfer.services.reading import batches, grouped, note_names, total_of
from annotations.transfer.services.sources import ZipSource, megabytes, read_patients

PREVIEWED = 200


def pack(files: Sequence[tuple[str, bytes]]) -> IO[bytes]:
    """Pack several files into one zip without compression."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files:
            archive.writestr(zipfile.ZipInfo(name), data)
    packed.seek(0)
    return packed


def stage_import(
    *,
    project: Project,
    name: str,
    content: IO[bytes],
    format: str,
    written_as: str,
    language: str,
    take_duplicates: bool,
    actor: User | None,
    repair_offsets: bool = False,
    all_or_nothing: bool = False,
) -> Import:
    """Store an uploaded zip (see `pack`) for preview. If it raises ServiceError, nothing is stored."""
    size = content.seek(0, io.SEEK_END)
    content.seek(0)
    if size > settings.UPLOAD_MAX_BYTES:
        limit = megabytes(settings.UPLOAD_MAX_BYTES)
        raise ServiceError(
            gettext("The upload has %(size)s; at most %(limit)s are allowed. Split it into several uploads.")
            % {"size": megabytes(size), "limit": limit},
            code="size",
        )
    source = ZipSource(content)
    if format == DETECT:
        format = detected(note_names(source), source)
    check_choices(format, written_as)
    read_patients(source)
    found, notes = find_labels(format, source)
    content.seek(0)
    with transaction.atomic():
        stored = store_file(project=project, kind=StoredFile.Kind.UPLOAD, name=name, content=content, actor=actor)
        return Import.objects.create(
            project=project,
            stored_file=stored,
            format=format,
            written_as=written_as,
            language=language.strip().lower(),
            labels_found=found,
            notes_found=notes,
            take_duplicates=take_duplicates,
            repair_offsets=repair_offsets,
            all_or_nothing=all_or_nothing,
            created_by=actor,
        )


def preview_import(row: Import) -> dict[str, Any]:
    """Report what an import would do, without writing. Looks at the first `looked_at` notes, at most PREVIEWED."""
    with opened(row) as source:
        context = import_context(row, source, row.created_by, preview=True)
        groups, strays = grouped(row.format, source)
        context.report.refuse_files(strays)
        parsed, looked_at = next(batches(context, groups, most=PREVIEWED), ([], 0))
        plan = plan_notes(context, parsed, {})
        return asdict(context.report) | {
            "total": max(looked_at, total_of(row, groups)),
            "looked_at": looked_at,
            "notes": len(plan.new),
            "sets": len(plan.sets),
            "spans": sum(len(note.spans or ()) for note, _ in plan.sets),
            "names": [note.name for note in plan.new[:20]],
        }


def discard(*, row: Import) -> None:
    """Delete the upload. Raises ServiceError once the import runs. Calling it twice does no harm."""
    if row.state == Import.State.CANCELED:
        return
    # The condition on the state keeps an import that a worker has just started.
    waiting = Import.objects.filter(pk=row.pk, state=Import.State.STAGED)
    if not waiting.update(state=Import.State.CANCELED):
        raise _begun()
    undo_import(import_id=row.pk)


def take_duplicates(*, row: Import, take: bool = True) -> None:
    """Set whether to import texts that are in the project under another name."""
    if not Import.objects.filter(pk=row.pk, state=Import.State.STAGED).update(take_duplicates=take):
        raise _begun()


def repair_offsets(*, row: Import, repair: bool = True) -> None:
    """Set whether to move spans to the text that they quote."""
    if not Import.objects.filter(pk=row.pk, state=Import.State.STAGED).update(repair_offsets=repair):
        raise _begun()


def change_format(*, row: Import, format: str) -> None:
    """Read the staged files in another format. Choices for labels begin anew, since the labels may differ.

    Raises ServiceError if the import has started, or if the format can't be chosen.
    """
    check_choices(format, row.written_as)
    with opened(row) as source:
        found, notes = find_labels(format, source)
    waiting = Import.objects.filter(pk=row.pk, state=Import.State.STAGED)
    if not waiting.update(format=format, labels_found=found, notes_found=notes, label_choices={}):
        raise _begun()


def all_or_nothing(*, row: Import, only_all: bool = True) -> None:
    """Set whether a refused note keeps all others from being imported."""
    if not Import.objects.filter(pk=row.pk, state=Import.State.STAGED).update(all_or_nothing=only_all):
        raise _begun()


def _begun() -> ServiceError:
    return ServiceError(
        gettext("This import has already started. Nothing was changed. You can cancel it on the job page."),
        code="begun",
    )


def same_waiting(row: Import) -> Import:
    """The first of equal waiting uploads by the same user, so that a double click stages one import.

    If `row` is a later one, it is deleted.
    """
    if row.stored_file is None:
        return row
    first = (
        Import.objects.filter(
            project=row.project_id,
            created_by=row.created_by_id,
            state=Import.State.STAGED,
            stored_file__sha256=row.stored_file.sha256,
            format=row.format,
            written_as=row.written_as,
            language=row.language,
            repair_offsets=row.repair_offsets,
            all_or_nothing=row.all_or_nothing,
        )
        .order_by("id")
        .first()
    )
    if first is None or first.pk >= row.pk:
        return row
    stored = row.stored_file
    row.delete()
    stored.delete()
    return first
