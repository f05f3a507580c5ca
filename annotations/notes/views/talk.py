"""Shared views of comments and flags: JSON for the annotate page's script, forms for other pages."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, JsonResponse, StreamingHttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST, require_safe

from annotations.core.access import Access, Can, enter, notes_for
from annotations.core.addresses import address
from annotations.core.answers import MAY_NOT_ANNOTATE, View, csv_answer, json_answers
from annotations.core.changes import Refused, change_id_of, malformed, not_one_of
from annotations.core.events import FILE_DOWNLOADED
from annotations.core.requests import Request, body_of, is_json, number, whole_of
from annotations.models import Comment, Document
from annotations.notes.selectors.comments import ThreadItem, comment_lines, may_comment, page_of, thread_of
from annotations.notes.selectors.flags import flags_of
from annotations.notes.services.talk import (
    ThreadSubject,
    add_comment,
    annotator_of_set,
    answer,
    clear_flag,
    delete_comment,
    edit_comment,
    raise_flag,
    record_outcome_seen,
    resolve,
)
from annotations.text.numbers import MAX_ID, MAX_OFFSET, whole

Act = Callable[[Access, Document, Mapping[str, Any]], int | None]
"""Handles one kind of POST. For comments, returns the id of the changed thread."""


def json_errors(view: View) -> View:
    """Decorator: answer errors of scripts' requests with JSON, errors of forms with pages."""
    as_json = json_answers(MAY_NOT_ANNOTATE)(view)

    @wraps(view)
    def wrapped(request: Request, **kwargs: Any) -> HttpResponse:
        return (as_json if _wants_json(request) else view)(request, **kwargs)

    return wrapped


def _wants_json(request: Request) -> bool:
    return is_json(request) or request.headers.get("Accept", "") == "application/json"


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
    return _talk_answer(request, access, note, {"threads": page.threads, "earlier": page.earlier}, shown=page.threads)


def _talk_answer(
    request: Request, access: Access, note: Document, said: Mapping[str, Any], *, shown: Sequence[ThreadItem]
) -> HttpResponse:
    """JSON with `said` and the flags. `shown` are the threads in `said`."""
    record_outcome_seen(access=access, document=note, shown=shown)
    about = {"flags": flags_of(access, note), "may_comment": may_comment(access)}
    return JsonResponse({**said, **about, "person": access.user.pk, "csrf": get_token(request)})


def do(request: Request, slug: str, pk: int, acts: Mapping[str, Act], *, anchor: str) -> HttpResponse:
    """Do what a POST names in `act`. A form redirects back to its page.

    A script gets the current flags and, if a comment was changed, the id of its thread (`root`) and the current thread
    (`thread`, null if deleted).
    """
    access = enter(request.user, slug, Can.ANNOTATE)
    note = short_note(access, pk)
    if is_json(request):
        root = _act(access, note, body_of(request), acts)
        thread = None if root is None else thread_of(access, note, root)
        said = {} if root is None else {"root": root, "thread": thread}
        return _talk_answer(request, access, note, said, shown=[thread] if thread else [])
    try:
        _act(access, note, request.POST.dict(), acts)
    except Refused as refused:
        messages.error(request, str(refused))
    return redirect(_back(request, access, pk) + anchor)


def _act(access: Access, note: Document, data: Mapping[str, Any], acts: Mapping[str, Act]) -> int | None:
    act = acts.get(str(data.get("act")))
    if act is None:
        raise not_one_of("act", acts)
    return act(access, note, data)


def _back(request: Request, access: Access, pk: int) -> str:
    if access.blind:
        return address("note.annotate", access.project.slug, pk)
    wanted = number(request.POST, "set")
    return reverse("note", args=[access.project.slug, pk]) + (f"?set={wanted}" if wanted is not None else "")


def id_in(data: Mapping[str, Any], field: str, most: int = MAX_ID) -> int | None:
    """A whole number from JSON or a form; None if the field is missing. Raises Refused (`malformed`)."""
    value = data.get(field)
    if value is None or value == "":
        return None
    return whole_of(whole(value, most) if isinstance(value, str) else value, field, most)


