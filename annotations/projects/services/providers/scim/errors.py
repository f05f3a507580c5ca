"""Errors of SCIM (RFC 7644, section 3.12): of the library, of the values of a request, and of everything else.

The library is imported only when there is something to answer.
"""

import hashlib
import json
import secrets
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.crypto import constant_time_compare

from annotations.core.api.routes import Problem, problem_of
from annotations.projects.rules import ProvisioningProvider
from annotations.projects.selectors.providers import provisioning

if TYPE_CHECKING:
    from scim2_models import Error

MEDIA_TYPE: Final = "application/scim+json"


def error_of(error: Exception) -> HttpResponse | None:
    """Return the response that tells the provider of the exception; None for errors of the server."""
    from scim2_models import Error, SCIMException

    if isinstance(error, SCIMException):
        return answer_error(error.to_error())
    if isinstance(error, ValueError) and hasattr(error, "errors"):
        return answer_error(Error.from_validation_errors(error.errors())[0])
    if isinstance(error, RecursionError):
        return answer_error(Error(status=400, scim_type="invalidSyntax", detail="The request is nested too deeply."))
    problem = problem_of(error)
    return answer_problem(problem) if problem else None


def answer_problem(problem: Problem) -> HttpResponse:
    from scim2_models import Error

    kind = "invalidSyntax" if problem.status == 400 else None
    return answer_error(Error(status=problem.status, scim_type=kind, detail=problem.detail), problem.headers)


def answer_error(error: "Error", headers: Mapping[str, str] | None = None) -> HttpResponse:
    body = json.dumps(error.model_dump(), ensure_ascii=False)
    return HttpResponse(body.encode(), status=error.status, content_type=MEDIA_TYPE, headers=headers)


def plain(response: HttpResponseBase) -> HttpResponse:
    """Return an error that Django answered as one of SCIM, with its headers that a program needs."""
    from scim2_models import Error

    status = response.status_code
    kept = {name: value for name, value in response.headers.items() if name in ("Allow", "Retry-After")}
    return answer_error(Error(status=status, detail=f"{HTTPStatus(status).phrase}."), kept)


# Tokens by which a provider pushes accounts. The file of providers holds only their hashes.


MARK: Final = "scim_"
SHORTEST: Final = 32


def new_token() -> tuple[str, str]:
    """Return a random token and its hash. A token is random, so that its plain SHA-256 suffices to recognize it."""
    token = MARK + secrets.token_urlsafe(32)
    return token, _hash(token)


def provider_with(key: str, token: str) -> ProvisioningProvider | None:
    """Return the provider with this id if the token is one of its own, or else None."""
    provider = provisioning(key)
    digest = _hash(token)
    known = [constant_time_compare(digest, one) for one in (provider.scim_token_hashes if provider else ())]
    return provider if any(known) and len(token) >= SHORTEST else None


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
