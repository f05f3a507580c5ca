"""The requests of the API: who sends them, and what their token allows. Routes enter projects with `enter`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from annotations.core import access
from annotations.core.access import Access, Can
from annotations.core.api.problems import Problem
from annotations.models import ApiToken, User

Scope = ApiToken.Scope
View = TypeVar("View", bound=Callable[..., Any])
SHOWN_ONCE: Final = "shown_once"
_ORDER: Final = list(Scope)
_READING: Final = ("GET", "HEAD")
# Changes with these rights need a token that manages.
_MANAGING: Final = frozenset({Can.MANAGE, Can.ARCHIVE, Can.RELEASE})


class ApiRequest(HttpRequest):
    """A request with a valid token: deidreview.api answers all others.

    `entered`: the short names of projects that `enter` returned, with the rights that it checked. `patient`: a command
    waits for the answer, so that it may take long.
    """

    user: User
    token: ApiToken
    entered: list[tuple[str, Can]]
    patient: bool


@dataclass(frozen=True)
class ShownOnce:
    """A secret in a route's answer; see `shows_once`."""

    field: str
    again: Promise


def shows_once(field: str, again: Promise) -> Callable[[View], View]:
    """Mark a route whose answer holds a secret in this field. `again` says how to get a new one.

    An answer with the secret is not stored for its Idempotency-Key: a repeated request gets 409 with this sentence.
    """

    def mark(view: View) -> View:
        setattr(view, SHOWN_ONCE, ShownOnce(field, again))
        return view

    return mark


def enter(request: ApiRequest, slug: str, right: Can = Can.SEE_PROJECT) -> Access:
    """Return the project `slug` for the token's person, as `annotations.core.access.enter` does for pages.

    Raises Http404 where the token is for another project, and Problem (403) where its scope does not allow this.
    """
    require_scope(request, Scope.MANAGE if right in _MANAGING and request.method not in _READING else Scope.READ)
    found = access.enter(request.user, slug, right, only=request.token.project_id)
    request.entered.append((slug, right))
    return found


def require_scope(request: ApiRequest, least: Scope) -> None:
    """Raise Problem (403) unless the token's scope is `least` or more. Whatever changes anything needs `write`."""
    if request.method not in _READING:
        least = max(least, Scope.WRITE, key=_ORDER.index)
    if _ORDER.index(Scope(request.token.scope)) < _ORDER.index(least):
        message = _("This request needs a token with the scope “%(scope)s”. Create one on the page “API tokens”.")
        raise Problem(403, "scope", message % {"scope": least.value})


def require_any_project(request: ApiRequest) -> None:
    """Raise Problem (403) where the token is for a single project."""
    if request.token.project_id is not None:
        raise Problem(403, "scope", _("This request needs a token that is not bound to one project."))
