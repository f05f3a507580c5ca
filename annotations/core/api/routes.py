"""What every route of the API uses: problems, the request with its token, schemas, and the router."""

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from http import HTTPStatus
from typing import Annotated, Any, Final, Self, TypeVar

from django import forms
from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.http.request import UnreadablePostError
from django.http.response import HttpResponseBase
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from ninja import Router, Schema
from ninja.errors import HttpError, ValidationError
from ninja.responses import Status
from pydantic import AliasChoices, BeforeValidator, Field, ValidationInfo

from annotations.core import access
from annotations.core.access import Access, Can, SecondFactorMissing, note_for
from annotations.core.changes import ChangeRefused
from annotations.core.sealing import OtherSecretKey
from annotations.core.services import LimitReached, ProjectArchived, ServiceError
from annotations.models import ApiToken, Document, Job, User

# Errors of the API as problem details (RFC 9457): what is wrong, in which field, and how to fix it.
#
# Only the client sees a problem; nothing of it is logged, since the reason of a field may quote what was sent.


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


# The requests of the API: who sends them, and what their token allows. Routes enter projects with `enter`.


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


# What the schemas of all features share.


FieldReader = BeforeValidator
"""Reads a field of an answer by a function of what the row has there."""


def read_as(kind: type, read: Callable[[Any], Any]) -> BeforeValidator:
    """Read a field of an answer by a function of what the row has there, which is of this type."""
    return BeforeValidator(lambda one: read(one) if isinstance(one, kind) else one)


def attribute(name: str) -> BeforeValidator:
    """Read a field of an answer as this attribute of the row to which the column leads; null without a row."""
    return BeforeValidator(lambda one: getattr(one, name, one))


def _code(label: Any, info: ValidationInfo) -> Any:
    """The code of a label id of an answer, by the `codes` of the context."""
    return info.context["codes"][label] if type(label) is int and info.context and "codes" in info.context else label


Code = Annotated[str, FieldReader(_code)]
Username = Annotated[str | None, attribute("username")]
JobNumber = Annotated[int | None, attribute("number")]
# Of a row with a job, or of an answer that was made from one; null without a job.
JobStateName = Annotated[str | None, Field(validation_alias=AliasChoices("state", "job.state", "job"))]
AsText = Annotated[str, BeforeValidator(str)]
IsSet = Annotated[bool, BeforeValidator(bool)]


class Answer(Schema):
    """An answer that is read from the attributes of a row, or from the other names that fields have there.

    `Field(validation_alias="note_count")` names such an attribute.
    """

    model_config = {"populate_by_name": True}


class RefusedDecision(Schema):
    """The place of a refused decision in the list, from 0, and why it was refused."""

    place: int
    code: str
    message: str

    @classmethod
    def all(cls, errors: Mapping[int, ServiceError]) -> list[Self]:
        return [cls(place=at, code=error.code, message=str(error)) for at, error in sorted(errors.items())]


class SpanInSentence(Schema):
    """A span in its sentence. Offsets are in code points, end-exclusive."""

    note: int
    name: str
    start: int
    end: int
    before: str
    marked: str
    after: str


class Body(Schema):
    """The JSON object of a request. A field that it doesn't know is an error, since it is mostly a typing error."""

    model_config = {"extra": "forbid"}


class Done(Schema):
    """The answer to a change that says everything with its status."""

    changed: bool


# Routes of the API that name the right in a project that they take.


RouteView = Callable[..., Any]
Decorator = Callable[[RouteView], RouteView]
Note = Annotated[Document, note_for]
"""A note that the address of a route names, and that the person may open."""


def _entering(view: RouteView, right: Can, status: int) -> RouteView:
    """A view that takes the short name of a project, and enters it with this right before the route.

    The route names `request` and `response` only if it uses them. If it returns nothing, the answer is 204, and else
    `status` if it declares 201 or 202. With 202 it returns the job that it started, or a row with this job, whose
    address is in the header Location.
    """
    signature, finders = inspect.signature(view), {}
    taken = [signature.parameters["access"].replace(name="response", annotation=HttpResponse)]
    for one in signature.parameters.values():
        found = getattr(one.annotation, "__metadata__", ())
        if one.name == "access":
            one = one.replace(name="slug", annotation=str)
        elif found and inspect.isfunction(found[0]):
            finders[one.name] = found[0]
            one = one.replace(annotation=list(inspect.signature(found[0]).parameters.values())[1].annotation)
        if one.name not in ("request", "response"):
            taken.append(one)

    @wraps(view)
    def wrapped(request: ApiRequest, *, response: HttpResponse, slug: str, **values: Any) -> Any:
        access = enter(request, slug, right)
        for name, given in (("request", request), ("response", response)):
            if name in signature.parameters:
                values[name] = given
        made = view(access=access, **values | {key: find(access, values[key]) for key, find in finders.items()})
        if made is None:
            return Status(204, None)
        if not status or isinstance(made, Status):
            return made
        job = made if isinstance(made, Job) else getattr(made, "job", None)
        if status == 202 and isinstance(job, Job):
            response["Location"] = f"/api/v1/projects/{slug}/jobs/{job.number}"
        return Status(status, made)

    wrapped.__signature__ = signature.replace(parameters=taken)  # type: ignore[attr-defined]  # ninja reads it
    return wrapped


def _method(name: str) -> Callable[..., Decorator]:
    def route(router: Router, path: str, right: Can | None = None, **options: Any) -> Decorator:
        register, declared = router.api_operation([name], path, **options), options.get("response")
        status = next((one for one in (201, 202) if isinstance(declared, dict) and one in declared), 0)
        return register if right is None else lambda view: register(_entering(view, right, status))

    return route


class ProjectRouter(Router):
    """A router. A route with a right gets the person's `access` to the project of its address, in place of `slug`.

    A parameter `Annotated[Row, find]` gets what `find(access, …)` makes of the number in the address.
    """

    get, post, patch, delete = map(_method, ("GET", "POST", "PATCH", "DELETE"))  # type: ignore[assignment]  # narrower
