"""Reviewing what a run proposed for one note: a page for people, JSON for its script."""

import json
from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from annotations.access import Access, Can, enter
from annotations.models import Author, Document, Verb
from annotations.selectors.review import review_state
from annotations.selectors.reviewing import neighbours, next_to_review, proposed_note, review_progress, run_author
from annotations.selectors.workbench import labels_of
from annotations.services.changes import MAX_NUMBER, MAX_OFFSET
from annotations.services.errors import ServiceError
from annotations.services.events import record
from annotations.services.review import Request as ReviewRequest
from annotations.services.review import close_review, decide, reopen_review
from annotations.services.review_log import Act
from annotations.views.requests import Request, number

View = Callable[..., HttpResponse]
ON_A_PROPOSAL = (Act.ACCEPT, Act.REJECT, Act.CORRECT)
WITH_A_PLACE = (Act.CORRECT, Act.ADD, Act.REMOVE)


def json_answers(view: View) -> View:
    """Refusals as JSON: {"error": code, "message": plain words} and, of a conflict, the review as it is now."""

    @wraps(view)
    def wrapped(request: Request, slug: str, author: int, pk: int) -> HttpResponse:
        try:
            access, run, note = _entered(request, slug, author, pk)
        except PermissionDenied:
            return JsonResponse({"error": "forbidden", "message": "You may not review in this project."}, status=403)
        except Http404:
            return JsonResponse({"error": "not-found", "message": "This note is not there for you."}, status=404)
        try:
            return view(request, access, run, note)
        except ServiceError as error:
            status = 400 if error.code == "malformed" else 409
            words = str(error)
            body = {"error": error.code, "message": f"{words[:1].upper()}{words[1:]}."}
            return JsonResponse(body | review_state(document=note, author=run), status=status)

    return wrapped


def _entered(request: Request, slug: str, author: int, pk: int) -> tuple[Access, Author, Document]:
    access = enter(request.user, slug, Can.MAKE_GOLD)
    run = run_author(access.project, author)
    note = run and proposed_note(run, pk)
    if run is None or note is None:
        raise Http404("no such review")
    return access, run, note


@require_safe
def review_next(request: Request, slug: str, author: int) -> HttpResponse:
    """The next note to review after ?after=ID, or a page that says that all are."""
    access = enter(request.user, slug, Can.MAKE_GOLD)
    run = run_author(access.project, author)
    if run is None:
        raise Http404("no such run")
    found = next_to_review(run, number(request.GET, "after") or 0)
    if found is not None:
        return redirect("review", slug, run.pk, found)
    context = {"access": access, "run": run, "progress": review_progress(run)}
    return render(request, "annotations/review_done.html", context)


@require_safe
def review(request: Request, slug: str, author: int, pk: int) -> HttpResponse:
    """The page of one note. Opening it is an event."""
    access, run, note = _entered(request, slug, author, pk)
    record(verb=Verb.NOTE_READ, actor=access.user, project_id=note.project_id, document_id=note.pk)
    labels = labels_of(access.project.pk)
    before, after = neighbours(run, note.pk)
    args = [slug, run.pk, note.pk]
    data = {
        "text": note.text,
        "labels": labels,
        "person": access.user.pk,
        "urls": {name: reverse(f"review_{name}", args=args) for name in ("decide", "close", "state")}
        | {"next": f"{reverse('review_next', args=args[:2])}?after={note.pk}"},
    } | review_state(document=note, author=run)
    context = {
        "access": access,
        "run": run,
        "note": note,
        "labels": labels,
        "progress": review_progress(run),
        "before": before,
        "after": after,
        "closed": data["closed"],
        "nothing": [],  # the script paints the proposals with their states
        "data": data,
    }
    return render(request, "annotations/review.html", context)


@require_POST
@json_answers
def review_decide(request: Request, access: Access, run: Author, note: Document) -> HttpResponse:
    """One decision. The answer is the review as it then stands."""
    data = _body(request)
    _same_person(access, data)
    return JsonResponse(decide(document=note, author=run, user=access.user, request=_read(data)))


@require_safe
@json_answers
def review_state_json(request: Request, access: Access, run: Author, note: Document) -> HttpResponse:
    """The review as it stands, with a fresh form token."""
    return JsonResponse(
        review_state(document=note, author=run) | {"person": access.user.pk, "csrf": get_token(request)}
    )


@require_POST
@json_answers
def review_close(request: Request, access: Access, run: Author, note: Document) -> HttpResponse:
    """End the review of this note. The script gets JSON; without it, the next note."""
    following = f"{reverse('review_next', args=[access.project.slug, run.pk])}?after={note.pk}"
    as_json = request.content_type == "application/json"
    if as_json:
        _same_person(access, _body(request))
    close_review(document=note, author=run, user=access.user)
    return JsonResponse({"next": following}) if as_json else redirect(following)


@require_POST
@json_answers
def review_reopen(request: Request, access: Access, run: Author, note: Document) -> HttpResponse:
    reopen_review(document=note, author=run, user=access.user)
    return redirect("review", access.project.slug, run.pk, note.pk)


# ── Reading the request ──────────────────────────────────────────────────────────────────────────────────────────────


def _body(request: Request) -> dict[str, Any]:
    try:
        data = json.loads(request.body)
    except (ValueError, RecursionError):
        raise _malformed("body", "JSON") from None
    if not isinstance(data, dict):
        raise _malformed("body", "a JSON object")
    return data


def _malformed(field: str, takes: str) -> ServiceError:
    return ServiceError(f"the field {field!r} must be {takes}", code="malformed")


def _same_person(access: Access, data: dict[str, Any]) -> None:
    """A page of somebody who is no longer signed in must not decide as somebody else."""
    if data.get("person") != access.user.pk:
        raise ServiceError("somebody else is signed in now; nothing was saved", code="person")


def _read(data: dict[str, Any]) -> ReviewRequest:
    try:
        act = Act(str(data.get("act")))
        change_id = UUID(str(data.get("change_id")))
    except ValueError:
        raise _malformed("act or change_id", f"one of {', '.join(Act)}, and a UUID") from None
    quote = data.get("quote")
    if act in (Act.CORRECT, Act.ADD) and not isinstance(quote, str):
        raise _malformed("quote", "the marked text")
    return ReviewRequest(
        change_id=change_id,
        act=act,
        proposal=_number(data, "proposal", MAX_NUMBER) if act in ON_A_PROPOSAL else None,
        place=(
            (_number(data, "start", MAX_OFFSET), _number(data, "end", MAX_OFFSET), _number(data, "label", MAX_NUMBER))
            if act in WITH_A_PLACE
            else None
        ),
        quote=quote if act in (Act.CORRECT, Act.ADD) else None,
    )


def _number(data: dict[str, Any], field: str, most: int) -> int:
    value = data.get(field)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise _malformed(field, "a whole number, 0 or more")
    return value
