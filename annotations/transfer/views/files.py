"""Download of stored files, such as exports."""

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET, require_safe

from annotations.core.access import Access, Can, enter, note_for
from annotations.core.events import FILE_DOWNLOADED
from annotations.core.requests import Request
from annotations.core.stored_files import read_chunks
from annotations.gold.selectors import of_kind
from annotations.models import DocumentSource, StoredFile
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


@require_safe
def note_original(request: Request, slug: str, pk: int) -> StreamingHttpResponse:
    """Send the document from which a note was extracted, and record the download. 404 if there is none."""
    access = enter(request.user, slug, Can.EXPORT)
    source = DocumentSource.objects.select_related("original").filter(document=note_for(access, pk)).first()
    if source is None or source.original is None:
        raise Http404("This note has no original document.")
    return attachment(request, access, source.original, note=pk)


def attachment(
    request: Request, access: Access, stored: StoredFile, *, note: int | None = None
) -> StreamingHttpResponse:
    """Response that streams a stored zip, or the original of a note. A GET is recorded as an event, a HEAD is not."""
    if request.method == "GET":
        FILE_DOWNLOADED.record(
            actor=access.user,
            project_id=access.project.pk,
            document_id=note,
            data={"file": stored.pk, "size": stored.size},
        )
    kind = "application/zip" if note is None else "application/octet-stream"
    response = StreamingHttpResponse(read_chunks(stored), content_type=kind)
    response.headers["Content-Length"] = str(stored.size)
    response.headers["Content-Disposition"] = content_disposition_header(True, stored.name) or "attachment"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
