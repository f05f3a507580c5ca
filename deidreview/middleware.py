"""Headers for every response, the person's time zone, sign-in for every page, and the automatic logoff."""

import re
import time
from collections.abc import Callable
from functools import cache, lru_cache
from threading import Lock
from typing import Any, Final, cast
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from csp.middleware import CSPMiddleware
from csp.utils import build_policy
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user, load_backend, logout
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.middleware import AuthenticationMiddleware, LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.core.handlers.base import BaseHandler
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import render, resolve_url
from django.urls import Resolver404, ResolverMatch, resolve
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.formats import number_format
from django.utils.functional import cached_property
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.module_loading import import_string
from django.utils.translation import ngettext

from annotations.core.access import Can, SecondFactorMissing, enter, lacks_second_factor
from annotations.core.entrance import entering
from annotations.core.requests import UPLOADS, is_json, wants_fragment, wants_json
from annotations.models import User
from annotations.projects.services.providers.signing_in import has_ended
from annotations.projects.services.second_factor import has_second_factor
from annotations.text.names import whole_number
from deidreview import REQUEST_BYTES
from deidreview.limits import uploading
from deidreview.views import second_factor_missing

GetResponse = Callable[[HttpRequest], HttpResponse]
# A session row is written at most this often, so that saving a span needs no second commit.
TOUCH_SECONDS = 60
# Requests that a page makes by itself (progress of a job) have this header. They don't count as activity of the person.
BACKGROUND_HEADER = "X-Background"
# static/js/core/base.js stores the name of the browser's time zone in this cookie.
TIME_ZONE_COOKIE = "deidreview-timezone"


def response_headers(get_response: GetResponse) -> GetResponse:
    """Keep everything that may contain note text out of caches, and switch powerful browser features off."""

    compress = GZipMiddleware(get_response).process_response

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if hasattr(request, "_csp_nonce"):
            # The page contains its files, which are several times as large as the rest. No other page is compressed.
            response = cast(HttpResponse, compress(request, response))
        if not request.path.startswith(settings.STATIC_URL):
            # This overrides the view's header: "private" alone would still let the browser keep a page on disk.
            response.headers["Cache-Control"] = "no-store"
        response.headers.setdefault(
            "Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"
        )
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response

    return middleware


@cache
def _zones() -> frozenset[str]:
    """The names of all zones. A name from outside is compared with them, and never becomes a path of a file."""
    return frozenset(available_timezones())


