"""Routes of the API that name the right in a project that they take."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from ninja import Router

from annotations.core.access import Can
from annotations.core.api.requests import ApiRequest, enter

View = Callable[..., Any]
Decorator = Callable[[View], View]


def _entering(view: View, right: Can) -> View:
    """A view that takes the short name of a project, and enters it with this right before the route."""

    @wraps(view)
    def wrapped(request: ApiRequest, *, slug: str, **values: Any) -> Any:
        return view(request, access=enter(request, slug, right), **values)

    signature = inspect.signature(view)
    taken = (
        one.replace(name="slug", annotation=str) if one.name == "access" else one
        for one in signature.parameters.values()
    )
    wrapped.__signature__ = signature.replace(parameters=list(taken))  # type: ignore[attr-defined]  # ninja reads it
    return wrapped


def _method(name: str) -> Callable[..., Decorator]:
    def route(router: Router, path: str, right: Can | None = None, **options: Any) -> Decorator:
        register = router.api_operation([name], path, **options)
        return register if right is None else lambda view: register(_entering(view, right))

    return route


class ProjectRouter(Router):
    """A router. A route with a right gets the person's `access` to the project of its address, in place of `slug`."""

    get, post, patch, delete = map(_method, ("GET", "POST", "PATCH", "DELETE"))  # type: ignore[assignment]  # narrower
