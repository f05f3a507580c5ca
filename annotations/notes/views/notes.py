"""Pages of the list of notes, and of one note with all its annotation sets."""

from urllib.parse import urlencode
from uuid import UUID, uuid4

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from annotations.core.access import Access, Can, note_for, sets_for
from annotations.core.forms import error_beside
from annotations.core.labels import labels_of
from annotations.core.requests import FORM, Request, in_project, number, posted, ticked
from annotations.core.services import NOTE_READ
from annotations.core.spans import spans_of
from annotations.core.suggestions import hidden_in
from annotations.models import Document
from annotations.notes.forms import SearchForm, initial_of
from annotations.notes.selectors.comments import flags_of, may_comment, page_of, placed
from annotations.notes.selectors.in_context import SetSummary, annotation_sets_of, choose, compare, label_counts
from annotations.notes.selectors.notes import ANNOTATORS_WORDS, Show, choices, neighbors, note_page
from annotations.notes.selectors.places import own_places
from annotations.notes.selectors.places import places as places_of
from annotations.notes.selectors.searching import Options, recent_searches, results, search_of, searched_name
from annotations.notes.services.searching import begin_name_search, begin_search, record_search
from annotations.projects.services.assigning import annotators_of, assign_list, released_notes, take_back


@in_project(Can.SEE_PROJECT, *FORM)
def notes(request: Request, access: Access) -> HttpResponse:
    """The list of notes. A POST stores a search by name and redirects to the list."""
    if request.method == "POST":
        return redirect(_search_url(request, access))
    offered = choices(access)
    shown = _show(request.GET, offered)
    token = request.GET.get("found", "")
    name = searched_name(access, token) or None
    page = note_page(access, shown, name=name, after=number(request.GET, "after"), before=number(request.GET, "before"))
    context = {
        "page": page,
        "shown": shown,
        "choices": [(show.value, _label(access, show)) for show in offered],
        "label": _label(access, shown),
        "name": name or "",
        "token": token if name else "",
        "forgotten": bool(token and not name),
        # Only annotators work through assigned notes, and only this setting releases notes.
        "released": released_notes(access.project, access.user) if access.blind and access.project.idle_days else 0,
    }
    template = "notes/rows.html" if request.htmx else "notes/list.html"
    return render(request, template, context)


def _label(access: Access, show: Show) -> str:
    """Title of a filter for this user."""
    return str(ANNOTATORS_WORDS.get(show, show.label) if access.blind else show.label)


def _search_url(request: Request, access: Access) -> str:
    url = reverse("notes", args=[access.slug])
    name = request.POST.get("name", "").strip()[:255]
    if not name:
        return url
    return f"{url}?found={begin_name_search(access=access, name=name).pk}"


def _show(data: QueryDict, offered: list[Show]) -> Show:
    """The requested filter, or all notes if the user doesn't have this filter."""
    wanted = data.get("state", "")
    return next((show for show in offered if show == wanted), Show.ALL)


def _kept(query: QueryDict, shown: Show) -> str:
    """What the links to other notes and annotation sets carry along: the listed notes, and the view of the text."""
    view = query.get("view", "")
    kept = {"state": "" if shown == Show.ALL else str(shown), "view": view if view.isalpha() and len(view) < 20 else ""}
    return urlencode({key: value for key, value in kept.items() if value})


@sensitive_post_parameters("text")
@in_project(Can.SEE_PROJECT, "POST")
def places(request: Request, access: Access) -> HttpResponse:
    """The places whose names contain `text`, as a fragment. A POST, so that names of notes are in no address or log."""
    text = request.POST.get("text", "").strip()[:255]
    context = {"groups": places_of(access, text), "text": text}
    return render(request, "notes/places.html", context)


@require_POST
def my_places(request: Request) -> HttpResponse:
    """The person's projects and account pages whose names contain `text`, as a fragment."""
    text = request.POST.get("text", "").strip()[:255]
    return render(request, "notes/places.html", {"groups": own_places(request.user, text), "text": text})


@in_project(Can.READ_NOTES)
def note(request: Request, access: Access, pk: int) -> HttpResponse:
    """The text with one annotation set, and its differences from gold. Opening the page is recorded."""
    document = note_for(access, pk)
    annotation_sets = annotation_sets_of(sets_for(access).filter(document=document))
    chosen = _chosen(request, annotation_sets)
    gold = next((annotation_set for annotation_set in annotation_sets if annotation_set.is_gold), None)
    draft = next((annotation_set for annotation_set in annotation_sets if annotation_set.is_review_draft), None)
    labels = labels_of(access.project.pk)
    hidden = hidden_in(chosen.pk) if chosen else set()
    spans = [span for span in spans_of(chosen.pk) if span["id"] not in hidden] if chosen else []
    NOTE_READ.record(actor=access.user, note=document, data={"set": chosen.pk} if chosen else {})
    shown = _show(request.GET, choices(access))
    previous, following = neighbors(access, shown, pk)
    before = number(request.GET, "before")
    said = page_of(access, document, before=before)
    beside = compare(document.text, spans, spans_of(gold.pk), labels) if gold and chosen and gold != chosen else None
    context = {
        "note": document,
        "annotation_sets": annotation_sets,
        "chosen": chosen,
        "gold": gold,
        "draft": draft,
        "labels": labels,
        "spans": spans,
        "counts": label_counts(spans, labels),
        "beside": beside,
        "previous": previous,
        "following": following,
        "state": "" if shown == Show.ALL else shown,
        "kept": _kept(request.GET, shown),
        "placed": placed(document.text, said.threads),
        "earlier": said.earlier,
        "newest": before is None,
        "flags": flags_of(access, document),
        "may_comment": may_comment(access),
        # One page adds at most one comment, even if the form is sent twice.
        "change_id": uuid4(),
        "comments_url": reverse("comments", args=[access.slug, pk]),
        "flag_url": reverse("flag", args=[access.slug, pk]),
    }
    return render(request, "notes/note.html", context)


