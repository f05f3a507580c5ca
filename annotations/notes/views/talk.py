"""What the pages that talk (comments, flags) have in common: JSON for the workbench's script, forms for other pages."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET

from annotations.core.access import Access, Can, enter, notes_for
from annotations.core.answers import View, json_answers
from annotations.core.changes import Refused
from annotations.core.events import record
from annotations.core.requests import Request, body_of, is_json, number, whole_of
from annotations.domain.numbers import MAX_ID, MAX_OFFSET, whole
from annotations.models import Document, Verb
from annotations.notes.selectors.comments import ThreadItem, may_comment, page_of, thread_of
from annotations.notes.selectors.flags import flags_of
from annotations.notes.selectors.outcome import has_seen_outcome

Act = Callable[[Access, Document, Mapping[str, Any]], int | None]
"""Does what a POST asks; of comments it returns the id of the thread that was changed."""


def json_refusals(view: View) -> View:
    """Refusals of a script's requests as JSON; those of pages as pages."""
    as_json = json_answers(view)

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
        raise Http404("no such note")
    return note


@require_GET
@json_refusals
def talk(request: Request, slug: str, pk: int) -> HttpResponse:
    """What is said about a note, as far as this person may know, and its open flags: the newest threads.

    `earlier` is what to send as ?before= for those before them.
    """
    access = enter(request.user, slug)
    note = short_note(access, pk)
    # The workbench shows one's own reading, and so what is said about that one and about the note.
    page = page_of(access, note, own=True, before=number(request.GET, "before"))
    return _talk_answer(request, access, note, {"threads": page.threads, "earlier": page.earlier}, shown=page.threads)


def _talk_answer(
    request: Request, access: Access, note: Document, said: Mapping[str, Any], *, shown: Sequence[ThreadItem]
) -> HttpResponse:
    """`said` goes out with the flags; `shown` are the threads in it."""
    if access.blind and not all(thread["mine"] for thread in shown):
        _record_told(access, note)
    about = {"flags": flags_of(access, note), "may_comment": may_comment(access)}
    return JsonResponse({**said, **about, "person": access.user.pk, "csrf": get_token(request)})


def _record_told(access: Access, note: Document) -> None:
    """What adjudicators say of the note tells its outcome: what this person hands in after that is not blind."""
    if not has_seen_outcome(note.pk, access.user):
        data = {"what": "outcome"}
        record(verb=Verb.NOTE_READ, actor=access.user, project_id=note.project_id, document_id=note.pk, data=data)


def do(request: Request, slug: str, pk: int, acts: Mapping[str, Act], *, anchor: str) -> HttpResponse:
    """Do what a POST names in `act`. A form leads back to its page.

    A script gets the flags as they then are and, where a comment was changed, the thread `root` as it then is
    (`thread`, null where it is gone): what others have said, it has already.
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
        raise Refused("malformed", f"The field 'act' must be one of {', '.join(acts)}.")
    return act(access, note, data)


def _back(request: Request, access: Access, pk: int) -> str:
    if access.blind:
        return reverse("annotate", args=[access.project.slug, pk])
    wanted = number(request.POST, "set")
    return reverse("note", args=[access.project.slug, pk]) + (f"?set={wanted}" if wanted is not None else "")


def id_in(data: Mapping[str, Any], field: str, most: int = MAX_ID) -> int | None:
    """A whole number from JSON or a form; None where there is none. Raises Refused (`malformed`), naming the field."""
    value = data.get(field)
    if value is None or value == "":
        return None
    return whole_of(whole(value, most) if isinstance(value, str) else value, field, most)


def needed_id(data: Mapping[str, Any], field: str) -> int:
    value = id_in(data, field)
    if value is None:
        raise Refused("malformed", f"The field {field!r} is missing.")
    return value


def offset_in(data: Mapping[str, Any], field: str) -> int | None:
    return id_in(data, field, MAX_OFFSET)
