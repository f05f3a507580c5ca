"""Shared views of comments and flags: JSON for the annotate page's script, forms for other pages."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from annotations.core.access import Access, Can, enter, notes_for
from annotations.core.addresses import address
from annotations.core.answers import MAY_NOT_ANNOTATE, View, json_answers
from annotations.core.changes import Refused, malformed, not_one_of
from annotations.core.requests import Request, body_of, is_json, number, whole_of
from annotations.models import Document
from annotations.notes.selectors.comments import ThreadItem, may_comment, page_of, thread_of
from annotations.notes.selectors.flags import flags_of
from annotations.notes.services.comments import record_outcome_seen
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
