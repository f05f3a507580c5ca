"""The way of a request to the API: token, limits, idempotency key, route, and every error as a problem.

Requests below /api/ end here. No session, cookie or CSRF token plays a part, so none of that middleware runs for them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import NoReturn, cast

from django.conf import settings
from django.core.handlers.exception import response_for_exception
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from annotations.core.api import routes
from annotations.core.api.answers import answered_once, with_etag
from annotations.core.api.mount import match_of, operation_of
from annotations.core.api.tokens import token_of
from annotations.core.entrance import entering
from annotations.core.requests import UPLOADS
from annotations.core.services import LimitReached
from annotations.projects.services.accounts import client_ip
from annotations.text.names import MAX_ID, whole_number
from deidreview import REQUEST_BYTES
from deidreview.boundary import MalformedRequest, check_form, check_head
from deidreview.limits import count_address, seconds_left, threads_of_process, token_windows
from deidreview.middleware import FORM_BYTES

GetResponse = Callable[[HttpRequest], HttpResponseBase]


class ProgramEntrance(ABC):
    """Middleware that answers requests of programs below an address itself, and passes all others on."""

    below: str
    pages: Collection[str] = ()

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response
        self._threads = threads_of_process(settings.WEB_THREADS)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith(self.below) or request.path_info in self.pages:
            return self._get_response(request)
        try:
            response = self._answer(request)
        except Exception as error:
            if isinstance(error, MalformedRequest):
                error = routes.Problem(error.status, error.code, str(error))
            # Django logs the error of a server, and tells nobody else.
            response = self._told(error) or response_for_exception(request, error)
        response = self._finished(request, response)
        if isinstance(response, HttpResponse):
            # The web server would otherwise send chunks and could not keep the connection of all clients.
            response.headers.setdefault("Content-Length", str(len(response.content)))
        return response

    @abstractmethod
    def _answer(self, request: HttpRequest) -> HttpResponseBase:
        """Return the response of the route. Raises any error."""

    @abstractmethod
    def _told(self, error: Exception) -> HttpResponse | None:
        """Return the response that tells the program of an error; None for errors of the server."""

    @abstractmethod
    def _finished(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Return the response in the form that programs expect, also of an error that Django answered."""


class Api(ProgramEntrance):
    """The API. No token is needed for the pages about it."""

    below = "/api/"
    pages = ("/api/docs", "/api/openapi.json")

    def _told(self, error: Exception) -> HttpResponse | None:
        problem = routes.problem_of(error)
        return routes.answer(problem) if problem else None

    def _finished(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        return with_etag(request, routes.as_problem(response))

    def _answer(self, request: HttpRequest) -> HttpResponseBase:
        check_head(request)
        signed = _with_token(request)
        who = signed.user.pk
        count_request(token_windows.count(signed.token.pk), settings.REQUESTS_PER_WINDOW)
        if not self._threads.take(who):
            raise LimitReached(_("You sent too many requests at once."), code="requests", retry_after=1)
        give_back = partial(self._threads.give_back, who)
        try:
            response = _route(signed)
        except BaseException:
            give_back()
            raise
        if isinstance(response, StreamingHttpResponse):
            # A stream needs its thread until its end.
            response._resource_closers.append(give_back)  # type: ignore[attr-defined]  # as Django closes files
        else:
            give_back()
        return response


def _with_token(request: HttpRequest) -> routes.ApiRequest:
    """Return the request with its token and person. Raises Problem (401) without a valid token."""
    token = token_of(bearer(request.headers))
    if token is None:
        refuse_stranger(
            request, _("Send a valid token in the header Authorization: Bearer. Create one on the page “API tokens”.")
        )
    signed = cast(routes.ApiRequest, request)  # Its further attributes follow.
    signed.user = entering(token.user_id, request.path_info) or token.user
    signed.token, signed.entered, signed.patient = token, [], False
    return signed


def bearer(headers: Mapping[str, str]) -> str:
    """The token of the header Authorization, or nothing."""
    kind, _space, secret = headers.get("authorization", "").partition(" ")
    return secret.strip() if kind.lower() == "bearer" else ""


def refuse_stranger(request: HttpRequest, message: str) -> NoReturn:
    """Count the request by its address. Raises Problem (401) with the message, or LimitReached."""
    count_request(count_address(client_ip(request)), settings.ANONYMOUS_PER_WINDOW)
    raise routes.Problem(401, "token", message, headers={"WWW-Authenticate": 'Bearer realm="deidreview"'})


def count_request(requests: int, most: int) -> None:
    """Raise LimitReached where these are more requests than one window allows."""
    if requests > most:
        message = _("At most %(most)s requests in %(seconds)s seconds are allowed. Wait, then send the request again.")
        limits = {"seconds": settings.REQUEST_WINDOW_SECONDS, "most": most}
        raise LimitReached(message % limits, code="requests", retry_after=seconds_left())


def _route(request: routes.ApiRequest) -> HttpResponseBase:
    """Find the route, check the size and the scope before the body is read, and call the route."""
    match = match_of(request.path_info)
    if any(isinstance(value, int) and value > MAX_ID for value in match.kwargs.values()):
        raise Http404("The number is too large for an id.")
    request.resolver_match = match
    routes.require_scope(request, routes.Scope.READ)
    _check_size(request)
    check_form(request)
    operation = operation_of(request) if request.method == "POST" else None
    secret = getattr(operation.view_func, routes.SHOWN_ONCE, None) if operation else None
    return answered_once(request, partial(match.func, request, *match.args, **match.kwargs), secret)


def size_of(request: HttpRequest) -> int:
    """Return the length of the body in bytes. Raises Problem (411) for a body without a length."""
    size = whole_number(request.META.get("CONTENT_LENGTH") or "0")
    if "HTTP_TRANSFER_ENCODING" in request.META or size is None:
        raise routes.Problem(411, "length", _("The request has no length. Send the header Content-Length."))
    return size


def _check_size(request: routes.ApiRequest) -> None:
    """Raise Problem for a body without a length (411) or one that is too large (413).

    Only routes marked with `takes_uploads` take large bodies, from people with the right that the mark names.
    """
    size = size_of(request)
    if size <= REQUEST_BYTES:
        return
    operation = operation_of(request)
    uploads = getattr(operation.view_func, UPLOADS, None) if operation else None
    limit = settings.UPLOAD_MAX_BYTES + FORM_BYTES if uploads else REQUEST_BYTES
    if size > limit:
        raise routes.Problem(
            413, "too-large", _("The request is too large. At most %(bytes)s bytes are allowed.") % {"bytes": limit}
        )
    if uploads is not None and uploads.right is not None and request.resolver_match is not None:
        routes.enter(request, request.resolver_match.kwargs["slug"], uploads.right)
