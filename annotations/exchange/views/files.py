"""Download of stored files, such as exports."""

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_safe

from annotations.core.access import Can, enter
from annotations.core.answers import attachment
from annotations.core.requests import Request
from annotations.exchange.selectors.deleted_files import deleted_with_patient, why_withdrawn
from annotations.exchange.selectors.exports import file_for, original_of
from annotations.models import StoredFile


@require_GET
def file_download(request: Request, slug: str, pk: int) -> HttpResponse | StreamingHttpResponse:
    """Send an export as an attachment and record the download. 404 once the file has expired."""
    access = enter(request.user, slug, Can.EXPORT)
    stored = file_for(access, pk)
    if stored is None:
        gone = not StoredFile.objects.filter(project=access.project, pk=pk).exists()
        context = {
            "access": access,
            "erased": gone and deleted_with_patient(access.project, pk),
            "reason": why_withdrawn(access.project, pk) if gone else "",
        }
        return render(request, "exchange/export_deleted.html", context, status=404)
    return attachment(request, access, stored)


@require_safe
def note_original(request: Request, slug: str, pk: int) -> StreamingHttpResponse:
    """Send the document from which a note was extracted, and record the download. 404 if there is none."""
    access = enter(request.user, slug, Can.EXPORT)
    return attachment(request, access, original_of(access, pk), note=pk)
