"""The type of requests in views, and parsing of their values."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, TypeVar
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from django_htmx.middleware import HtmxDetails

from annotations.core.access import Access, Can, enter
from annotations.core.changes import ChangeRefused, not_whole
from annotations.core.services import ServiceError
from annotations.models import User
from annotations.text.names import MAX_ID, MAX_OFFSET, is_whole, whole_number
from annotations.text.spans import LabeledBounds

JSON = "application/json"
UPLOADS = "takes_uploads"
Choice = TypeVar("Choice")
Row = TypeVar("Row")
View = TypeVar("View", bound=Callable[..., Any])
FORM: Final = ("GET", "HEAD", "POST")
"""The methods of a page with a form."""


@dataclass(frozen=True)
class Uploads:
    """Who may send files to a view; see `takes_uploads`."""

    right: Can | None


class Request(HttpRequest):
    """A request of a signed-in user: LoginRequiredMiddleware answers all others.

    `json` is the JSON object in the body, parsed and checked by deidreview.boundary.
    """

    user: User
    htmx: HtmxDetails
    json: dict[str, Any]
    access: Access


def enter_page(request: Request, slug: str, right: Can = Can.SEE_PROJECT) -> Access:
    """Enter a project as `annotations.core.access.enter` does. Its templates get the access as `access`."""
    request.access = enter(request.user, slug, right)
    return request.access


def entered_project(request: HttpRequest) -> dict[str, Access | None]:
    """Give the access to the project that the view has entered to its templates."""
    return {"access": getattr(request, "access", None)}


def in_project(
    right: Can, *methods: str
) -> Callable[[Callable[..., HttpResponseBase]], Callable[..., HttpResponseBase]]:
    """Decorate a view of a project: it gets the person's access in place of the project's short name.

    `methods` are those that it answers, by default GET and HEAD. Raises what `enter_page` raises.
    """

    def decorated(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @require_http_methods(methods or ("GET", "HEAD"))
        @wraps(view)
        def wrapped(request: Request, slug: str, **kwargs: Any) -> HttpResponseBase:
            return view(request, enter_page(request, slug, right), **kwargs)

        return wrapped

    return decorated


def body_of(request: Request) -> dict[str, Any]:
    """Return the JSON object that the page's script sent. Raises Refused (`malformed`), as the functions below do."""
    if request.content_type != JSON:
        raise ChangeRefused("malformed", _("The request must be JSON (application/json)."), status=415)
    return request.json


def render_part(
    request: "Request", page: str, part: str, context: Mapping[str, Any], status: int = 200
) -> HttpResponse:
    """Render a page, or for htmx the part of it that changes."""
    response = render(request, part if request.htmx else page, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def wants_json(request: HttpRequest) -> bool:
    """Whether a script asks, which takes no page for an answer."""
    return request.headers.get("Accept", "").startswith(JSON) or request.content_type == JSON


def wants_fragment(request: HttpRequest) -> bool:
    """Whether htmx asks."""
    return request.headers.get("HX-Request") == "true"


def is_json(request: HttpRequest) -> bool:
    """Whether the page's script sent the request. Otherwise a form did, without scripts."""
    return request.content_type == JSON


def whole_of(value: object, field: str, most: int = MAX_ID) -> int:
    """Return a whole number from JSON, from 0 to `most`."""
    if not is_whole(value, most):
        raise not_whole(field)
    return value


def bounds_of(values: Sequence[object]) -> LabeledBounds:
    """Return a span's start, end and label id, from JSON values in this order."""
    start, end, label = values
    return whole_of(start, "start", MAX_OFFSET), whole_of(end, "end", MAX_OFFSET), whole_of(label, "label")


def uuid_of(value: object) -> UUID | None:
    """Parse a UUID from a script or a form; None where the value is not a UUID."""
    try:
        return UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None


def posted(request: HttpRequest) -> QueryDict | None:
    """What a form sent; None if the page is only asked for."""
    return request.POST if request.method == "POST" else None


def number(data: QueryDict, name: str, most: int = MAX_ID) -> int | None:
    """Return a whole number from a query or form, from 0 to `most`; None where the value is not one."""
    return whole_number(data.get(name, ""), most)


def choice_of(data: Mapping[str, Any], name: str, choices: Iterable[Choice], otherwise: Choice) -> Choice:
    """Return the choice that a query or form names, else the default."""
    return next((choice for choice in choices if choice == data.get(name)), otherwise)


def numbers(values: Iterable[str], most: int = MAX_ID) -> list[int]:
    """Return those of the values that are whole numbers from 0 to `most`."""
    return [found for value in values if (found := whole_number(value, most)) is not None]


def takes_uploads(right: Can | None) -> Callable[[View], View]:
    """Mark a view as accepting file uploads from people with this right in the project `slug` of its URL.

    None stands for every signed-in person, at a URL of no project.

    All other views accept only small bodies. deidreview.middleware checks this before the body is read.
    """

    def mark(view: View) -> View:
        setattr(view, UPLOADS, Uploads(right))
        return view

    return mark


def ticked(request: Request) -> list[int]:
    """Return the ids of the ticked notes of a list."""
    return [pk for each in request.POST.getlist("notes") if (pk := whole_number(each)) is not None]


def paged(
    request: HttpRequest, rows: "Sequence[Row] | QuerySet[Any, Row]", size: int, name: str = "page"
) -> "Page[Row]":
    """Return the page of a list whose number is the query parameter `name`; the first page without it."""
    return Paginator(rows, size).get_page(number(request.GET, name))


def one_of(request: HttpRequest, name: str, choices: Sequence[str]) -> str:
    """Return the choice in the query parameter `name`, by default the first. Raises Http404 for any other value."""
    found = request.GET.get(name, choices[0])
    if found not in choices:
        message = _("The parameter “%(name)s” must be one of: %(choices)s.")
        raise Http404(message % {"name": name, "choices": ", ".join(choices)})
    return found


@contextmanager
def error_as_message(request: HttpRequest) -> Iterator[None]:
    """Show a ServiceError of the block as a message, and go on after the block."""
    try:
        yield
    except ServiceError as error:
        messages.error(request, str(error))
