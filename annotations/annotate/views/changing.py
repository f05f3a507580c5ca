"""Changing a reading: what the workbench's script posts, and how it hears of changes made elsewhere. JSON."""

from typing import Any

from django.http import Http404, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotations.annotate.selectors.personal import labels_stamp, own_labels
from annotations.annotate.selectors.worklist import next_note
from annotations.annotate.services.reading import reopen, submit
from annotations.annotate.services.seeding import begin_reading
from annotations.annotate.services.spans import Answer, apply_change
from annotations.core.access import Access, note_for, notes_for
from annotations.core.answers import began_words, json_answers, note_address, open_project
from annotations.core.changes import read_change
from annotations.core.events import record
from annotations.core.requests import Request, body_of, is_json
from annotations.core.spans import began_from, own_set, spans_of
from annotations.domain.numbers import is_whole
from annotations.models import AnnotationSet, Document, Verb


@require_POST
@json_answers
def changes(request: Request, slug: str, pk: int) -> HttpResponse:
    """One change of the person's own reading."""
    access = open_project(request, slug)
    note = note_for(access, pk)
    change = read_change(body_of(request))
    answer = apply_change(document=note, user=access.user, change=change, blind=access.blind)
    return JsonResponse(_as_json(answer))


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
@json_answers
def spans(request: Request, slug: str, pk: int) -> HttpResponse:
    """The person's own spans; with ?version=N only if there is something newer. Brings a fresh form token along.

    With ?labels=STAMP also the labels, if they or their keys are others now.
    ?opened=1 says that a note that was fetched ahead is on the screen now: that is an event, as opening the page is.
    """
    access = open_project(request, slug)
    note = _short_note(access, pk)
    opened = request.GET.get("opened") == "1"
    if opened:
        record(verb=Verb.NOTE_READ, actor=access.user, project_id=note.project_id, document_id=note.pk)
    reading = own_set(note.pk, access.user)
    if reading is None and opened and begin_reading(access=access, note=note):
        reading = own_set(note.pk, access.user)
    version = reading.version if reading else 0
    body = {
        "version": version,
        "state": reading.state if reading else AnnotationSet.State.DRAFT,
        "seeded": began_words(began_from(reading)),
        "person": access.user.pk,
        "csrf": get_token(request),
    }
    if request.GET.get("version") != str(version):
        body["spans"] = spans_of(reading.pk) if reading else []
    if "labels" in request.GET:
        body |= _labels_if_others(access, request.GET["labels"])
    return JsonResponse(body)


def _labels_if_others(access: Access, known: str) -> dict[str, Any]:
    labels = own_labels(access.project.pk, access.user.pk)
    stamp = labels_stamp(labels)
    return {} if stamp == known else {"labels": labels, "labels_stamp": stamp}


@require_POST
@json_answers
def submit_note(request: Request, slug: str, pk: int) -> HttpResponse:
    """Hand the reading in. The page's script gets JSON; without it, the next note."""
    access = open_project(request, slug)
    note = _short_note(access, pk)
    version = body_of(request).get("version") if is_json(request) else None
    reading = submit(
        document=note,
        user=access.user,
        version=version if is_whole(version) else None,
        blind=access.blind,
    )
    on = f"{reverse('next_note', args=[slug])}?after={pk}"
    if not is_json(request):
        return redirect(on)
    # What there is to do now; not this one again, submitted twice in two tabs or not.
    following = next_note(access, note.pk)
    return JsonResponse(
        {
            "version": reading.version,
            "state": reading.state,
            "next": on,
            "next_open": note_address(slug, following if following != note.pk else None),
        }
    )


@require_POST
@json_answers
def reopen_note(request: Request, slug: str, pk: int) -> HttpResponse:
    """Make a submitted reading a draft again."""
    access = open_project(request, slug)
    note = _short_note(access, pk)
    reading = reopen(document=note, user=access.user)
    here = reverse("annotate", args=[slug, pk])
    if not is_json(request):
        return redirect(here)
    return JsonResponse({"version": reading.version, "state": reading.state, "next": here})


def _short_note(access: Access, pk: int) -> Document:
    """The note without its text, which is long."""
    note = notes_for(access).only("id", "project_id", "length").filter(pk=pk).first()
    if note is None:
        raise Http404("no such note")
    return note
