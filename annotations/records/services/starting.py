"""Start the jobs of records: de-identify an uploaded file, and export the records of a release."""

from typing import IO, Final

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.services import ServiceError
from annotations.core.stored_files import store_file
from annotations.jobs.services.queue import LIVE, enqueue, once
from annotations.models import Job, Project, Release, ReleasePolicy, ReleaseState, StoredFile, StoredFileKind, User
from annotations.records.rules.plans import FORMATS
from annotations.records.selectors import active_schemas

JOB: Final = "records"
EXPORT: Final = "records_export"


def start_deidentifying(
    *, project: Project, name: str, content: IO[bytes], data_type: str, policy: ReleasePolicy, actor: User | None
) -> Job:
    """Store a file of records and start the job that de-identifies it; or return the one at work on the same file.

    Raises ServiceError: `file` for an unknown ending, `schema` without an active schema, `type` for an unknown one.
    """
    ending = "." + name.rpartition(".")[2].lower()
    active = active_schemas(project)
    if ending not in FORMATS:
        message = _("The name of the file ends in none of: %(endings)s. Upload JSON, JSON Lines or Parquet.")
        raise ServiceError(message % {"endings": ", ".join(FORMATS)}, code="file")
    if not active:
        raise ServiceError(_("No schema is active. Add a schema, review and activate it."), code="schema")
    if data_type and data_type not in active:
        message = _("No schema of this type is active. Active: %(types)s.")
        raise ServiceError(message % {"types": ", ".join(active)}, code="type")
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        stored = store_file(project=project, kind=StoredFileKind.UPLOAD, name=name, content=content, actor=actor)
        params = {"file_id": stored.pk, "ending": ending, "data_type": data_type, "policy_id": policy.pk}
        live = Job.objects.filter(project=project, kind=JOB, created_by=actor, state__in=LIVE)
        same = StoredFile.objects.filter(sha256=stored.sha256).in_bulk([job.params["file_id"] for job in live])
        for job in live:
            if job.params["file_id"] in same and job.params | {"file_id": stored.pk} == params:
                stored.delete()  # A double click sends the file twice.
                return job
        return enqueue(kind=JOB, project=project, params=params, key=f"{JOB}-{stored.pk}", actor=actor)


def start_record_export(*, release: Release, actor: User, token: str = "") -> Job:
    """Start the export of the records of a release. Raises ServiceError `state` unless it is prepared."""
    if release.state not in (ReleaseState.PREPARED, ReleaseState.SIGNED):
        message = _("Release %(number)s can't be exported. Its state is: %(state)s.")
        raise ServiceError(message % {"number": release.number, "state": release.get_state_display()}, code="state")
    return once(EXPORT, release.project, {"release_id": release.pk}, actor, token)
