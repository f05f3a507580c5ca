"""Read an uploaded patient master."""

from typing import Any

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.jobs.runner import Claim
from annotations.models import Document, KnownUpload, KnownUploadState, Project
from annotations.release.rules.known.csv_master import read_csv
from annotations.release.rules.known.master import Master, MasterError
from annotations.release.services.known.master import discard_upload, keep_read, staged_content


def run(claim: Claim) -> dict[str, Any]:
    """Read an upload and keep the people in it. A repeated job finds that it was read. The result has counts only."""
    upload = KnownUpload.objects.select_related("project").filter(pk=claim.params["upload"]).first()
    if upload is None:
        raise ServiceError(_("This upload was discarded or erased. Upload the file again."), code="gone")
    if upload.state == KnownUploadState.WAITING:
        try:
            master = read_master(upload.project, staged_content(upload), upload.format)
        except ServiceError:
            discard_upload(project=upload.project, upload_id=upload.pk)
            raise
        keep_read(upload=upload, master=master, claim_fence=claim.fence)
        upload.refresh_from_db()
    report = upload.report
    claim.progress(report["rows"], report["rows"])
    return {"upload": upload.pk, "patients": report["patients"], "problems": report["problem_count"]}


def undo(params: dict[str, Any], state: str) -> None:
    """Delete the upload of a canceled or failed job."""
    KnownUpload.objects.filter(pk=params["upload"], state=KnownUploadState.WAITING).delete()


def read_master(project: Project, content: bytes, format: str) -> Master:
    """Read a file in one of FORMATS. Raises ServiceError `file`."""
    try:
        if format == "csv":
            return read_csv(content, month_first=project.language == "en")
        # Loaded on first use, in workers and commands.
        from annotations.release.jobs.known.fhir import read_fhir

        notes = Document.objects.filter(project=project).exclude(patient_id="").order_by()
        return read_fhir(content, set(notes.values_list("patient_id", flat=True).distinct()))
    except MasterError as error:
        raise ServiceError(str(error), code="file") from error
