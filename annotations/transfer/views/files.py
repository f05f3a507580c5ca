"""Fetching a stored file, such as an export has made."""

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET

from annotations.core.access import Access, Can, enter
from annotations.core.barred import barred_kinds
from annotations.core.events import record
from annotations.core.requests import Request
from annotations.core.stored_files import read_chunks
from annotations.gold.selectors import of_kind
from annotations.models import StoredFile, Verb


@require_GET
def file_download(request: Request, slug: str, pk: int) -> HttpResponse | StreamingHttpResponse:
    """An export as an attachment, chunk by chunk; each download is an event. 404 once its time is over."""
    access = enter(request.user, slug, Can.EXPORT)
    stored = StoredFile.objects.filter(project=access.project, kind=StoredFile.Kind.EXPORT, pk=pk).first()
    barred = tuple(of_kind(access.project, kind) for kind in barred_kinds(access))
    if stored is not None and stored.name.startswith(barred):
        stored = None
    if stored is None or (stored.expires_at and stored.expires_at <= timezone.now()):
        return render(request, "transfer/export_gone.html", {"access": access}, status=404)
    return attachment(request, access, stored)


def attachment(request: Request, access: Access, stored: StoredFile) -> StreamingHttpResponse:
    """A stored zip, chunk by chunk. Fetching it is an event; asking for its headers alone is none."""
    if request.method == "GET":
        record(
            verb=Verb.FILE_DOWNLOADED,
            actor=access.user,
            project_id=access.project.pk,
            data={"file": stored.pk, "size": stored.size},
        )
    response = StreamingHttpResponse(read_chunks(stored), content_type="application/zip")
    response.headers["Content-Length"] = str(stored.size)
    response.headers["Content-Disposition"] = content_disposition_header(True, stored.name) or "attachment"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
