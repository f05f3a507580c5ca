"""The limit on request bodies, checked before a byte of the body is read.

Django reads the body to find the CSRF token and has no limit on files, so this check comes first. A large body
is accepted only at a URL whose view is marked with `takes_uploads`, and only from a signed-in person who has
the right that the mark names, if it names one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import Resolver404, resolve
from django.utils.formats import number_format

from annotations.core.access import Can, enter
from annotations.core.requests import UPLOADS, wants_json
from annotations.models import User
from annotations.text.names import whole
from deidreview import REQUEST_BYTES
from deidreview.limits import uploading
from deidreview.middleware import ask_to_sign_in, is_idle

GetResponse = Callable[[HttpRequest], HttpResponse]
# The form around the files: field names, file names, boundaries of up to DATA_UPLOAD_MAX_NUMBER_FILES parts.
FORM_BYTES = 4 * 1024 * 1024
MEGABYTE = 1024 * 1024


def upload_limit(get_response: GetResponse) -> GetResponse:
    """Refuse a body that is too large (413) or has no length (411), and uploads without sign-in (401).

    Raise Http404 or PermissionDenied if the person may not send files to this project. A person sends
    one large body at a time to a web process (429), since few threads read large bodies and a slow one takes long.
    """
    sending: set[int] = set()
    lock = Lock()

    def middleware(request: HttpRequest) -> HttpResponse:
        response = _early_response(request)
        if response is not None or int(request.META.get("CONTENT_LENGTH") or 0) <= REQUEST_BYTES:
            return response or get_response(request)
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


def _early_response(request: HttpRequest) -> HttpResponse | None:
    """Return None if the body may be read, otherwise the response."""
    given = request.META.get("CONTENT_LENGTH") or "0"
    size = whole(given)
    if "HTTP_TRANSFER_ENCODING" in request.META or size is None:
        return _refused(request, 411, settings.UPLOAD_MAX_BYTES)
    if size <= REQUEST_BYTES:
        return None
    found = _upload(request)
    if found is None:
        return _refused(request, 413, REQUEST_BYTES)
    if size > settings.UPLOAD_MAX_BYTES + FORM_BYTES:
        return _refused(request, 413, settings.UPLOAD_MAX_BYTES)
    user = get_user(request)
    if not isinstance(user, User) or is_idle(request):
        return ask_to_sign_in(request)
    if found.right is not None:
        enter(user, found.slug, found.right)
    return None


@dataclass(frozen=True)
class _Upload:
    """The project that receives files, and the right that this takes; None and "" at a URL of no project."""

    slug: str
    right: Can | None


def _upload(request: HttpRequest) -> _Upload | None:
    """Return who receives files at the URL, or None if it takes none."""
    try:
        match = resolve(request.path_info)
    except Resolver404:
        return None
    uploads = getattr(match.func, UPLOADS, None)
    return None if uploads is None else _Upload(match.kwargs.get("slug", ""), uploads.right)


def _refused(request: HttpRequest, status: int, most: int) -> HttpResponse:
    """Answer with a page or JSON that names the limit."""
    limit = most / MEGABYTE
    if wants_json(request):
        return JsonResponse({"error": "too-large", "limit_mb": limit}, status=status)
    shown = number_format(limit, decimal_pos=0 if limit.is_integer() else 1)
    context = {"limit": shown, "status": status, "upload": most != REQUEST_BYTES}
    return render(request, "errors/413.html", context, status=status)
