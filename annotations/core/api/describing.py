"""What the description of the API (OpenAPI) says about every route: problems, headers and NDJSON."""

from collections.abc import Collection
from http import HTTPStatus
from typing import Any, Final

from annotations.core.api.paging import NDJSON
from annotations.core.api.problems import MEDIA_TYPE

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
    for path in found["paths"].values():
        for method, operation in path.items():
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
