"""The reason why an exported file is no longer available."""

from datetime import timedelta

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.events import NOTE_DELETED, PATIENT_ERASED
from annotations.models import Event, Job, Project, Release, ReleaseState, StoredFile, StoredFileKind


def why_deleted(project: Project, file_id: int) -> str:
    """Reason why a file is no longer available, as sentences; empty if it is."""
    kinds = [StoredFileKind.EXPORT, StoredFileKind.RELEASE]
    held = StoredFile.objects.filter(project=project, kind__in=kinds, pk=file_id)
    if held.filter(expires_at__gt=timezone.now()).exists():
        return ""
    if not held.exists() and (reason := why_withdrawn(project, file_id)):
        return reason
    if not held.exists() and deleted_with_patient(project, file_id):
        return _(
            "This file was deleted because a patient was erased or a note deleted: it may have contained those notes. "
            "Start the export again."
        )
    return _("Exports are kept for a limited time, and this file has expired. Start the export again.")


def why_withdrawn(project: Project, file_id: int) -> str:
    """Why the export of a withdrawn release is gone; empty for other files."""
    job = Job.objects.filter(project=project, kind="release_export", result__file_id=file_id).only("params").first()
    release = Release.objects.filter(project=project, pk=job.params.get("release_id")).first() if job else None
    if release is None or release.state != ReleaseState.WITHDRAWN:
        return ""
    return _("Release %(number)d was withdrawn. Its exports were deleted, and it can't be exported again.") % {
        "number": release.number
    }


def deleted_with_patient(project: Project, file_id: int) -> bool:
    """Whether a patient was erased or a note deleted while the file existed. Both delete all exports of the project."""
    job = Job.objects.filter(project=project, result__file_id=file_id).only("finished_at").first()
    if job is None or job.finished_at is None:
        return False
    until = job.finished_at + timedelta(hours=settings.STORED_FILE_HOURS)
    erased = Event.objects.filter(project_id=project.pk, verb__in=[PATIENT_ERASED, NOTE_DELETED])
    return erased.filter(at__gte=job.finished_at, at__lt=until).exists()
