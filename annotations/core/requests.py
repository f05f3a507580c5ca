"""What every view here can rely on, and how it reads what was sent."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _
from django_htmx.middleware import HtmxDetails

from annotations.core.changes import Refused
from annotations.domain.numbers import MAX_ID, MAX_OFFSET, is_whole, whole
from annotations.models import User

JSON = "application/json"
UPLOADS = "takes_uploads"
View = TypeVar("View", bound=Callable[..., Any])


class Request(HttpRequest):
    """A request of somebody who is signed in: LoginRequiredMiddleware answers all others.

    `json` is the object that a request with JSON brought, read and checked by deidreview.boundary.
    """

    user: User
    htmx: HtmxDetails
    json: dict[str, Any]


def body_of(request: Request) -> dict[str, Any]:
    """The JSON object that the page's script sent. Raises Refused (`malformed`), as all of these do."""
    if request.content_type != JSON:
        raise Refused("malformed", _("The request must be JSON (application/json)."), status=415)
    return request.json


def is_json(request: HttpRequest) -> bool:
    """Whether the page's script sent it; else it is a form, sent without scripts."""
    return request.content_type == JSON


def malformed(field: str, takes: str) -> Refused:
    return Refused("malformed", f"The field {field!r} must be {takes}.")


def whole_of(value: object, field: str, most: int = MAX_ID) -> int:
    """A whole number of JSON from 0 to `most`."""
    if not is_whole(value, most):
        raise malformed(field, "a whole number, 0 or more")
    return value


def place_of(values: Sequence[object]) -> tuple[int, int, int]:
    """A span's start, end and label id."""
    start, end, label = values
    return whole_of(start, "start", MAX_OFFSET), whole_of(end, "end", MAX_OFFSET), whole_of(label, "label")


def uuid_of(value: object) -> UUID | None:
    """A UUID as a script or a form writes it; None where it is none."""
    try:
        return UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None


def change_id_of(data: Mapping[str, Any]) -> UUID:
    found = uuid_of(data.get("change_id"))
    if found is None:
        raise malformed("change_id", "a UUID")
    return found


def number(data: QueryDict, name: str, most: int = MAX_ID) -> int | None:
    """A whole number from a query or form that a column can hold, 64 bits unless told; None where it is none."""
    return whole(data.get(name, ""), most)


def numbers(words: Iterable[str], most: int = MAX_ID) -> list[int]:
    """Those of the words that are whole numbers which a column can hold."""
    return [found for word in words if (found := whole(word, most)) is not None]


def takes_uploads(view: View) -> View:
    """Mark a view as one that files are sent to. All others take only what a form needs (deidreview.uploads)."""
    setattr(view, UPLOADS, True)
    return view
