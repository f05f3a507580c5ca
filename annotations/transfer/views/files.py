"""Download of stored files, such as exports."""

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET

from annotations.core.access import Access, Can, enter
from annotations.core.events import FILE_DOWNLOADED
from annotations.core.requests import Request
from annotations.core.stored_files import read_chunks
from annotations.gold.selectors import of_kind
from annotations.models import StoredFile
from annotations.transfer.selectors.deleted_files import deleted_with_patient, own_reason


@require_GET
def file_download(request: Request, slug: str, pk: int) -> HttpResponse | StreamingHttpResponse:
    """Send an export as an attachment and record the download. 404 once the file has expired."""
    access = enter(request.user, slug, Can.EXPORT)
    # A released text beside the one that an auditor reads would show which leaks are planted.
    kinds = [StoredFile.Kind.EXPORT, *([StoredFile.Kind.RELEASE] if access.has(Can.RELEASE) else [])]
    stored = StoredFile.objects.filter(project=access.project, kind__in=kinds, pk=pk).first()
    closed = tuple(of_kind(access.project, kind) for kind in access.closed_kinds)
    if stored is not None and stored.name.startswith(closed):
        stored = None
    if stored is None or (stored.expires_at and stored.expires_at <= timezone.now()):
        context = {
            "access": access,
            "erased": stored is None and deleted_with_patient(access.project, pk),
            "reason": own_reason(access.project, pk) if stored is None else "",
        }
        return render(request, "transfer/export_deleted.html", context, status=404)
    return attachment(request, access, stored)


def attachment(request: Request, access: Access, stored: StoredFile) -> StreamingHttpResponse:
    """Response that streams a stored zip. A GET is recorded as an event, a HEAD is not."""
    if request.method == "GET":
        FILE_DOWNLOADED.record(
            actor=access.user,
            project_id=access.project.pk,
            data={"file": stored.pk, "size": stored.size},
        )
    response = StreamingHttpResponse(read_chunks(stored), content_type="application/zip")
    response.headers["Content-Length"] = str(stored.size)
    response.headers["Content-Disposition"] = content_disposition_header(True, stored.name) or "attachment"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
