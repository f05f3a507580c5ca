"""The annotate page: one note with the annotator's own spans, as HTML and as JSON, and the changes of its script."""

from typing import Any, NamedTuple

from django.contrib import messages
from django.http import Http404, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotations.annotate.events import NOTE_FETCHED
from annotations.annotate.selectors.candidates import candidates_in, own_strings
from annotations.annotate.selectors.personal import PageLabels, page_labels
from annotations.annotate.selectors.worklist import WorkList, next_note, pace, work_list
from annotations.annotate.services.annotation_set import hand_in, reopen, seeded_from, start_annotations, state_of
from annotations.annotate.services.spans import apply_change
from annotations.core.access import Access, Can, enter, note_for, notes_for
from annotations.core.addresses import address, path_to
from annotations.core.answers import MAY_NOT_ANNOTATE, json_answers
from annotations.core.changes import ChangeRefused, not_whole, read_change
from annotations.core.requests import Request, body_of, in_project, is_json, number
from annotations.core.services import NOTE_READ, NoteRead, Verb
from annotations.core.spans import own_set, spans_of
from annotations.exchange.selectors import places_in
from annotations.models import AnnotationSet, AnnotationSetState, Document, DocumentSource
from annotations.notes.selectors.comments import outcome_set
from annotations.projects.selectors.projects import own_work
from annotations.text.names import is_whole

# The parameter that names the note that was just submitted.
SUBMITTED = "submitted"
# The addresses that the page's script uses: its name for each, and the name of the URL.
URLS = {"annotate": "annotate", "data": "note_data", "start": "start_annotations"} | {
    name: name for name in ("candidates", "changes", "spans", "submit", "reopen", "talk", "comments", "flag")
}  # fmt: skip


class OpenedNote(NamedTuple):
    """A note as its annotator sees it, and its data as JSON."""

    note: Document
    labels: PageLabels
    work: WorkList
    data: dict[str, Any]


def _open(access: Access, pk: int, *, ahead: bool = False) -> OpenedNote:
    """Read a note, and record that it was shown, or with `ahead` that it was fetched before it is shown.

    The data lack the labels, which the page has; the stamp tells whether they have changed.
    """
    note, slug = note_for(access, pk, with_source=True), access.slug
    verb: Verb[NoteRead] = NOTE_FETCHED if ahead else NOTE_READ
    verb.record(actor=access.user, note=note)
    annotation_set = own_set(note.pk, access.user)
    state = state_of(access, note, annotation_set)
    labels, work = page_labels(access.project.pk, access.user.pk), work_list(access, note)
    data = _status(annotation_set) | {
        "note": {"id": note.pk, "name": note.name, "language": note.language},
        "text": note.text,
        "spans": spans_of(annotation_set.pk) if annotation_set else [],
        "state": state,
        "outcome": _outcome(access, note, state),
        "person": access.user.pk,
        "labels_stamp": labels.stamp,
        "urls": {name: path_to(page, slug, note.pk) for name, page in URLS.items()},
        "source": places_in(slug, note),
        "recording": _recording(slug, note),
        "work": _work(slug, work, pace(access, work.done)),
    }
    return OpenedNote(note, labels, work, data)


@in_project(Can.ANNOTATE, "GET")
def annotate(request: Request, access: Access, pk: int) -> HttpResponse:
    """The page of one note."""
    note, labels, work, data = _open(access, pk)
    # The data that are the same for all notes of the project.
    names = ("guidelines", "guidelines_beside", "keys", "search")
    urls = {name: path_to(name, access.slug) for name in names}
    project = {"slug": access.slug, "guidelines": access.project.guidelines_version, "urls": urls}
    context = {
        "submitted": _submitted(access, request),
        "note": note,
        "labels": labels.items,
        "label_buttons": labels.buttons,
        "spans": data["spans"],
        "state": data["state"],
        "seeded": data["seeded"],
        "work": work,
        "pace": data["work"]["pace"],
        "data": data | {"labels": labels.items, "project": project},
    }
    return render(request, "annotate/annotate.html", context)


