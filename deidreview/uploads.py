"""The limit on what may be sent, checked before a byte of the body is read.

Django reads the body to look for the CSRF token, and sets no limit on files, so this stands before that.
"""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from annotations.domain.numbers import whole
from deidreview.answers import wants_json

GetResponse = Callable[[HttpRequest], HttpResponse]
# The form around the files: field names, file names, boundaries of up to DATA_UPLOAD_MAX_NUMBER_FILES parts.
FORM_BYTES = 4 * 1024 * 1024


def upload_limit(get_response: GetResponse) -> GetResponse:
    """Refuse a body that is too large (413), or that doesn't say how long it is (411)."""

    def middleware(request: HttpRequest) -> HttpResponse:
        status = refusal(request)
        return refused(request, status) if status else get_response(request)

    return middleware


def refusal(request: HttpRequest) -> int:
    """The status to refuse with, 0 where the body may be read."""
    given = request.META.get("CONTENT_LENGTH") or "0"
    size = whole(given)
    if "HTTP_TRANSFER_ENCODING" in request.META or size is None:
        return 411
    return 413 if size > settings.UPLOAD_MAX_BYTES + FORM_BYTES else 0


def refused(request: HttpRequest, status: int) -> HttpResponse:
    """The page, or JSON, that says so."""
    limit = settings.UPLOAD_MAX_BYTES // (1024 * 1024)
    if wants_json(request):
        return JsonResponse({"error": "too-large", "limit_mb": limit}, status=status)
    return render(request, "errors/413.html", {"limit": limit, "status": status}, status=status)
