"""The annotate page: one note with the annotator's own spans, as HTML, and as JSON for opening notes in place."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from annotations.annotate.events import NOTE_FETCHED
from annotations.annotate.selectors.pace import pace
from annotations.annotate.selectors.personal import labels_stamp, own_labels
from annotations.annotate.selectors.seeding import state_of
from annotations.annotate.selectors.worklist import WorkList, next_note, work_list
from annotations.annotate.views.entering import began_message, note_address, open_project
from annotations.core.access import Access, note_for, notes_for
from annotations.core.addresses import address
from annotations.core.answers import MAY_NOT_ANNOTATE, json_answers
from annotations.core.events import NOTE_READ, NoteRead, Verb
from annotations.core.labels import LabelItem
from annotations.core.requests import number
from annotations.core.spans import SpanItem, began_from, own_set, spans_of
from annotations.exchange.selectors import places_in
from annotations.models import AnnotationSetState, Document, Flag
from annotations.notes.selectors.comments import outcome_set
from annotations.projects.selectors.projects import own_work

# The parameter that names the note that was just submitted.
SUBMITTED = "submitted"
# The addresses that the page's script uses: its name for each, and the name of the URL.
URLS = {"annotate": "annotate", "data": "note_data", "start": "start_annotations"} | {
    name: name for name in ("changes", "spans", "submit", "reopen", "talk", "comments", "flag")
}  # fmt: skip


@dataclass(frozen=True)
class Opened:
    """A note as its annotator sees it: `seeded` names the run that the annotation set began from, if any."""

    note: Document
    version: int
    state: str
    seeded: str
    spans: list[SpanItem]
    labels: list[LabelItem]
    work: WorkList
    pace: str


def _open(access: Access, pk: int, *, ahead: bool = False) -> Opened:
    """Read a note, and record that it was shown, or with `ahead` that it was fetched before it is shown."""
    note = note_for(access, pk, with_source=True)
    verb: Verb[NoteRead] = NOTE_FETCHED if ahead else NOTE_READ
    verb.record(actor=access.user, project_id=note.project_id, document_id=note.pk)
    annotation_set = own_set(note.pk, access.user)
    return Opened(
        note=note,
        version=annotation_set.version if annotation_set else 0,
        state=state_of(access, note, annotation_set),
        seeded=began_from(annotation_set),
        spans=spans_of(annotation_set.pk) if annotation_set else [],
        labels=own_labels(access.project.pk, access.user.pk),
        work=work_list(access, note),
        pace=pace(access).text,
    )


@require_GET
def annotate(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The page of one note."""
    access = open_project(request, slug)
    opened = _open(access, pk)
    data = _as_json(access, opened)
    context = {
        "access": access,
        "submitted": _submitted(access, request),
        "note": opened.note,
        "labels": opened.labels,
        "spans": opened.spans,
        "state": opened.state,
        "seeded": data["seeded"],
        "work": opened.work,
        "pace": opened.pace,
        "flag_reasons": Flag.Reason.choices,
        "data": data | {"labels": opened.labels, "project": _project(access)},
    }
    return render(request, "annotate/annotate.html", context)


@require_GET
@json_answers(MAY_NOT_ANNOTATE)
def note_data(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The data of the annotate page as JSON; with ?ahead=1 for a note that may be opened next."""
    access = open_project(request, slug)
    return JsonResponse(_as_json(access, _open(access, pk, ahead=request.GET.get("ahead") == "1")))


def _project(access: Access) -> dict[str, Any]:
    """The data that is the same for all notes of the project."""
    slug = access.project.slug
    names = ("guidelines", "guidelines_beside", "keys", "search")
    version = access.project.guidelines_version
    return {"slug": slug, "guidelines": version, "urls": {name: reverse(name, args=[slug]) for name in names}}


def _as_json(access: Access, opened: Opened) -> dict[str, Any]:
    """The note's data without the labels, which the page has; `labels_stamp` tells whether they have changed."""
    note, slug = opened.note, access.project.slug
    return {
        "note": {"id": note.pk, "name": note.name, "language": note.language},
        "text": note.text,
        "spans": opened.spans,
        "version": opened.version,
        "state": opened.state,
        "seeded": began_message(opened.seeded),
        "outcome": _outcome(access, opened),
        "person": access.user.pk,
        "labels_stamp": labels_stamp(opened.labels),
        "urls": {name: reverse(view, args=[slug, note.pk]) for name, view in URLS.items()},
        "source": places_in(slug, note),
        "work": _work(slug, opened),
    }


def _outcome(access: Access, opened: Opened) -> str:
    """Address of the page that compares the person's spans with the outcome; empty until the note is adjudicated."""
    if opened.state != AnnotationSetState.SUBMITTED or outcome_set(access.project, opened.note.pk) is None:
        return ""
    return address("note.outcome", access.project.slug, opened.note.pk)


def _work(slug: str, opened: Opened) -> dict[str, Any]:
    work = opened.work
    # One reversed address gives the addresses of all notes: reversing each is slow.
    before, after = reverse("annotate", args=[slug, 0]).rsplit("/0/", 1)
    return {
        "done": work.done,
        "total": work.total,
        "more": work.more,
        "pace": opened.pace,
        "notes": [
            {
                "id": item.pk,
                "name": item.name,
                "state": item.state,
                "flagged": item.flagged,
                "url": f"{before}/{item.pk}/{after}",
            }
            for item in work.notes
        ],
        "previous": note_address(slug, work.previous),
        "next": note_address(slug, work.next),
        "next_open": note_address(slug, work.next_open),
    }


@require_GET
def next_open_note(request: HttpRequest, slug: str) -> HttpResponse:
    """Redirect to the person's next open note after ?after=ID, or show that there is none."""
    access = open_project(request, slug)
    found = next_note(access, number(request.GET, "after"))
    submitted = _submitted(access, request)
    if found is not None:
        here = reverse("annotate", args=[slug, found])
        return redirect(f"{here}?{SUBMITTED}={submitted.pk}" if submitted else here)
    total = own_work(access).total
    context = {"access": access, "total": total.text if total.n else "", "submitted": submitted}
    return render(request, "annotate/done.html", context)


def _submitted(access: Access, request: HttpRequest) -> Document | None:
    """The note of ?submitted=ID, which the page offers to reopen, without its text; None unless it is submitted."""
    pk = number(request.GET, SUBMITTED)
    if pk is None:
        return None
    annotation_set = own_set(pk, access.user)
    if annotation_set is None or annotation_set.state != AnnotationSetState.SUBMITTED:
        return None
    return notes_for(access).only("id", "project_id", "name").filter(pk=pk).first()
