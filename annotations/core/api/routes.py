"""Routes of the API that name the right in a project that they take."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

from ninja import Router

from annotations.core.access import Can, note_for
from annotations.core.api.requests import ApiRequest, enter
from annotations.models import Document

View = Callable[..., Any]
Decorator = Callable[[View], View]
Note = Annotated[Document, note_for]
"""A note that the address of a route names, and that the person may open."""


def _entering(view: View, right: Can) -> View:
    """A view that takes the short name of a project, and enters it with this right before the route."""
    signature, finders, taken = inspect.signature(view), {}, []
    for one in signature.parameters.values():
        found = getattr(one.annotation, "__metadata__", ())
        if one.name == "access":
            one = one.replace(name="slug", annotation=str)
        elif found and inspect.isfunction(found[0]):
            finders[one.name] = found[0]
            one = one.replace(annotation=list(inspect.signature(found[0]).parameters.values())[1].annotation)
        taken.append(one)

    @wraps(view)
    def wrapped(request: ApiRequest, *, slug: str, **values: Any) -> Any:
        access = enter(request, slug, right)
        return view(
            request, access=access, **values | {key: find(access, values[key]) for key, find in finders.items()}
        )

    wrapped.__signature__ = signature.replace(parameters=taken)  # type: ignore[attr-defined]  # ninja reads it
    return wrapped


def _method(name: str) -> Callable[..., Decorator]:
    def route(router: Router, path: str, right: Can | None = None, **options: Any) -> Decorator:
        register = router.api_operation([name], path, **options)
        return register if right is None else lambda view: register(_entering(view, right))

    return route


class ProjectRouter(Router):
    """A router. A route with a right gets the person's `access` to the project of its address, in place of `slug`.

    A parameter `Annotated[Row, find]` gets what `find(access, …)` makes of the number in the address.
    """

    get, post, patch, delete = map(_method, ("GET", "POST", "PATCH", "DELETE"))  # type: ignore[assignment]  # narrower
