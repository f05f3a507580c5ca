"""Comments and flags: JSON for the annotate page's script, forms for other pages."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import wraps
from typing import Any

from django.http import Http404, HttpResponse, JsonResponse, StreamingHttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST, require_safe

from annotations.core.access import Access, Can, enter, notes_for
from annotations.core.addresses import address
from annotations.core.answers import MAY_NOT_ANNOTATE, View, json_answers
from annotations.core.changes import change_id_of, malformed, not_one_of
from annotations.core.requests import Request, body_of, enter_page, error_as_message, is_json, number, whole_of
from annotations.models import Document
from annotations.notes.selectors.comments import CommentThread, comments_csv, flags_of, may_comment, page_of, thread_of
from annotations.notes.services import talk as services
from annotations.text.names import MAX_ID, MAX_OFFSET, whole_number

Data = Mapping[str, Any]
Act = Callable[[Access, Document, Data], int | None]
"""Does what a POST names in `act`. For comments, returns the id of the changed thread."""
COMMENT_ACTS = ("add", "answer", "edit", "delete", "resolve", "open")
FLAG_ACTS = ("raise", "clear")


def json_errors(view: View) -> View:
    """Decorator: answer errors of scripts' requests with JSON, errors of forms with pages."""
    as_json = json_answers(MAY_NOT_ANNOTATE)(view)

    @wraps(view)
    def wrapped(request: Request, **kwargs: Any) -> HttpResponse:
        by_script = is_json(request) or request.headers.get("Accept", "") == "application/json"
        return (as_json if by_script else view)(request, **kwargs)

    return wrapped


def short_note(access: Access, pk: int) -> Document:
    """The note without its text. Raises Http404."""
    note = notes_for(access).only("id", "project_id", "length").filter(pk=pk).first()
    if note is None:
        raise Http404(_("This note does not exist."))
    return note


@require_GET
@json_errors
def talk(request: Request, slug: str, pk: int) -> HttpResponse:
    """The newest threads and the open flags of a note, as far as the user may see them.

    `earlier` is the value of ?before= for earlier threads.
    """
    access = enter(request.user, slug)
    note = short_note(access, pk)
    # The annotate page shows the user's own annotations, so it gets the threads about those and about the note.
    page = page_of(access, note, own=True, before=number(request.GET, "before"))
    said = {"threads": list(map(asdict, page.threads)), "earlier": page.earlier}
    return _talk_answer(request, access, note, said, page.threads)


def _talk_answer(
    request: Request, access: Access, note: Document, said: Data, shown: list[CommentThread]
) -> HttpResponse:
    """JSON with `said` and the flags. `shown` are the threads in `said`."""
    services.record_outcome_seen(access=access, document=note, shown=shown)
    about = {"flags": list(map(asdict, flags_of(access, note))), "may_comment": may_comment(access)}
    return JsonResponse({**said, **about, "person": access.user.pk, "csrf": get_token(request)})


def _do(request: Request, slug: str, pk: int, acts: tuple[str, ...], act: Act, anchor: str) -> HttpResponse:
    """Do what a POST names in `act`, one of `acts`. A form redirects back to its page.

    A script gets the current flags and, if a comment was changed, the id of its thread (`root`) and the current thread
    (`thread`, null if deleted).
    """
    access = enter_page(request, slug, Can.ANNOTATE)
    note = short_note(access, pk)

    def done(data: Data) -> int | None:
        if str(data.get("act")) not in acts:
            raise not_one_of("act", acts)
        return act(access, note, data)

    if not is_json(request):
        with error_as_message(request):
            done(request.POST.dict())
        return redirect(_back(request, access, pk) + anchor)
    root = done(body_of(request))
    if root is None:
        return _talk_answer(request, access, note, {}, [])
    thread = thread_of(access, note, root)
    said = {"root": root, "thread": asdict(thread) if thread else None}
    return _talk_answer(request, access, note, said, [thread] if thread else [])


def _back(request: Request, access: Access, pk: int) -> str:
    if access.blind:
        return address("note.annotate", access.slug, pk)
    wanted = number(request.POST, "set")
    return reverse("note", args=[access.slug, pk]) + (f"?set={wanted}" if wanted is not None else "")


def _number(data: Data, field: str, most: int = MAX_ID) -> int | None:
    """A whole number from JSON or a form; None if the field is missing. Raises Refused (`malformed`)."""
    value = data.get(field)
    if value is None or value == "":
        return None
    return whole_of(whole_number(value, most) if isinstance(value, str) else value, field, most)


def _needed_id(data: Data, field: str) -> int:
    value = _number(data, field)
    if value is None:
        raise malformed(_("The field “%(field)s” is missing."), field=field)
    return value


@require_safe
def comments_export(request: Request, slug: str) -> StreamingHttpResponse:
    """All comments of the project as CSV. The download is recorded as an event."""
    return comments_csv(enter_page(request, slug, Can.EXPORT))


@sensitive_post_parameters()
@require_POST
@json_errors
def comments(request: Request, slug: str, pk: int) -> HttpResponse:
    """Do what `act` says: add, answer, edit, delete, resolve or reopen (`open`).

    Scripts send `change_id` with new comments.
    """
    return _do(request, slug, pk, COMMENT_ACTS, _comment, "#comments")


def _comment(access: Access, note: Document, data: Data) -> int:
    act, text = data["act"], data.get("text")
    change_id = change_id_of(data) if data.get("change_id") else None
    if act == "add":
        about = services.ThreadSubject(
            _annotator(access, note, data),
            _number(data, "span"),
            _number(data, "start", MAX_OFFSET),
            _number(data, "end", MAX_OFFSET),
        )
        return services.add_comment(access=access, document=note, about=about, text=text, change_id=change_id).pk
    one = _needed_id(data, "comment")
    if act == "delete":
        return services.delete_comment(access=access, document=note, comment=one)
    if act == "answer":
        changed = services.answer(access=access, document=note, thread=one, text=text, change_id=change_id)
    elif act == "edit":
        changed = services.edit_comment(access=access, document=note, comment=one, text=text)
    else:
        changed = services.resolve(access=access, document=note, thread=one, resolved=act == "resolve")
    return changed.answers_id or changed.pk


def _annotator(access: Access, note: Document, data: Data) -> int | None:
    """Id of the annotator whose annotations are commented on.

    That is the user on the annotate page, and the author of `set` elsewhere.
    """
    if access.blind or "set" not in data:
        return access.user.pk
    return services.annotator_of_set(access, note, _number(data, "set"))


@sensitive_post_parameters()
@require_POST
@json_errors
def flag(request: Request, slug: str, pk: int) -> HttpResponse:
    """Raise (with `reason`, `text`) or clear (with `flag`) a flag, as `act` says."""
    return _do(request, slug, pk, FLAG_ACTS, _flag, "#flags")


def _flag(access: Access, note: Document, data: Data) -> None:
    if data["act"] == "raise":
        services.raise_flag(access=access, document=note, reason=data.get("reason"), text=data.get("text") or "")
    else:
        services.clear_flag(access=access, document=note, flag=_needed_id(data, "flag"))