@require_GET
@json_answers(MAY_NOT_ANNOTATE)
def note_data(request: Request, slug: str, pk: int) -> HttpResponse:
    """The data of the annotate page as JSON; with ?ahead=1 for a note that may be opened next."""
    access = enter(request.user, slug, Can.ANNOTATE)
    return JsonResponse(_open(access, pk, ahead=request.GET.get("ahead") == "1").data)


def _recording(slug: str, note: Document) -> str:
    """Address of the page of the recording whose transcript the note is; empty for another note."""
    source: DocumentSource | None = getattr(note, "source", None)
    is_transcript = source is not None and source.kind == DocumentSource.RECORDING
    return address("note.recording", slug, note.pk) if is_transcript else ""


def _outcome(access: Access, note: Document, state: str) -> str:
    """Address of the page that compares the person's spans with the outcome; empty until the note is adjudicated."""
    if state != AnnotationSetState.SUBMITTED or outcome_set(access.project, note.pk) is None:
        return ""
    return address("note.outcome", access.slug, note.pk)


def _work(slug: str, work: WorkList, pace: str) -> dict[str, Any]:
    before, after = path_to("annotate", slug, 0).rsplit("/0/", 1)
    return {
        "done": work.done,
        "total": work.total,
        "more": work.more,
        "pace": pace,
        "notes": [
            {"id": pk, "name": name, "state": state, "flagged": flagged, "url": f"{before}/{pk}/{after}"}
            for pk, name, state, flagged in work.notes
        ],
        "previous": _note_address(slug, work.previous),
        "next": _note_address(slug, work.next),
        "next_open": _note_address(slug, work.next_open),
    }


def _note_address(slug: str, pk: int | None) -> dict[str, Any] | None:
    """Return the id of a note with the URLs of its page and of its JSON data; None without a note."""
    if pk is None:
        return None
    return {"id": pk, "url": path_to("annotate", slug, pk), "data": path_to("note_data", slug, pk)}


@in_project(Can.ANNOTATE, "GET")
def next_open_note(request: Request, access: Access) -> HttpResponse:
    """Redirect to the person's next open note after ?after=ID, or show that there is none."""
    found = next_note(access, number(request.GET, "after"))
    submitted = _submitted(access, request)
    if found is not None:
        here = path_to("annotate", access.slug, found)
        return redirect(f"{here}?{SUBMITTED}={submitted.pk}" if submitted else here)
    total = own_work(access).total
    context = {"total": total.text if total.n else "", "submitted": submitted}
    return render(request, "annotate/done.html", context)


def _submitted(access: Access, request: Request) -> Document | None:
    """The note of ?submitted=ID, which the page offers to reopen, without its text; None unless it is submitted."""
    pk = number(request.GET, SUBMITTED)
    if pk is None:
        return None
    annotation_set = own_set(pk, access.user)
    if annotation_set is None or annotation_set.state != AnnotationSetState.SUBMITTED:
        return None
    return notes_for(access).only("id", "project_id", "name").filter(pk=pk).first()


# ── Requests of the script ───────────────────────────────────────────────────────────────────────────────────────────


@require_POST
@json_answers(MAY_NOT_ANNOTATE, only_json=True)
def changes(request: Request, slug: str, pk: int) -> HttpResponse:
    """Make one change to the person's own annotation set.

    Where this change began the set from a run's spans, the answer has these spans too, and `seeded`.
    """
    access = enter(request.user, slug, Can.ANNOTATE)
    note = note_for(access, pk)
    return JsonResponse(apply_change(access=access, note=note, change=read_change(request.json)).as_json())