def needed_id(data: Mapping[str, Any], field: str) -> int:
    value = id_in(data, field)
    if value is None:
        raise malformed(_("The field “%(field)s” is missing."), field=field)
    return value


def offset_in(data: Mapping[str, Any], field: str) -> int | None:
    return id_in(data, field, MAX_OFFSET)


# POST requests about comments.


Data = Mapping[str, Any]


@require_safe
def comments_export(request: Request, slug: str) -> StreamingHttpResponse:
    """All comments of the project as CSV. The download is recorded as an event."""
    access = enter(request.user, slug, Can.EXPORT)
    FILE_DOWNLOADED.record(actor=access.user, project_id=access.project.pk, data={"comments": "csv"})
    return csv_answer(comment_lines(access.project, access), f"{slug}-comments.csv")


@sensitive_post_parameters()
@require_POST
@json_errors
def comments(request: Request, slug: str, pk: int) -> HttpResponse:
    """Do what `act` says: add, answer, edit, delete, resolve or reopen (`open`).

    Scripts send `change_id` with new comments.
    """
    return do(request, slug, pk, COMMENT_ACTS, anchor="#comments")


def _add(access: Access, note: Document, data: Data) -> int:
    about = ThreadSubject(
        annotator=_annotator(access, note, data),
        span=id_in(data, "span"),
        start=offset_in(data, "start"),
        end=offset_in(data, "end"),
    )
    made = add_comment(access=access, document=note, about=about, text=data.get("text"), change_id=_change_id(data))
    return made.pk


def _annotator(access: Access, note: Document, data: Data) -> int | None:
    """Id of the annotator whose annotations are commented on.

    That is the user on the annotate page, and the author of `set` elsewhere.
    """
    if access.blind or "set" not in data:
        return access.user.pk
    return annotator_of_set(access, note, id_in(data, "set"))


def _answer(access: Access, note: Document, data: Data) -> int:
    thread = needed_id(data, "comment")
    made = answer(access=access, document=note, thread=thread, text=data.get("text"), change_id=_change_id(data))
    return _thread(made)


def _edit(access: Access, note: Document, data: Data) -> int:
    return _thread(
        edit_comment(access=access, document=note, comment=needed_id(data, "comment"), text=data.get("text"))
    )


def _delete(access: Access, note: Document, data: Data) -> int:
    return delete_comment(access=access, document=note, comment=needed_id(data, "comment"))


def _resolve(access: Access, note: Document, data: Data) -> int:
    return resolve(access=access, document=note, thread=needed_id(data, "comment")).pk


def _open(access: Access, note: Document, data: Data) -> int:
    return resolve(access=access, document=note, thread=needed_id(data, "comment"), resolved=False).pk


def _thread(comment: Comment) -> int:
    return comment.answers_id or comment.pk


def _change_id(data: Data) -> UUID | None:
    return change_id_of(data) if data.get("change_id") else None


COMMENT_ACTS: dict[str, Act] = {
    "add": _add, "answer": _answer, "edit": _edit, "delete": _delete, "resolve": _resolve, "open": _open,
}  # fmt: skip


# POST requests about flags.


@sensitive_post_parameters()
@require_POST
@json_errors
def flag(request: Request, slug: str, pk: int) -> HttpResponse:
    """Raise (with `reason`, `text`) or clear (with `flag`) a flag, as `act` says."""
    return do(request, slug, pk, FLAG_ACTS, anchor="#flags")


def _raise(access: Access, note: Document, data: Mapping[str, Any]) -> None:
    raise_flag(access=access, document=note, reason=data.get("reason"), text=data.get("text") or "")


def _clear(access: Access, note: Document, data: Mapping[str, Any]) -> None:
    clear_flag(access=access, document=note, flag=needed_id(data, "flag"))


FLAG_ACTS: dict[str, Act] = {"raise": _raise, "clear": _clear}
