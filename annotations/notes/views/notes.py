"""The list of notes, and one note with everyone's readings."""

from urllib.parse import urlencode
from uuid import uuid4

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from annotations.core.access import Access, Can, enter, note_for, notes_for
from annotations.core.barred import RUNS_BARRED, barred_kinds
from annotations.core.events import record
from annotations.core.hiding import hidden_in
from annotations.core.labels import labels_of
from annotations.core.requests import Request, number
from annotations.core.spans import spans_of
from annotations.models import AnnotationSet, Author, Document, Verb
from annotations.notes.selectors.comments import may_comment, page_of, placed
from annotations.notes.selectors.flags import flags_of
from annotations.notes.selectors.notes import ANNOTATORS_WORDS, Show, choices, neighbours, note_page
from annotations.notes.selectors.readings import Reading, choose, compare, label_counts, readings_of
from annotations.notes.selectors.searching import name_sought
from annotations.notes.services.searching import begin_name_search


@require_http_methods(["GET", "HEAD", "POST"])
def notes(request: Request, slug: str) -> HttpResponse:
    """The list; a POST begins a search by name and leads to the list again."""
    access = enter(request.user, slug)
    if request.method == "POST":
        return redirect(_search_url(request, access))
    offered = choices(access)
    shown = _show(request.GET, offered)
    token = request.GET.get("found", "")
    name = name_sought(access, token) or None
    page = note_page(access, shown, name=name, after=number(request.GET, "after"), before=number(request.GET, "before"))
    context = {
        "access": access,
        "page": page,
        "shown": shown,
        "choices": [(show.value, _words(access, show)) for show in offered],
        "label": _words(access, shown),
        "name": name or "",
        "token": token if name else "",
        "forgotten": bool(token and not name),
    }
    template = "notes/rows.html" if request.htmx else "notes/list.html"
    return render(request, template, context)


def _words(access: Access, show: Show) -> str:
    """What a filter is called for this person."""
    return str(ANNOTATORS_WORDS.get(show, show.label) if access.blind else show.label)


def _search_url(request: Request, access: Access) -> str:
    url = reverse("notes", args=[access.project.slug])
    name = request.POST.get("name", "").strip()[:255]
    if not name:
        return url
    return f"{url}?found={begin_name_search(access=access, name=name).pk}"


def _show(data: QueryDict, offered: list[Show]) -> Show:
    """The filter asked for; all notes where it is unknown or not this person's."""
    wanted = data.get("state", "")
    return next((show for show in offered if show == wanted), Show.ALL)


@require_safe
def note(request: Request, slug: str, pk: int) -> HttpResponse:
    """The text with one reading painted, beside what only that reading or only the gold has. Opening it is an event."""
    access = enter(request.user, slug, Can.READ_NOTES)
    document = note_for(access, pk)
    barred = barred_kinds(access)
    readings = readings_of(document, without=barred)
    chosen = _chosen(request, readings)
    gold = next((reading for reading in readings if reading.is_gold), None)
    labels = labels_of(access.project.pk)
    hidden = hidden_in(chosen.pk) if chosen else set()
    spans = [span for span in spans_of(chosen.pk) if span["id"] not in hidden] if chosen else []
    record(
        verb=Verb.NOTE_READ,
        actor=access.user,
        project_id=document.project_id,
        document_id=document.pk,
        data={"set": chosen.pk} if chosen else {},
    )
    shown = _show(request.GET, choices(access))
    previous, following = neighbours(access, shown, pk)
    before = number(request.GET, "before")
    said = page_of(access, document, before=before)
    beside = compare(document.text, spans, spans_of(gold.pk), labels) if gold and chosen and gold != chosen else None
    context = {
        "access": access,
        "note": document,
        "readings": readings,
        "runs_barred": RUNS_BARRED if Author.Kind.RUN in barred else "",
        "chosen": chosen,
        "gold": gold,
        "labels": labels,
        "spans": spans,
        "counts": label_counts(spans, labels),
        "beside": beside,
        "previous": previous,
        "following": following,
        "state": "" if shown == Show.ALL else shown,
        "placed": placed(document.text, said.threads),
        "earlier": said.earlier,
        "newest": before is None,
        "flags": flags_of(access, document),
        "may_comment": may_comment(access),
        # One comment from one look at the page, however often it is sent.
        "change_id": uuid4(),
        "comments_url": reverse("comments", args=[slug, pk]),
        "flag_url": reverse("flag", args=[slug, pk]),
    }
    return render(request, "notes/note.html", context)


def _chosen(request: Request, readings: list[Reading]) -> Reading | None:
    wanted = number(request.GET, "set")
    if "set" in request.GET and wanted is None:
        raise Http404("no such reading")
    try:
        return choose(readings, wanted)
    except LookupError as error:
        raise Http404("no such reading") from error


def _for_gold(request: Request, slug: str, pk: int) -> tuple[Access, Document]:
    access = enter(request.user, slug, Can.MAKE_GOLD)
    return access, get_object_or_404(notes_for(access).select_related("project").defer("text"), pk=pk)


def _gold_version(document: Document) -> int | None:
    gold = AnnotationSet.objects.filter(document=document, author__kind=Author.Kind.GOLD)
    return gold.values_list("version", flat=True).first()


def _after_gold(request: Request, access: Access, pk: int, gold: int) -> str:
    """The next note of the list where that was asked for, else the same note's gold."""
    state = request.POST.get("state", "")
    if request.POST.get("then") == "next":
        following = neighbours(access, _show(request.POST, choices(access)), pk)[1]
        if following is not None:
            return _note_url(access.project.slug, following, state=state)
    return _note_url(access.project.slug, pk, set=gold, state=state)


def _note_url(slug: str, pk: int, **query: object) -> str:
    """The page of a note; `state` goes along only where it is one of the list's filters."""
    kept = {name: value for name, value in query.items() if value}
    if "state" in kept and kept["state"] not in Show.values:
        del kept["state"]
    return reverse("note", args=[slug, pk]) + (f"?{urlencode(kept)}" if kept else "")
