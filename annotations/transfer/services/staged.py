"""An upload on its way in: kept, previewed, thrown away or taken; until somebody says go, nothing is imported."""

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
from annotations.domain.formats import FORMATS
from annotations.models import Import, Project, StoredFile, User
from annotations.transfer.services.import_plan import batches, check_choices, note_names, plan_notes, reading_of
from annotations.transfer.services.importing import opened, undo_import
from annotations.transfer.services.sources import ZipSource, megabytes, read_patients

PREVIEWED = 200


def pack(files: Sequence[tuple[str, bytes]]) -> IO[bytes]:
    """Several dropped or pasted files as one stored zip."""
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
) -> Import:
    """Keep an uploaded zip (see `pack`) for preview. Raises ServiceError before anything is kept."""
    check_choices(format, written_as)
    size = content.seek(0, io.SEEK_END)
    content.seek(0)
    if size > settings.UPLOAD_MAX_BYTES:
        limit = megabytes(settings.UPLOAD_MAX_BYTES)
        raise ServiceError(
            gettext("%(size)s is more than is taken at once (%(limit)s)") % {"size": megabytes(size), "limit": limit},
            code="size",
        )
    read_patients(ZipSource(content))
    content.seek(0)
    with transaction.atomic():
        stored = store_file(project=project, kind=StoredFile.Kind.UPLOAD, name=name, content=content, actor=actor)
        return Import.objects.create(
            project=project,
            stored_file=stored,
            format=format,
            written_as=written_as,
            language=language.strip().lower(),
            take_duplicates=take_duplicates,
            created_by=actor,
        )


def preview_import(row: Import) -> dict[str, Any]:
    """What an import would do with its first notes (`looked_at` of `total`, at most PREVIEWED), without writing."""
    with opened(row) as source:
        reading = reading_of(row, source, row.created_by, preview=True)
        groups, strays = FORMATS[row.format].group(note_names(source))
        reading.report.refuse(strays, notes=0)
        parsed, looked_at = next(batches(reading, groups[:PREVIEWED]), ([], 0))
        plan = plan_notes(reading, parsed, {})
        return asdict(reading.report) | {
            "total": len(groups),
            "looked_at": looked_at,
            "notes": len(plan.new),
            "sets": len(plan.sets),
            "spans": sum(len(note.spans or ()) for note, _ in plan.sets),
            "names": [note.name for note in plan.new[:20]],
        }


def discard(*, row: Import) -> None:
    """Throw the upload away. Refused once the import runs; a second time is harmless."""
    if row.state == Import.State.CANCELLED:
        return
    # Conditional, so that it can't take a running import from under its worker.
    waiting = Import.objects.filter(pk=row.pk, state=Import.State.STAGED)
    if not waiting.update(state=Import.State.CANCELLED):
        raise _begun()
    undo_import(import_id=row.pk)


def take_duplicates(*, row: Import, take: bool = True) -> None:
    """Also take texts that are in the project under another name."""
    if not Import.objects.filter(pk=row.pk, state=Import.State.STAGED).update(take_duplicates=take):
        raise _begun()


def _begun() -> ServiceError:
    return ServiceError(
        gettext("this import has begun already; nothing was changed. It can be cancelled on the page of its job"),
        code="begun",
    )


def same_waiting(row: Import) -> Import:
    """The first of equal uploads by one person that still wait: a double click stages one import, not two.

    The later one is thrown away.
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