def _chosen(request: Request, annotation_sets: list[SetSummary]) -> SetSummary | None:
    wanted = number(request.GET, "set")
    try:
        return choose(annotation_sets, -1 if wanted is None and "set" in request.GET else wanted)
    except LookupError as error:
        raise Http404("This note has no such annotation set.") from error


def after_gold(request: Request, access: Access, pk: int, gold: int) -> str:
    """URL of the next note in the list, if requested, else of the gold of this note."""
    state = request.POST.get("state", "")
    if request.POST.get("then") == "next":
        following = neighbors(access, _show(request.POST, choices(access)), pk)[1]
        if following is not None:
            return note_url(access.slug, following, state=state)
    return note_url(access.slug, pk, set=gold, state=state)


def note_url(slug: str, pk: int, **query: object) -> str:
    """URL of a note's page. `state` is dropped if it is not a filter of the list."""
    kept = {name: value for name, value in query.items() if value}
    if "state" in kept and kept["state"] not in Show.values:
        del kept["state"]
    return reverse("note", args=[slug, pk]) + (f"?{urlencode(kept)}" if kept else "")


# Annotators take their released notes back.


@in_project(Can.ANNOTATE, "POST")
def take_back_notes(request: Request, access: Access) -> HttpResponse:
    """Assign released notes to the person again who had them, except those that went to others."""
    taken = take_back(project=access.project, user=access.user)
    message = ngettext("%(count)d note is assigned to you again.", "%(count)d notes are assigned to you again.", taken)
    messages.success(request, message % {"count": taken} if taken else _("These notes went to other annotators."))
    return redirect("notes", access.slug)


@in_project(Can.MANAGE, "POST")
def notes_assign(request: Request, access: Access) -> HttpResponse:
    """Ask who gets the ticked notes; with `annotator`, assign them."""
    notes = Document.objects.filter(project=access.project, pk__in=ticked(request)).order_by("pk")
    names = list(notes.values_list("name", flat=True))
    people = annotators_of(access.project)
    annotator = next((one for one in people if one.pk == number(request.POST, "annotator")), None)
    if not names or not people:
        messages.error(
            request,
            _("No note is ticked. Tick the notes to assign.") if people else _("No annotators yet. Add people first."),
        )
    elif annotator is None:
        return render(request, "notes/assign.html", {"notes": notes.only("pk", "name"), "people": people})
    else:
        assign_list(project=access.project, user=annotator, names=names, actor=access.user)
        message = ngettext("%(n)d note is assigned to %(name)s.", "%(n)d notes are assigned to %(name)s.", len(names))
        messages.success(request, message % {"n": len(names), "name": annotator.username})
    return redirect("notes", access.slug)


# Pages to search a project's notes: the form, and the results at an address with a random id.


@sensitive_post_parameters()
@in_project(Can.SEE_PROJECT, *FORM)
def search(request: Request, access: Access) -> HttpResponse:
    """The search form. A POST stores the search and redirects to its results."""
    form = SearchForm(posted(request), access=access)
    if request.method == "POST" and form.is_valid():
        with error_beside(form):
            begun = begin_search(access=access, text=form.cleaned_data["text"], options=form.options)
            return HttpResponseRedirect(reverse("search_results", args=[access.slug, begun.pk]), status=303)
    context = {"form": form, "recent": recent_searches(access)}
    return render(request, "notes/search.html", context, status=422 if form.errors else 200)


@in_project(Can.SEE_PROJECT)
def search_results(request: Request, access: Access, search: UUID) -> HttpResponse:
    """Notes with hits, after ?after=ID. 404 for searches of others and for expired ones."""
    found = search_of(access, search)
    if found is None:
        raise Http404("This search does not exist or has expired.")
    after = number(request.GET, "after") or 0
    page = results(access, found, after=after)
    record_search(access=access, search=found, found=page, after=after)
    options = Options.of(found.options)
    context = {
        "search": found,
        "options": options,
        "form": SearchForm(access=access, initial=initial_of(found.text, options)),
        "page": page,
        "after": after,
    }
    return render(request, "notes/search_results.html", context)
