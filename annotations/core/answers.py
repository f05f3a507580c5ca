"""Answers that several features give: errors of the working screens as JSON, stored files, and tables."""

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, TypeVar

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.middleware.csrf import get_token
from django.utils.functional import Promise
from django.utils.http import content_disposition_header
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotations.core.access import Access, SecondFactorMissing
from annotations.core.changes import ChangeRefused
from annotations.core.requests import Request, body_of
from annotations.core.services import FILE_DOWNLOADED, FileDownloaded, ProjectArchived, ServiceError
from annotations.core.stored_files import read_chunks
from annotations.models import StoredFile

View = Callable[..., HttpResponse]
Answer = TypeVar("Answer", bound=HttpResponseBase)
MAY_NOT_ANNOTATE = _("You don't have permission to annotate in this project.")


def json_answers(
    forbidden: Promise, *, enter: Callable[..., tuple[Any, ...]] | None = None,
    now: Callable[..., Mapping[str, object]] | None = None, only_json: bool = False,
) -> Callable[[Callable[..., HttpResponse]], View]:  # fmt: skip
    """Decorate a view so that its errors become JSON: {"error": code, "message": sentence}.

    A conflict adds the current state. `enter` checks access and returns the view's arguments, which replace the parts
    of the URL; `now` takes the same arguments and returns the current state. Without them the view checks access
    itself, and a conflict (ChangeRefused) carries the annotation set. `only_json`: a body of any other type is refused.
    """

    def decorated(view: Callable[..., HttpResponse]) -> View:
        @wraps(view)
        def wrapped(request: Request, **kwargs: Any) -> HttpResponse:
            entered: tuple[Any, ...] = ()
            try:
                if only_json:
                    body_of(request)
                if enter is None:
                    return view(request, **kwargs)
                entered = enter(request, **kwargs)
                return view(request, *entered)
            except ProjectArchived as error:
                # Not a conflict: the page keeps the unsaved work, and saves it if the project is restored.
                return _refused("forbidden", str(error), 403)
            except SecondFactorMissing as error:
                return _refused(error.code, str(error), 403)
            except ServiceError as error:
                there = now(*entered) if now is not None and entered else _annotation_set_in(error)
                return _refused(
                    error.code, str(error), error.status if isinstance(error, ChangeRefused) else 409, there
                )
            except PermissionDenied:
                return _refused("forbidden", str(forbidden), 403)
            except Http404:
                return _refused("not-found", gettext("This note does not exist or you don't have access to it."), 404)

        return wrapped

    return decorated


def fresh_token(request: Request) -> JsonResponse:
    """Answer the script of a page that was signed out: who is signed in now, and their token for forms."""
    return JsonResponse({"person": request.user.pk, "csrf": get_token(request)})


def _refused(code: str, message: str, status: int, there: Mapping[str, object] | None = None) -> JsonResponse:
    return JsonResponse({"error": code, "message": message, **(there or {})}, status=status)


def _annotation_set_in(error: ServiceError) -> dict[str, object]:
    if not isinstance(error, ChangeRefused) or error.spans is None:
        return {}
    return {"version": error.version, "state": error.state, "spans": error.spans}


def attachment(
    request: HttpRequest, access: Access, stored: StoredFile, *, note: int | None = None,
    content: tuple[Iterable[bytes], int] | None = None,
) -> StreamingHttpResponse:  # fmt: skip
    """Response that streams a stored zip, or the original of a note. A GET is recorded as an event, a HEAD is not.

    `content`: what to send in place of the stored content, and its size.
    """
    if request.method == "GET":
        data: FileDownloaded = {"file": stored.pk, "size": stored.size, "kind": stored.kind}
        FILE_DOWNLOADED.record(actor=access.user, project_id=access.project.pk, document_id=note, data=data)
    kind = "application/zip" if note is None else "application/octet-stream"
    chunks, size = content or (read_chunks(stored), stored.size)
    response = StreamingHttpResponse(chunks, content_type=kind)
    response.headers["Content-Length"] = str(size)
    return _as_attachment(response, stored.name)


def file_answer(data: bytes, kind: str, name: str) -> HttpResponse:
    """Response with a file, as an attachment of this name."""
    return _as_attachment(HttpResponse(data, content_type=kind), name)


def csv_answer(lines: Iterable[str], name: str) -> StreamingHttpResponse:
    """Response that streams a table as CSV, as an attachment of this name."""
    return streamed(lines, "text/csv; charset=utf-8", name)


def streamed(lines: Iterable[str], kind: str, name: str) -> StreamingHttpResponse:
    """Response that streams a text, as an attachment of this name."""
    return _as_attachment(StreamingHttpResponse(lines, content_type=kind), name)


def _as_attachment(response: Answer, name: str) -> Answer:
    response.headers["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
