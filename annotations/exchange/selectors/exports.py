"""Exported files that are ready to download."""

from collections.abc import Iterable
from datetime import datetime

from django.http import Http404
from django.utils import timezone

from annotations.core.access import Access, Can, note_for
from annotations.gold.selectors import of_kind
from annotations.models import DocumentSource, Project, StoredFile, StoredFileKind


def ready_files(project: Project, now: datetime | None = None, *, without: Iterable[str] = ()) -> list[StoredFile]:
    """Exports that have not expired, newest first, without annotation sets by authors of the kinds `without`."""
    files = StoredFile.objects.filter(project=project, kind=StoredFileKind.EXPORT, expires_at__gt=now or timezone.now())
    for kind in without:
        files = files.exclude(name__startswith=of_kind(project, kind))
    return list(files.select_related("created_by").order_by("-pk")[:100])


def file_for(access: Access, pk: int) -> StoredFile | None:
    """An export, or the export of a release, that this person may download; None once it has expired."""
    # A released text beside the one that an auditor reads would show which leaks are planted.
    kinds = [StoredFileKind.EXPORT, *([StoredFileKind.RELEASE] if access.has(Can.RELEASE) else [])]
    stored = StoredFile.objects.filter(project=access.project, kind__in=kinds, pk=pk).first()
    closed = tuple(of_kind(access.project, kind) for kind in access.closed_kinds)
    if stored is None or stored.name.startswith(closed):
        return None
    return None if stored.expires_at and stored.expires_at <= timezone.now() else stored


def original_of(access: Access, note: int) -> StoredFile:
    """The document from which a note was extracted. Raises Http404 if there is none."""
    source = DocumentSource.objects.select_related("original").filter(document=note_for(access, note)).first()
    if source is None or source.original is None:
        raise Http404("This note has no original document.")
    return source.original
