"""The boundary: every request is looked at here before a view sees it.

Refused are NUL and half a surrogate pair, which no database takes, wherever they stand: in the address, the query, a
header, a field, the name of a file, JSON. So are numbers in an address that no column can hold, and text that is not
UTF-8 by its own word. JSON is read here, once and strictly, and only from the person whose page sends it.
"""

from collections.abc import Callable, Iterator
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.request import UnreadablePostError
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from annotations.domain.names import unkeepable
from annotations.domain.numbers import MAX_ID
from annotations.domain.strict_json import JsonError, read_object
from deidreview.answers import wants_fragment, wants_json

GetResponse = Callable[[HttpRequest], HttpResponse]
JSON = "application/json"
UTF_8 = ("", "utf-8", "utf8")
SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
# Django's own cookie for messages has no setting for its name.
COOKIES = (settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME, "messages")


class Malformed(Exception):
    """Why a request is refused, as a sentence, and with which status."""

    def __init__(self, message: str, *, status: int = 400, code: str = "malformed") -> None:
        super().__init__(message)
        self.status, self.code = status, code


class Boundary:
    """Middleware; the first that looks at what was sent."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            _check_head(request)
        except Malformed as refused:
            return _answer(request, refused)
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: dict[str, Any]) -> HttpResponse | None:
        if any(isinstance(value, int) and value > MAX_ID for value in kwargs.values()):
            raise Http404("no such number")
        try:
            _check_form(request)
        except Malformed as refused:
            return _answer(request, refused)
        return None


class JsonBody:
    """Middleware that reads JSON, once it is known who sends it and that the form token is right."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: dict[str, Any]) -> HttpResponse | None:
        if request.method in SAFE or request.content_type != JSON or not request.user.is_authenticated:
            return None
        try:
            request.json = _json_of(request)  # type: ignore[attr-defined]  # annotations.core.requests.Request has it
        except Malformed as refused:
            return _answer(request, refused)
        return None


# ── What comes before the body ───────────────────────────────────────────────────────────────────────────────────────


def _check_head(request: HttpRequest) -> None:
    if (request.content_params or {}).get("charset", "").lower() not in UTF_8:
        raise Malformed(_("The request is not in UTF-8. Send it in UTF-8."), status=415)
    for name in COOKIES:
        # Left out and not refused: nobody could send a request without it again.
        if unkeepable(request.COOKIES.get(name, "")):
            del request.COOKIES[name]
    headers = (value for name, value in request.META.items() if name.startswith("HTTP_") and name != "HTTP_COOKIE")
    if unkeepable(request.path_info) or any(map(unkeepable, headers)):
        raise Malformed(_("The address or a header holds a character that can't be kept."))
    _check_texts(texts for field in request.GET.lists() for texts in _texts(field))


def _texts(field: tuple[str, list[Any]]) -> Iterator[str]:
    name, values = field
    yield name
    yield from values


def _check_texts(texts: Iterator[str]) -> None:
    if any(map(unkeepable, texts)):
        raise Malformed(
            _("A field holds a character that can't be kept (NUL or half a surrogate pair). Take it out and try again.")
        )


# ── The body ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _check_form(request: HttpRequest) -> None:
    if request.method in SAFE or request.content_type == JSON:
        return
    try:
        fields, files = request.POST, request.FILES
    except (UnreadablePostError, LookupError):
        # The connection broke; or a part names an encoding that Python knows as something else.
        raise Malformed(_("The form could not be read. Send it again.")) from None
    _check_texts(text for field in fields.lists() for text in _texts(field))
    _check_texts(text for name, sent in files.lists() for text in (name, *(str(file.name) for file in sent)))


def _json_of(request: HttpRequest) -> dict[str, Any]:
    try:
        found = read_object(request.body)
    except JsonError as error:
        raise Malformed(str(error)) from None
    except RequestDataTooBig:
        raise Malformed(_("The request is too large."), status=413, code="too-large") from None
    except UnreadablePostError:
        raise Malformed(_("The request could not be read. Send it again.")) from None
    if "person" not in found:
        raise Malformed(_("The field 'person' is missing: the id of whose page this is."))
    person = found["person"]
    # A page of somebody who is no longer signed in must not save, or decide, as somebody else.
    if type(person) is not int or person != request.user.pk:
        raise Malformed(
            _("Somebody else is signed in now in this browser. Nothing was saved. Sign in as yourself to save."),
            status=409,
            code="person",
        )
    return found


def _answer(request: HttpRequest, refused: Malformed) -> HttpResponse:
    if wants_json(request):
        return JsonResponse({"error": refused.code, "message": str(refused)}, status=refused.status)
    if wants_fragment(request):
        # Plain text is what base.js shows above the page as it is.
        return HttpResponse(str(refused), status=refused.status, content_type="text/plain; charset=utf-8")
    page = render_to_string("errors/malformed.html", {"told": str(refused), "status": refused.status})
    return HttpResponse(page, status=refused.status)
