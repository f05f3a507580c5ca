"""The limit on what may be sent, checked before a byte of the body is read.

Django reads the body to look for the CSRF token, and sets no limit on files, so this stands before that. A large body
is taken only at an address whose view is marked by `takes_uploads`, and only from somebody who is signed in.
"""

from collections.abc import Callable
from threading import Lock

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import Resolver404, resolve
from django.utils.formats import number_format

from annotations.core.requests import UPLOADS
from annotations.domain.numbers import whole
from deidreview.answers import ask_to_sign_in, wants_json
from deidreview.body_size import REQUEST_BYTES
from deidreview.limits import uploading
from deidreview.middleware import is_idle

GetResponse = Callable[[HttpRequest], HttpResponse]
# The form around the files: field names, file names, boundaries of up to DATA_UPLOAD_MAX_NUMBER_FILES parts.
FORM_BYTES = 4 * 1024 * 1024
MEGABYTE = 1024 * 1024


def upload_limit(get_response: GetResponse) -> GetResponse:
    """Refuse a body that is too large (413) or doesn't say how long it is (411), and uploads of strangers (401).

    A person sends one large body at a time to a web process (429): few threads read these, and a slow one takes long.
    """
    sending: set[int] = set()
    lock = Lock()

    def middleware(request: HttpRequest) -> HttpResponse:
        refusal = _refusal(request)
        if refusal is not None or int(request.META.get("CONTENT_LENGTH") or 0) <= REQUEST_BYTES:
            return refusal or get_response(request)
        who = get_user(request).pk or 0
        with lock:
            if who in sending:
                return uploading(request)
            sending.add(who)
        try:
            return get_response(request)
        finally:
            with lock:
                sending.discard(who)

    return middleware


def _refusal(request: HttpRequest) -> HttpResponse | None:
    """None where the body may be read."""
    given = request.META.get("CONTENT_LENGTH") or "0"
    size = whole(given)
    if "HTTP_TRANSFER_ENCODING" in request.META or size is None:
        return _refused(request, 411, settings.UPLOAD_MAX_BYTES)
    if size <= REQUEST_BYTES:
        return None
    if not _takes_uploads(request):
        return _refused(request, 413, REQUEST_BYTES)
    if size > settings.UPLOAD_MAX_BYTES + FORM_BYTES:
        return _refused(request, 413, settings.UPLOAD_MAX_BYTES)
    signed_in = get_user(request).is_authenticated and not is_idle(request)
    return None if signed_in else ask_to_sign_in(request)


def _takes_uploads(request: HttpRequest) -> bool:
    try:
        return hasattr(resolve(request.path_info).func, UPLOADS)
    except Resolver404:
        return False


def _refused(request: HttpRequest, status: int, most: int) -> HttpResponse:
    """The page, or JSON, that says so."""
    limit = most / MEGABYTE
    if wants_json(request):
        return JsonResponse({"error": "too-large", "limit_mb": limit}, status=status)
    shown = number_format(limit, decimal_pos=0 if limit.is_integer() else 1)
    context = {"limit": shown, "status": status, "upload": most != REQUEST_BYTES}
    return render(request, "errors/413.html", context, status=status)
