"""What every view here can rely on."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.http import HttpRequest, QueryDict
from django_htmx.middleware import HtmxDetails

from annotations.models import User

MAX_ID = 2**63 - 1
UPLOADS = "takes_uploads"
View = TypeVar("View", bound=Callable[..., Any])


class Request(HttpRequest):
    """A request of somebody who is signed in: LoginRequiredMiddleware answers all others."""

    user: User
    htmx: HtmxDetails


def number(data: QueryDict, name: str) -> int | None:
    """A whole number from a query or form that a database can take as an id; None where it is none."""
    value = data.get(name, "")
    if not (value.isascii() and value.isdecimal() and len(value) < 20):
        return None
    found = int(value)
    return found if found <= MAX_ID else None


def takes_uploads(view: View) -> View:
    """Mark a view as one that files are sent to. All others take only what a form needs (deidreview.uploads)."""
    setattr(view, UPLOADS, True)
    return view
