"""Errors of the API as problem details (RFC 9457): what is wrong, in which field, and how to fix it.

Only the client sees a problem; nothing of it is logged, since the reason of a field may quote what was sent.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final

from django import forms
from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.http.request import UnreadablePostError
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from ninja.errors import HttpError, ValidationError

from annotations.core.access import SecondFactorMissing
from annotations.core.changes import ChangeRefused
from annotations.core.errors import LimitReached, ServiceError
from annotations.core.locks import ProjectArchived
from annotations.core.sealing import OtherSecretKey

MEDIA_TYPE: Final = "application/problem+json"


class Problem(Exception):
    """An error of the API. `errors` are pairs of field and reason; `more` are further members of the answer."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        errors: Iterable[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail
        self.errors, self.headers, self.more = list(errors), dict(headers or {}), dict(more or {})


def answer(problem: Problem) -> HttpResponse:
    """Return the problem as a response."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "code": problem.code,
        "detail": problem.detail,
    }
    if problem.errors:
        body["errors"] = [{"field": field, "reason": reason} for field, reason in problem.errors]
    content = json.dumps(body | problem.more, ensure_ascii=False).encode()
    return HttpResponse(content, status=problem.status, content_type=MEDIA_TYPE, headers=problem.headers)


# ── Errors of forms and services ─────────────────────────────────────────────────────────────────────────────────────


def invalid(*errors: tuple[str, str]) -> Problem:
    """Return the problem (422) of fields that are not valid."""
    return Problem(422, "invalid", _("Some fields are not valid. Correct them and try again."), errors=errors)


def check(form: forms.BaseForm, names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the form's cleaned data. Raises Problem (422) that names each field and the reason.

    `names` gives the name in the request of a field that the form calls otherwise.
    """
    if form.is_valid():
        return form.cleaned_data
    found = ((names or {}).get(field, field) for field in form.errors)
    raise invalid(*((name, str(one)) for name, some in zip(found, form.errors.values(), strict=True) for one in some))


@contextmanager
def named(fields: Mapping[str, str]) -> Iterator[None]:
    """Turn a ServiceError whose code is in `fields` into a Problem (422) that names the field."""
    try:
        yield
    except ServiceError as error:
        if error.code not in fields:
            raise
        raise invalid((fields[error.code], str(error))) from error


# ── Any exception ────────────────────────────────────────────────────────────────────────────────────────────────────


def problem_of(error: Exception) -> Problem | None:
    """Return the problem that tells the client of the exception; None for errors of the server."""
    match error:
        case Problem():
            return error
        case ProjectArchived() | SecondFactorMissing():
            return Problem(403, error.code, str(error))
        case OtherSecretKey():
            return Problem(503, error.code, str(error))
        case LimitReached():
            return Problem(429, error.code, str(error), headers={"Retry-After": str(error.retry_after)})
        case ChangeRefused():
            return _refused(error)
        case ServiceError():
            return Problem(409, error.code, str(error))
        case ValidationError():
            return invalid(*map(_field_and_reason, error.errors))
        case Http404():
            return Problem(404, "not-found", _("This does not exist, or you don't have access to it."))
        case PermissionDenied():
            return Problem(403, "forbidden", _("You don't have the right to do this."))
        case RequestDataTooBig():
            return Problem(413, "too-large", _("The request is too large."))
        case UnreadablePostError() | BadRequest() | SuspiciousOperation() | MultiPartParserError():
            return Problem(400, "malformed", _("The request could not be read. Check it and send it again."))
        case HttpError(__cause__=Problem() as cause):
            # The framework wraps what the parser of bodies raises.
            return cause
        case HttpError():
            return Problem(error.status_code, "malformed", HTTPStatus(error.status_code).phrase)
    return None


def _refused(error: ChangeRefused) -> Problem:
    """Return the problem of a refused change; a conflict also tells the current annotation set's version and state."""
    if error.status == 400:
        return Problem(422, error.code, str(error))
    now = {} if error.version is None else {"current": {"version": error.version, "state": error.state}}
    headers = {"Retry-After": "1"} if error.status == 503 else {}
    return Problem(error.status, error.code, str(error), more=now, headers=headers)


def _field_and_reason(error: Mapping[str, Any]) -> tuple[str, str]:
    """Return the name of the field, such as `notes.0.name`, and the reason, which does not quote the value."""
    place: Sequence[object] = error.get("loc", ())
    # The first parts say where the value came from (body, query), and the name of the argument in our code.
    skipped = 2 if place and place[0] in ("body", "form", "file") else 1
    return ".".join(map(str, place[skipped:] or place[-1:])), f"{error.get('msg', '')}."


def as_problem(response: HttpResponseBase) -> HttpResponseBase:
    """Return an error that Django or the framework answered as a problem, with its headers; others unchanged."""
    if response.status_code < 400 or response.headers.get("Content-Type", "").startswith(MEDIA_TYPE):
        return response
    code, detail = _WORDS.get(response.status_code, ("failed", lazy("The request failed.")))
    kept = {name: value for name, value in response.headers.items() if name in ("Allow", "Retry-After")}
    return answer(Problem(response.status_code, code, str(detail), headers=kept))


_WORDS: Final = {
    400: ("malformed", lazy("The request could not be read. Check it and send it again.")),
    404: ("not-found", lazy("This does not exist, or you don't have access to it.")),
    405: ("method", lazy("This address does not have this method. The header Allow names its methods.")),
    500: ("failed", lazy("The server failed to answer. The error is in its log.")),
}
