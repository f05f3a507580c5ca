"""The workbench: one note, one person's own spans. Pages for people, JSON for the page's script."""

import json
from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotations.access import Access, Can, enter, note_for, notes_for
from annotations.models import AnnotationSet, Document, User, Verb
from annotations.selectors.projects import own_work
from annotations.selectors.workbench import labels_of, next_note, own_set, spans_of, work_list
from annotations.services.changes import Refused, read_change
from annotations.services.events import record
from annotations.services.reading import Reading, reopen, submit
from annotations.services.spans import Answer, apply_change

View = Callable[..., HttpResponse]


def json_answers(view: View) -> View:
    """Refusals as JSON: {"error": code, "message": plain words} and, of a conflict, the reading as it is now."""

    @wraps(view)
    def wrapped(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, **kwargs)
        except Refused as refused:
            now = {"version": refused.version, "state": refused.state, "spans": refused.spans}
            body = {"error": refused.code, "message": str(refused)} | (now if refused.spans is not None else {})
            return JsonResponse(body, status=refused.status)
        except PermissionDenied:
            return JsonResponse({"error": "forbidden", "message": "You may not annotate in this project."}, status=403)
        except Http404:
            return JsonResponse({"error": "not-found", "message": "This note is not there for you."}, status=404)

    return wrapped


@require_GET
def annotate(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The page of one note. Opening it is an event."""
    access = _enter(request, slug)
    note = note_for(access, pk)
    record(verb=Verb.NOTE_READ, actor=access.user, project_id=note.project_id, document_id=note.pk)
    reading = own_set(note.pk, access.user)
    labels = labels_of(access.project.pk)
    spans = spans_of(reading.pk) if reading else []
    state = reading.state if reading else AnnotationSet.State.DRAFT
    context = {
        "access": access,
        "note": note,
        "labels": labels,
        "spans": spans,
        "state": state,
        "work": work_list(access, note),
        "data": {
            "text": note.text,
            "labels": labels,
            "spans": spans,
            "version": reading.version if reading else 0,
            "state": state,
            "person": access.user.pk,
            "urls": {name: reverse(name, args=[slug, pk]) for name in ("changes", "spans", "submit", "reopen")},
        },
    }
    return render(request, "annotations/annotate.html", context)


@require_POST
@json_answers
def changes(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One change of the person's own reading."""
    access = _enter(request, slug)
    note = note_for(access, pk)
    data = _body(request)
    _same_person(request, data)
    answer = apply_change(document=note, user=access.user, change=read_change(data), blind=access.blind)
    return JsonResponse(_as_json(answer))


def _as_json(answer: Answer) -> dict[str, Any]:
    body: dict[str, Any] = {
        "version": answer.version,
        "span": answer.span,
        "removed": answer.removed,
        "changed_elsewhere": answer.changed_elsewhere,
    }
    if answer.already:
        body["already"] = True
    if answer.spans is not None:
        body["spans"] = answer.spans
    if answer.message:
        body["message"] = answer.message
    return body


@require_GET
@json_answers
def spans(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The person's own spans; with ?version=N only if there is something newer. Brings a fresh form token along."""
    access = _enter(request, slug)
    note = _short_note(access, pk)
    reading = own_set(note.pk, access.user)
    version = reading.version if reading else 0
    body = {
        "version": version,
        "state": reading.state if reading else AnnotationSet.State.DRAFT,
        "person": access.user.pk,
        "csrf": get_token(request),
    }
    if request.GET.get("version") != str(version):
        body["spans"] = spans_of(reading.pk) if reading else []
    return JsonResponse(body)


@require_POST
@json_answers
def submit_note(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Hand the reading in. The page's script gets JSON; without it, the next note."""
    access = _enter(request, slug)
    note = _short_note(access, pk)
    data = _body(request) if request.content_type == "application/json" else {}
    _same_person(request, data)
    version = data.get("version")
    reading = submit(
        document=note,
        user=access.user,
        version=version if isinstance(version, int) else None,
        blind=access.blind,
    )
    following = f"{reverse('next_note', args=[slug])}?after={pk}"
    return _moved(request, reading, following)


@require_POST
@json_answers
def reopen_note(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Make a submitted reading a draft again."""
    access = _enter(request, slug)
    note = _short_note(access, pk)
    _same_person(request, _body(request) if request.content_type == "application/json" else {})
    reading = reopen(document=note, user=access.user)
    return _moved(request, reading, reverse("annotate", args=[slug, pk]))


def _moved(request: HttpRequest, reading: Reading, url: str) -> HttpResponse:
    if request.content_type == "application/json":
        return JsonResponse({"version": reading.version, "state": reading.state, "next": url})
    return redirect(url)


@require_GET
def next_open_note(request: HttpRequest, slug: str) -> HttpResponse:
    """The person's next open note after ?after=ID, or a page that says that there is none."""
    access = _enter(request, slug)
    after = request.GET.get("after", "")
    found = next_note(access, int(after) if after.isascii() and after.isdigit() and len(after) < 19 else None)
    if found is not None:
        return redirect("annotate", slug, found)
    total = own_work(access).total
    return render(
        request, "annotations/annotate_done.html", {"access": access, "total": total.words if total.n else ""}
    )


def _enter(request: HttpRequest, slug: str) -> Access:
    # Nobody gets here without having signed in (SignInRequired).
    return enter(cast(User, request.user), slug, Can.ANNOTATE)


def _short_note(access: Access, pk: int) -> Document:
    """The note without its text, which is long."""
    note = notes_for(access).only("id", "project_id", "length").filter(pk=pk).first()
    if note is None:
        raise Http404("no such note")
    return note


def _body(request: HttpRequest) -> dict[str, Any]:
    try:
        data = json.loads(request.body)
    except (ValueError, RecursionError):
        raise Refused("malformed", "The request is no JSON.") from None
    if not isinstance(data, dict):
        raise Refused("malformed", "The request must be a JSON object.")
    return data


def _same_person(request: HttpRequest, data: dict[str, Any]) -> None:
    """A page that one person opened must not save as another who signed in meanwhile in the same browser."""
    if data.get("person", request.user.pk) != request.user.pk:
        raise Refused(
            "person", "Somebody else is signed in now in this browser. Sign in as yourself to save.", status=409
        )
