"""The API as a whole: the routers of all features, how bodies are read, and the description (OpenAPI)."""

import pkgutil
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from http import HTTPStatus
from importlib import import_module
from typing import Any, Final

from django.apps import apps
from django.http import HttpRequest, HttpResponse
from django.urls import ResolverMatch, URLPattern, URLResolver, include, path
from django.urls.resolvers import RegexPattern
from django.utils.module_loading import module_has_submodule
from django.utils.translation import gettext as _
from ninja import NinjaAPI, Router
from ninja.operation import Operation, PathView
from ninja.parser import Parser
from ninja.security import HttpBearer

from annotations.core.api.paging import NDJSON
from annotations.core.api.routes import MEDIA_TYPE, SHOWN_ONCE, ApiRequest, Problem, answer, problem_of
from annotations.formats.files.json_files import JsonError, read_object
from annotations.models import ApiToken

# What the description of the API (OpenAPI) says about every route: problems, headers and NDJSON.


_ALWAYS: Final = (400, 401, 403, 404, 405, 409, 413, 422, 429, 500, 503)
_CHANGES: Final = (411, 412, 415, 428)
_PROBLEM: Final = {
    "title": "Problem",
    "type": "object",
    "description": "Problem details (RFC 9457).",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "The same word for the same problem, for programs."},
        "detail": {"type": "string", "description": "What is wrong and how to fix it, for people."},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"field": {"type": "string"}, "reason": {"type": "string"}},
                "required": ["field", "reason"],
            },
        },
        "current": {"type": "object", "description": "Of a conflict: version and state of the annotation set."},
    },
    "required": ["type", "title", "status", "code", "detail"],
}
_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    "description": "The same key with the same request gets the same answer for 24 hours, without a second effect.",
}
_KEY_ONCE: Final = _KEY | {
    "description": "The same key with the same request has no second effect for 24 hours. An answer with a secret is "
    "not stored: the second request gets 409 with the code `shown-once`, which says how to get a new secret."
}


def sends(*types: str) -> dict[str, Any]:
    """Return `openapi_extra` of a route that answers with a file of one of these media types."""
    json, binary = {"type": "object"}, {"type": "string", "format": "binary"}
    content = {kind: {"schema": json if kind == "application/json" else binary} for kind in types}
    return {"responses": {200: {"description": "The file.", "content": content}}}


def described(schema: Any, secret: Collection[str] = ()) -> dict[str, Any]:
    """Return the schema with problems, idempotency keys and NDJSON at every operation.

    `secret` are the ids of the operations whose answers hold secrets that are shown once.
    """
    found: dict[str, Any] = dict(schema)
    found.setdefault("components", {}).setdefault("schemas", {})["Problem"] = _PROBLEM
    for address in found["paths"].values():
        for method, operation in address.items():
            _describe(method, operation, _KEY_ONCE if operation["operationId"] in secret else _KEY)
    return found


