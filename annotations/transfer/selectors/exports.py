"""Exported files that are ready to download."""

from collections.abc import Iterable
from datetime import datetime

from django.utils import timezone

from annotations.gold.selectors import of_kind
from annotations.models import Project, StoredFile


def ready_files(project: Project, now: datetime | None = None, *, without: Iterable[str] = ()) -> list[StoredFile]:
    """Exports that have not expired, newest first, without annotation sets by authors of the kinds `without`."""
    files = StoredFile.objects.filter(
        project=project, kind=StoredFile.Kind.EXPORT, expires_at__gt=now or timezone.now()
    )
    for kind in without:
        files = files.exclude(name__startswith=of_kind(project, kind))
    return list(files.select_related("created_by").order_by("-pk")[:100])