def time_zone(get_response: GetResponse) -> GetResponse:
    """Show the times of a page in the person's zone; without a cookie that names a zone, in the server's.

    Pages with times are never cached, so they need no Vary.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        name = request.COOKIES.get(TIME_ZONE_COOKIE, "")
        with timezone.override(ZoneInfo(name) if name in _zones() else None):
            return get_response(request)

    return middleware


class ContentSecurityPolicy(CSPMiddleware):
    """django-csp builds the policy for every response; this class builds the usual policy only once."""

    SPECIAL = ("_csp_config", "_csp_update", "_csp_replace", "_csp_exempt")

    @cached_property
    def usual(self) -> str:
        return str(build_policy())

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        # A nonce was used, or a view needs another policy.
        if hasattr(request, "_csp_nonce") or any(name in response.__dict__ for name in self.SPECIAL):
            return super().process_response(request, response)
        response.headers.setdefault("Content-Security-Policy", self.usual)
        return response


def _return_path(request: HttpRequest) -> str:
    """Return the path of the page on screen, to which the person returns after signing in."""
    if not wants_fragment(request):
        return request.get_full_path() if request.method in ("GET", "HEAD") else ""
    url = request.headers.get("HX-Current-URL", "")
    if not url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure()):
        return ""
    return urlsplit(url).path


def ask_to_sign_in(request: HttpRequest) -> HttpResponse:
    """Redirect pages to the sign-in page. Scripts get 401, so that they don't take the sign-in page for a response.

    htmx follows HX-Redirect whatever the status is.
    """
    if wants_json(request):
        return JsonResponse({"error": "signed-out"}, status=401)
    path = _return_path(request)
    login = redirect_to_login(path).url if path else resolve_url(settings.LOGIN_URL)
    if wants_fragment(request):
        return HttpResponse(status=401, headers={"HX-Redirect": login})
    return HttpResponse(status=302, headers={"Location": login})


class Authentication(AuthenticationMiddleware):
    """Reads the person of a session together with the project and the note of the address, where they are a member."""

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        # Every request asks for the person (RequestLimits, idle_logoff), so a lazy object would only cost time.
        # Django's own function keeps what it finds under the same name.
        request.user = vars(request)["_cached_user"] = _entering(request) or get_user(request)


def _entering(request: HttpRequest) -> User | None:
    """Return the person of a session whose password is that of its sign-in. All other cases are left to Django.

    A large body may take minutes to arrive, in which a right can be withdrawn.
    """
    session = request.session
    large = int(request.META.get("CONTENT_LENGTH") or 0) > REQUEST_BYTES
    if large or SESSION_KEY not in session or not _reads_accounts(session.get(BACKEND_SESSION_KEY, "")):
        return None
    person = entering(int(session[SESSION_KEY]), request.path_info)
    if person is None or not person.is_active:
        return None
    same = constant_time_compare(session.get(HASH_SESSION_KEY, ""), _session_hash(person.password, settings.SECRET_KEY))
    return person if same else None


@lru_cache(maxsize=512)
def _session_hash(password: str, _secret_key: str) -> str:
    """What sessions of this password hold, which takes longer to compute than to read."""
    return User(password=password).get_session_auth_hash()


@cache
def _reads_accounts(backend: str) -> bool:
    """Whether the backend of a session takes every active account, as Django's own backend does."""
    return backend in settings.AUTHENTICATION_BACKENDS and (
        type(load_backend(backend)).get_user is ModelBackend.get_user
    )


class SignInRequired(LoginRequiredMiddleware):
    """Requires sign-in for every view that doesn't say otherwise; scripts get 401 instead of a redirect."""

    def handle_no_permission(self, request: HttpRequest, view_func: Any) -> HttpResponse:  # type: ignore[override]  # narrower
        return ask_to_sign_in(request)


def is_idle(request: HttpRequest) -> bool:
    """Say whether the session's owner was inactive for IDLE_MINUTES."""
    now = int(time.time())
    return now - int(request.session.get("seen", now)) > settings.IDLE_MINUTES * 60