def _describe(method: str, operation: dict[str, Any], key: dict[str, Any]) -> None:
    _summarize(operation)
    responses = operation["responses"]
    for status in (*_ALWAYS, *(() if method == "get" else _CHANGES)):
        responses[status] = {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
    if method == "get":
        responses[304] = {"description": "Not Modified: the client has this answer (If-None-Match)."}
        _offer_lines(responses)
    if method == "post":
        operation.setdefault("parameters", []).append(key)


def _summarize(operation: dict[str, Any]) -> None:
    """Take the first sentence of the docstring as the summary, in place of the function's name."""
    first, _, _ = operation["description"].partition(".")
    operation["summary"] = " ".join(first.split())


def _offer_lines(responses: dict[Any, Any]) -> None:
    """Offer the rows of a list as NDJSON too."""
    content = responses.get(200, {}).get("content", {})
    name = content.get("application/json", {}).get("schema", {}).get("$ref", "").rpartition("/")[2]
    if name.startswith("Page_"):
        content[NDJSON] = {"schema": {"type": "string", "description": "One row in a line, as in `items`."}}


# The addresses of the API as a tree, so that a request tries few patterns instead of all of them.


Patterns = list[URLPattern | URLResolver]


def grouped(patterns: Iterable[URLPattern]) -> Patterns:
    """Return patterns for the same addresses, grouped by the parts with which the addresses begin.

    Large groups come first. Patterns of one address keep their order.
    """
    return _grouped((str(pattern.pattern), pattern) for pattern in patterns)


def _grouped(addresses: Iterable[tuple[str, URLPattern]]) -> Patterns:
    groups: dict[str, list[tuple[str, URLPattern]]] = {}
    for address, pattern in addresses:
        first, slash, _rest = address.partition("/")
        groups.setdefault(first + slash, []).append((address, pattern))
    found: Patterns = []
    for first, members in sorted(groups.items(), key=lambda group: -len(group[1])):
        if first.endswith("/") and len(members) > 1:
            below = _grouped((address.removeprefix(first), pattern) for address, pattern in members)
            found.append(path(first, include(below)))
        else:
            found += [path(address, pattern.callback, name=pattern.name) for address, pattern in members]
    return found


PREFIX: Final = "/api/v1/"
JSON: Final = "application/json"


class StrictJson(Parser):
    """Reads JSON as strictly as the pages' scripts' JSON is read (annotations.formats.files.json_files)."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        if request.content_type != JSON:
            raise Problem(415, "media-type", _("The request must be JSON (application/json)."))
        try:
            return read_object(request.body)
        except JsonError as error:
            raise Problem(400, "malformed", str(error)) from None


class Bearer(HttpBearer):
    """Describes the tokens in OpenAPI. deidreview.api has checked the token before."""

    openapi_description = "A token of the page “API tokens”."

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken | None:
        return getattr(request, "token", None)

    def __call__(self, request: HttpRequest) -> ApiToken | None:
        return self.authenticate(request, "")


class Api(NinjaAPI):
    """All routes. The name of a route's function is its operation id and the name of its URL.

    `operations` are all routes by their name, `by_address` by their path and method.
    """

    operations: dict[str, Operation]
    by_address: dict[tuple[str, str], Operation]

    def get_operation_url_name(self, operation: Operation, router: Router) -> str:
        return operation.view_func.__name__

    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__

    def on_exception(self, request: HttpRequest, exc: Any) -> HttpResponse:
        """Answer errors of the request as problems; deidreview.api answers errors of the server."""
        problem = problem_of(exc)
        if problem is None:
            raise exc
        return answer(problem)

    def schema(self) -> dict[str, Any]:
        """Return the description of the API (OpenAPI)."""
        secret = [name for name, one in self.operations.items() if hasattr(one.view_func, SHOWN_ONCE)]
        return described(self.get_openapi_schema(path_prefix=PREFIX), secret)


def routers() -> Iterator[Router]:
    """Import the routers of all features: the routers of their modules `api`, and of the modules in packages `api`.

    Workers and commands never load them, nor the API's libraries.
    """
    for config in apps.get_app_configs():
        if config.name == "annotations.core" or not config.name.startswith(("annotations.", "models_runtime.")):
            continue
        if config.module is not None and module_has_submodule(config.module, "api"):
            api = import_module(f"{config.name}.api")
            inner = pkgutil.walk_packages(getattr(api, "__path__", ()), f"{api.__name__}.")
            for name in (api.__name__, *(one.name for one in inner)):
                yield from (one for one in vars(import_module(name)).values() if isinstance(one, Router))


@cache
def api() -> Api:
    """Return the API with the routes of all features. Raises ValueError where two routes have one name."""
    built = Api(
        title="deidreview", version="1", urls_namespace="api", docs_url=None, openapi_url=None, auth=Bearer(),
        parser=StrictJson(), description="Annotation, agreement, review, gold standard and release of clinical text.",
    )  # fmt: skip
    built.operations, built.by_address, merged = {}, {}, Router()
    for router in routers():
        for address, view in router.path_operations.items():
            # Features may share an address: one reads notes there, another one imports them.
            shared = merged.path_operations.setdefault(address, PathView())
            for operation in view.operations:
                name = operation.view_func.__name__
                if name in built.operations:
                    raise ValueError(f"Two routes of the API are named “{name}”.")
                operation.tags = operation.tags or router.tags
                shared.operations.append(operation)
                built.operations[name] = operation
                for method in operation.methods:
                    built.by_address.setdefault((operation.path, method), operation)
    built.add_router("", merged)
    return built


@cache
def _addresses() -> URLResolver:
    """The URL patterns of the API. Those of the pages don't include them, so that only requests to the API load it."""
    patterns, app, space = api().urls
    below = grouped(one for one in patterns if isinstance(one, URLPattern))
    return URLResolver(RegexPattern("^/"), [path(PREFIX.removeprefix("/"), (below, app, space))])


def match_of(address: str) -> ResolverMatch:
    """Return the route of an address of the API. Raises Resolver404 (a Http404)."""
    return _addresses().resolve(address)


def operation_of(request: ApiRequest) -> Operation | None:
    """Return the operation that answers the request; None if its address has no such method."""
    match = request.resolver_match
    first = api().operations.get(match.url_name or "") if match else None
    return api().by_address.get((first.path, request.method or "")) if first else None