@require_GET
@json_answers(MAY_NOT_ANNOTATE)
def spans(request: Request, slug: str, pk: int) -> HttpResponse:
    """The person's own spans, with ?version=N only if the set's version is another one, and a fresh CSRF token.

    With ?labels=STAMP also the labels, if they or their keys have changed.
    ?opened=1 says that a note that was fetched ahead is now on the screen, which is recorded like opening the page.
    """
    access, note = _short_note(request, slug, pk)
    if request.GET.get("opened") == "1":
        NOTE_READ.record(actor=access.user, note=note)
    annotation_set = own_set(note.pk, access.user)
    body = _status(annotation_set) | {
        "state": state_of(access, note, annotation_set),
        "person": access.user.pk,
        "csrf": get_token(request),
    }
    if request.GET.get("version") != str(body["version"]):
        body["spans"] = spans_of(annotation_set.pk) if annotation_set else []
    if "labels" in request.GET:
        labels = page_labels(access.project.pk, access.user.pk)
        if labels.stamp != request.GET["labels"]:
            body |= {"labels": labels.items, "labels_stamp": labels.stamp}
    return JsonResponse(body)


@require_GET
@json_answers(MAY_NOT_ANNOTATE)
def candidates(request: Request, slug: str, pk: int) -> HttpResponse:
    """What the script offers in a note: candidates by the rules if the project shows them, and the person's strings."""
    access = enter(request.user, slug, Can.ANNOTATE)
    note = note_for(access, pk)
    body = {"candidates": candidates_in(access, note), "strings": own_strings(access, note)}
    return JsonResponse(body | {"shown": access.project.candidates, "person": access.user.pk})


def _status(annotation_set: AnnotationSet | None) -> dict[str, Any]:
    """Version and state of an annotation set, and the sentence that says which run's spans it began from, if any."""
    return {
        "version": annotation_set.version if annotation_set else 0,
        "state": annotation_set.state if annotation_set else AnnotationSetState.DRAFT,
        "seeded": seeded_from(annotation_set),
    }


@require_POST
@json_answers(MAY_NOT_ANNOTATE)
def start_note(request: Request, slug: str, pk: int) -> HttpResponse:
    """Start the person's annotation set from a run's spans, where the project says so; a second call changes nothing.

    The script gets the state and the spans as they are then, a form the annotate page.
    """
    access, note = _short_note(request, slug, pk)
    start_annotations(access=access, note=note)
    if not is_json(request):
        return redirect("annotate", slug, pk)
    annotation_set = own_set(note.pk, access.user)
    return JsonResponse(_status(annotation_set) | {"spans": spans_of(annotation_set.pk) if annotation_set else []})


@require_POST
@json_answers(MAY_NOT_ANNOTATE)
def submit_note(request: Request, slug: str, pk: int) -> HttpResponse:
    """Submit the annotation set. The script gets JSON, a form the next note."""
    access, note = _short_note(request, slug, pk)
    version = body_of(request).get("version") if is_json(request) else None
    if version is not None and not is_whole(version):
        raise not_whole("version")
    try:
        status = hand_in(access=access, note=note, version=version)
    except ChangeRefused as refused:
        if is_json(request) or refused.code != "unseen":
            raise
        messages.warning(request, str(refused))
        return redirect("annotate", slug, pk)
    following_page = f"{reverse('next_note', args=[slug])}?after={pk}&{SUBMITTED}={pk}"
    if not is_json(request):
        return redirect(following_page)
    # The note itself may be found where another tab has reopened it: it isn't offered again.
    following = next_note(access, note.pk)
    next_open = _note_address(slug, following if following != note.pk else None)
    body = {"version": status.version, "state": status.state, "next": following_page, "next_open": next_open}
    return JsonResponse(body)


@require_POST
@json_answers(MAY_NOT_ANNOTATE)
def reopen_note(request: Request, slug: str, pk: int) -> HttpResponse:
    """Make a submitted annotation set a draft again."""
    access, note = _short_note(request, slug, pk)
    status = reopen(document=note, user=access.user)
    here = reverse("annotate", args=[slug, pk])
    if not is_json(request):
        return redirect(here)
    return JsonResponse({"version": status.version, "state": status.state, "next": here})


def _short_note(request: Request, slug: str, pk: int) -> tuple[Access, Document]:
    """Enter the project, and read the note without its text."""
    access = enter(request.user, slug, Can.ANNOTATE)
    note = notes_for(access).only("id", "project_id", "length").filter(pk=pk).first()
    if note is None:
        raise Http404("no such note")
    note.project = access.project
    return access, note
