"""Changes to an annotation set that the annotate page's script posts, and the current spans. Answers are JSON."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotations.annotate.selectors.personal import labels_stamp, own_labels
from annotations.annotate.selectors.seeding import state_of
from annotations.annotate.selectors.worklist import next_note
from annotations.annotate.services.annotation_set import reopen, submit, unseen_seed
from annotations.annotate.services.seeding import start_annotations
from annotations.annotate.services.spans import Answer, apply_change
from annotations.annotate.views.annotate import SUBMITTED
from annotations.annotate.views.entering import began_message, note_address, open_project
from annotations.core.access import Access, note_for, notes_for
from annotations.core.answers import MAY_NOT_ANNOTATE, json_answers
from annotations.core.changes import not_whole, read_change
from annotations.core.events import NOTE_READ
from annotations.core.requests import Request, body_of, is_json
from annotations.core.spans import began_from, own_set, spans_of
from annotations.models import AnnotationSet, AnnotationSetState, Document
from annotations.text.names import is_whole


@require_POST
@json_answers(MAY_NOT_ANNOTATE)
def changes(request: Request, slug: str, pk: int) -> HttpResponse:
    """Make one change to the person's own annotation set.

    Where the set should have been started from a run's spans and wasn't, it is started first: the answer then has these
    spans too, and `seeded`.
    """
    access = open_project(request, slug)
    note = note_for(access, pk)
    change = read_change(body_of(request))
    started = start_annotations(access=access, note=note)
    answer = apply_change(document=note, user=access.user, change=change, blind=access.blind)
    seeded = {"seeded": began_message(began_from(own_set(note.pk, access.user)))} if started else {}
    return JsonResponse(_as_json(answer) | seeded)


def _as_json(answer: Answer) -> dict[str, Any]:
    body: dict[str, Any] = {
        "version": answer.version,
        "span": answer.span,
        "removed": answer.removed,
        "changed_elsewhere": answer.changed_elsewhere,
    }
    if answer.made is not None:
        body |= {"made": answer.made, "already": answer.already}
    elif answer.already:
        body["already"] = True
    if answer.spans is not None:
        body["spans"] = answer.spans
    if answer.message:
        body["message"] = answer.message
    return body


@require_GET
@json_answers(MAY_NOT_ANNOTATE)
def spans(request: Request, slug: str, pk: int) -> HttpResponse:
    """The person's own spans, with ?version=N only if the set's version is another one, and a fresh CSRF token.

    With ?labels=STAMP also the labels, if they or their keys have changed.
    ?opened=1 says that a note that was fetched ahead is now on the screen, which is recorded like opening the page.
    """
    access = open_project(request, slug)
    note = _short_note(access, pk)
    if request.GET.get("opened") == "1":
        NOTE_READ.record(actor=access.user, project_id=note.project_id, document_id=note.pk)
    annotation_set = own_set(note.pk, access.user)
    body = _status(annotation_set) | {
        "state": state_of(access, note, annotation_set),
        "person": access.user.pk,
        "csrf": get_token(request),
    }
    if request.GET.get("version") != str(body["version"]):
        body["spans"] = spans_of(annotation_set.pk) if annotation_set else []
    if "labels" in request.GET:
        body |= _labels_if_others(access, request.GET["labels"])
    return JsonResponse(body)


def _status(annotation_set: AnnotationSet | None) -> dict[str, Any]:
    return {
        "version": annotation_set.version if annotation_set else 0,
        "state": annotation_set.state if annotation_set else AnnotationSetState.DRAFT,
        "seeded": began_message(began_from(annotation_set)),
    }


def _labels_if_others(access: Access, known: str) -> dict[str, Any]:
    labels = own_labels(access.project.pk, access.user.pk)
    stamp = labels_stamp(labels)
    return {} if stamp == known else {"labels": labels, "labels_stamp": stamp}


@require_POST
@json_answers(MAY_NOT_ANNOTATE)
def start_note(request: Request, slug: str, pk: int) -> HttpResponse:
    """Start the person's annotation set from a run's spans, where the project says so; a second call changes nothing.

    The script gets the state and the spans as they are then, a form the annotate page.
    """
    access = open_project(request, slug)
    note = _short_note(access, pk)
    start_annotations(access=access, note=note)
    if not is_json(request):
        return redirect("annotate", slug, pk)
    annotation_set = own_set(note.pk, access.user)
    spans = spans_of(annotation_set.pk) if annotation_set else []
    return JsonResponse(_status(annotation_set) | {"spans": spans})


@require_POST
@json_answers(MAY_NOT_ANNOTATE)
def submit_note(request: Request, slug: str, pk: int) -> HttpResponse:
    """Submit the annotation set. The script gets JSON, a form the next note."""
    access = open_project(request, slug)
    note = _short_note(access, pk)
    version = body_of(request).get("version") if is_json(request) else None
    if version is not None and not is_whole(version):
        raise not_whole("version")
    if start_annotations(access=access, note=note):
        # Nobody submits a run's spans unseen.
        unseen = unseen_seed(document=note, user=access.user)
        if is_json(request):
            raise unseen
        messages.warning(request, str(unseen))
        return redirect("annotate", slug, pk)
    status = submit(document=note, user=access.user, version=version, blind=access.blind)
    following_page = f"{reverse('next_note', args=[slug])}?after={pk}&{SUBMITTED}={pk}"
    if not is_json(request):
        return redirect(following_page)
    # The note itself may be found where another tab has reopened it: it isn't offered again.
    following = next_note(access, note.pk)
    return JsonResponse(
        {
            "version": status.version,
            "state": status.state,
            "next": following_page,
            "next_open": note_address(slug, following if following != note.pk else None),
        }
    )


@require_POST
@json_answers(MAY_NOT_ANNOTATE)
def reopen_note(request: Request, slug: str, pk: int) -> HttpResponse:
    """Make a submitted annotation set a draft again."""
    access = open_project(request, slug)
    note = _short_note(access, pk)
    status = reopen(document=note, user=access.user)
    here = reverse("annotate", args=[slug, pk])
    if not is_json(request):
        return redirect(here)
    return JsonResponse({"version": status.version, "state": status.state, "next": here})


def _short_note(access: Access, pk: int) -> Document:
    """The note without its text."""
    note = notes_for(access).only("id", "project_id", "length").filter(pk=pk).first()
    if note is None:
        raise Http404("no such note")
    return note
