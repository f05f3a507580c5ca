"""The outermost middleware: gives each request an id, and counts and times it."""

import re
import secrets
import time
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse

from annotations.core.errors import LimitReached
from deidreview.logs import request_id
from deidreview.metrics import ERRORS, REQUESTS, SECONDS

GetResponse = Callable[[HttpRequest], HttpResponse]
HEADER = "X-Request-ID"
# A proxy's own id is kept, if it can't be anything but an id.
_FROM_PROXY = re.compile(r"[A-Za-z0-9-]{8,64}")
# Django answers these with a page of their own; the status of the response says so.
ANSWERED = (Http404, PermissionDenied, SuspiciousOperation, LimitReached)
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


class Watched:
    """Counts by the names of views, never by URLs: a URL names projects."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        name = _id_of(request)
        # Not reset afterwards, since Django logs the status of a response when the middleware has ended.
        request_id.set(name)
        response = self._get_response(request)
        view = _view(request)
        method = request.method if request.method in METHODS else "other"
        REQUESTS.labels(view, method, response.status_code).inc()
        SECONDS.labels(view).observe(time.perf_counter() - began)
        response.headers[HEADER] = name
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> None:
        if not isinstance(exception, ANSWERED):
            ERRORS.labels(_view(request), type(exception).__name__).inc()


def _id_of(request: HttpRequest) -> str:
    given = request.headers.get(HEADER, "") if settings.PROXIES else ""
    return given if _FROM_PROXY.fullmatch(given) else secrets.token_hex(8)


def _view(request: HttpRequest) -> str:
    """The name of the view; “static” for static files, “none” where no view was reached."""
    if request.path_info.startswith(f"/{settings.STATIC_URL.strip('/')}/"):
        return "static"
    match = request.resolver_match
    return (match.view_name if match else "") or "none"