def idle_logoff(get_response: GetResponse) -> GetResponse:
    """Sign people out after IDLE_MINUTES without activity (HIPAA, 45 CFR 164.312(a)(2)(iii): automatic logoff).

    The logoff is never late, and up to TOUCH_SECONDS early.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        if not request.user.is_authenticated:
            return get_response(request)
        if is_idle(request):
            logout(request)
            if not wants_json(request):
                messages.info(request, _signed_out(settings.IDLE_MINUTES))
            return ask_to_sign_in(request)
        now = int(time.time())
        seen = int(request.session.get("seen", now))
        first = "seen" not in request.session
        if first or (now - seen >= TOUCH_SECONDS and BACKGROUND_HEADER not in request.headers):
            request.session["seen"] = now
        return get_response(request)

    return middleware


class SecondFactor:
    """Ends sessions that a provider ended, and says of each session whether it showed a second factor.

    Where the whole instance needs a second factor, no page opens before, except those on which to show one.
    """

    FREE = ("account_", "mfa_")

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated:
            if has_ended(request):
                logout(request)
                return ask_to_sign_in(request)
            request.user.shown_second_factor = has_second_factor(request, request.user)
        return self._get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        if not settings.SECOND_FACTOR or not request.user.is_authenticated:
            return None
        name = (request.resolver_match and request.resolver_match.url_name) or ""
        if not getattr(view, "login_required", True) or name.startswith(self.FREE):
            return None
        return second_factor_missing(request, SecondFactorMissing()) if lacks_second_factor(request.user) else None


def _signed_out(minutes: int) -> str:
    return ngettext(
        "You were signed out after %(count)d minute without activity. Your saved work is kept.",
        "You were signed out after %(count)d minutes without activity. Your saved work is kept.",
        minutes,
    ) % {"count": minutes}


# The limit on request bodies, checked before a byte of the body is read.
#
# Django reads the body to find the CSRF token and has no limit on files, so this check comes first. A large body
# is accepted only at a URL whose view is marked with `takes_uploads`, and only from a signed-in person who has
# the right that the mark names, if it names one.


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
    size = whole_number(given)
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
    slug, right = found
    if right is not None:
        enter(user, slug, right)
    return None


def _upload(request: HttpRequest) -> tuple[str, Can | None] | None:
    """The project that receives files at the URL, and the right that this takes; "" and None at a URL of no project.

    None if the URL takes none.
    """
    try:
        match = resolve(request.path_info)
    except Resolver404:
        return None
    uploads = getattr(match.func, UPLOADS, None)
    return None if uploads is None else (match.kwargs.get("slug", ""), uploads.right)


def _refused(request: HttpRequest, status: int, most: int) -> HttpResponse:
    """Answer with a page or JSON that names the limit."""
    limit = most / MEGABYTE
    if wants_json(request):
        return JsonResponse({"error": "too-large", "limit_mb": limit}, status=status)
    shown = number_format(limit, decimal_pos=0 if limit.is_integer() else 1)
    context = {"limit": shown, "status": status, "upload": most != REQUEST_BYTES}
    return render(request, "errors/413.html", context, status=status)


# The short way of requests that save a person's work on a note: all checks, and nothing that only other requests need.


# Messages for the next page, steps of signing in, and htmx; static files and programs have addresses of their own.
NOT_FOR_WORK: Final = (
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "deidreview.api.Api",
    "deidreview.scim.Scim",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
)
# Views that leave a message, such as those that finish a review, are not among them.
_WORK: Final = re.compile(
    r"/projects/[-\w]+/(?:notes/\d+/(?:changes|start|submit|reopen|flag|comments)|(?:review/\d+|adjudicate)/\d+/decide)"
)


def saves_work(request: HttpRequest) -> bool:
    """Whether a script of a working screen saves something by this request."""
    return request.method == "POST" and _WORK.fullmatch(request.path_info) is not None and is_json(request)


# django-stubs don't describe the inside of a handler.
Handler: Any = BaseHandler


@lru_cache(maxsize=1024)
def _match(path: str, urlconf: str) -> ResolverMatch:
    return resolve(path, urlconf)


class ShortWay(Handler):  # type: ignore[misc]  # its class has no types
    """A handler with the middleware of the settings that is needed to save work."""

    def resolve_request(self, request: HttpRequest) -> ResolverMatch:
        """Find the view. A person saves many spans at one address."""
        request.resolver_match = _match(request.path_info, settings.ROOT_URLCONF)
        return request.resolver_match

    def load_middleware(self, is_async: bool = False) -> None:
        views, errors = list[Any](), list[Any]()
        chain = convert_exception_to_response(self._get_response)
        for path in reversed([each for each in settings.MIDDLEWARE if each not in NOT_FOR_WORK]):
            middleware = import_string(path)(chain)
            if hasattr(middleware, "process_view"):
                views.insert(0, middleware.process_view)
            if hasattr(middleware, "process_exception"):
                errors.append(middleware.process_exception)
            chain = convert_exception_to_response(middleware)
        self._view_middleware, self._exception_middleware = views, errors
        self._template_response_middleware = list[Any]()
        self._middleware_chain = chain


class TwoWays(Handler):  # type: ignore[misc]  # its class has no types
    """Mixin of a handler: requests that save work take the short way, all others pass the whole middleware."""

    def load_middleware(self, is_async: bool = False) -> None:
        self._short_way = ShortWay()
        self._short_way.load_middleware()
        super().load_middleware(is_async)

    def get_response(self, request: HttpRequest) -> HttpResponse:
        way: Any = self._short_way if saves_work(request) else super()
        response: HttpResponse = way.get_response(request)
        return response
