"""What can still be decided about an import that waits for its go-ahead."""

from annotations.models import Import
from annotations.services.errors import ServiceError
from annotations.services.importing import undo_import


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
        "this import has begun already; nothing was changed. It can be cancelled on the page of its job", code="begun"
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
