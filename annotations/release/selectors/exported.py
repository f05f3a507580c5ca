"""Exported files of a release that are ready to download."""

from datetime import datetime

from django.utils import timezone

from annotations.models import Job, Release, StoredFile, StoredFileKind


def ready_exports(release: Release, now: datetime | None = None) -> list[StoredFile]:
    """The exports of the release that have not expired, newest first."""
    jobs = Job.objects.filter(project=release.project_id, kind="release_export", params__release_id=release.pk)
    ids = [file for file in jobs.values_list("result__file_id", flat=True) if file]
    files = StoredFile.objects.filter(
        project=release.project_id, kind=StoredFileKind.RELEASE, pk__in=ids, expires_at__gt=now or timezone.now()
    )
    return list(files.select_related("created_by").order_by("-pk"))
