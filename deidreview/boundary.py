"""The boundary: every request is checked here before a view gets it.

Refused are NUL and unpaired surrogates, which no database accepts, in the URL, the query, a header, a field, a file
name or JSON. Also refused are numbers in a URL that are too large for a column, and text that declares another encoding
than UTF-8. JSON is read here, once and strictly, and only from the person whose page sends it.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from django.conf import settings
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import TO_FIELD_VAR
from django.contrib.admin.views.main import SEARCH_VAR
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _

from annotations.formats.files.json_files import JsonError, read_object
from annotations.text.names import MAX_ID, unkeepable
from deidreview.views import refusal

GetResponse = Callable[[HttpRequest], HttpResponse]
JSON = "application/json"
UTF_8 = ("", "utf-8", "utf8")
SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
# In the admin: a number with this many digits fits every column and every part of a date.
MAX_DIGITS = 9
MAX_SEARCH = 200
# Django's own cookie for messages has no setting for its name.
COOKIES = (settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME, "messages")


class MalformedRequest(Exception):
    """The reason for refusing a request, as a sentence, with the status."""

    def __init__(self, message: str, *, status: int = 400, code: str = "malformed") -> None:
        super().__init__(message)
        self.status, self.code = status, code


class Boundary:
    """Middleware that checks the URL, the headers and form fields."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            check_head(request)
        except MalformedRequest as refused:
            return _answer(request, refused)
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: dict[str, Any]) -> HttpResponse | None:
        if any(isinstance(value, int) and value > MAX_ID for value in kwargs.values()):
            raise Http404("The number is too large for an id.")
        try:
            check_form(request)
            if request.resolver_match is not None and request.resolver_match.app_name == "admin":
                _check_admin(request)
        except MalformedRequest as refused:
            return _answer(request, refused)
        return None


class JsonBody(MiddlewareMixin):
    """Middleware that reads JSON, after the sender and the CSRF token were checked."""

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: dict[str, Any]) -> HttpResponse | None:
        if request.method in SAFE or request.content_type != JSON or not request.user.is_authenticated:
            return None
        try:
            request.json = _json_of(request)  # type: ignore[attr-defined]  # annotations.core.requests.Request has it
        except MalformedRequest as refused:
            return _answer(request, refused)
        return None


# ── The head ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def check_head(request: HttpRequest) -> None:
    """Check the URL, the query and the headers. Raises Malformed."""
    if (request.content_params or {}).get("charset", "").lower() not in UTF_8:
        raise MalformedRequest(_("The request is not in UTF-8. Send it in UTF-8."), status=415)
    for name in COOKIES:
        # The cookie is ignored: if it were refused, this browser could never send a valid request again.
        if unkeepable(request.COOKIES.get(name, "")):
            del request.COOKIES[name]
    headers = [value for name, value in request.META.items() if name.startswith("HTTP_") and name != "HTTP_COOKIE"]
    if unkeepable("\n".join([request.path_info, *headers])):
        raise MalformedRequest(_("The address or a header contains a character that can't be stored."))
    _check_texts(texts for field in request.GET.lists() for texts in _texts(field))


def _texts(field: tuple[str, list[Any]]) -> Iterator[str]:
    name, values = field
    yield name
    yield from values


def _check_texts(texts: Iterator[str]) -> None:
    if any(map(unkeepable, texts)):
        message = _(
            "A field contains a character that can't be stored (NUL or an unpaired surrogate). Remove it and try again."
        )
        raise MalformedRequest(message)


# ── The admin ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _check_admin(request: HttpRequest) -> None:
    """Refuse values that Django's admin would pass on unchecked: numbers, search words, names of fields."""
    for name, values in request.GET.lists():
        for value in map(str, values):
            if name == SEARCH_VAR:
                if len(value) > MAX_SEARCH:
                    raise MalformedRequest(_("The search can have at most %(most)s characters.") % {"most": MAX_SEARCH})
            elif any(len(digits) > MAX_DIGITS for digits in re.findall(r"\d+", value)):
                raise MalformedRequest(
                    _("A number in the address can have at most %(most)s digits.") % {"most": MAX_DIGITS}
                )
    chosen = request.POST.getlist(ACTION_CHECKBOX_NAME)
    if not all(one.isascii() and one.isdecimal() and len(one) <= MAX_DIGITS for one in chosen):
        raise MalformedRequest(_("The selection contains an item that is not in the list. Reload the page."))
    if "" in (*request.GET.getlist(TO_FIELD_VAR), *request.POST.getlist(TO_FIELD_VAR)):
        raise MalformedRequest(_("The address does not name a field. Open the page from its list."))


# ── The body ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def check_form(request: HttpRequest) -> None:
    """Check the fields and names of files of a form. Raises Malformed."""
    if request.method in SAFE or request.content_type == JSON:
        return
    try:
        fields, files = request.POST, request.FILES
    except (UnreadablePostError, LookupError):
        # The connection broke, or a part names an encoding that Python can't decode text with.
        raise MalformedRequest(_("The form could not be read. Send the form again.")) from None
    _check_texts(text for field in fields.lists() for text in _texts(field))
    _check_texts(text for name, sent in files.lists() for text in (name, *(str(file.name) for file in sent)))


def _json_of(request: HttpRequest) -> dict[str, Any]:
    try:
        found = read_object(request.body)
    except JsonError as error:
        raise MalformedRequest(str(error)) from None
    except RequestDataTooBig:
        raise MalformedRequest(_("The request is too large."), status=413, code="too-large") from None
    except UnreadablePostError:
        raise MalformedRequest(_("The request could not be read. Send the request again.")) from None
    if "person" not in found:
        raise MalformedRequest(_("The field “person” is missing. Enter the ID of the signed-in person."))
    person = found["person"]
    # A page of a person who is no longer signed in must not save as the person who is.
    if type(person) is not int or person != request.user.pk:
        message = _("Another person is signed in on this browser. Nothing was saved. Sign in as yourself to save.")
        raise MalformedRequest(message, status=409, code="person")
    return found


def _answer(request: HttpRequest, refused: MalformedRequest) -> HttpResponse:
    return refusal(request, refused.status, refused.code, str(refused), "errors/malformed.html")
