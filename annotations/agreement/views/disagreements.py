"""The pages of disagreements: by location in its sentence, with causes and discussion, and by sentence."""

from collections.abc import Mapping
from dataclasses import asdict
from itertools import combinations, islice
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotations.agreement.forms import AmendmentForm
from annotations.agreement.rules.disagreement import DisagreementKind
from annotations.agreement.rules.units import ComparedUnit
from annotations.agreement.selectors.disagreements import NO_PAIRS, UNTAGGED, Filters, counts, differences, page, rounds
from annotations.agreement.selectors.sentences import SENTENCES, columns, sentence_lines, sentences, used_columns
from annotations.agreement.services.comparing import compare_few
from annotations.agreement.services.figures import amend, amended, change_cause, next_number
from annotations.agreement.templatetags.differences import KINDS
from annotations.agreement.views.causes import CAUSES, answer_causes, changes_causes
from annotations.core.access import Access, Can, note_for
from annotations.core.answers import csv_answer, fresh_token
from annotations.core.forms import add_error
from annotations.core.labels import labels_of
from annotations.core.requests import (
    FORM,
    Request,
    choice_of,
    enter_page,
    in_project,
    number,
    paged,
    posted,
    uuid_of,
    wants_json,
)
from annotations.core.services import FILE_DOWNLOADED, ServiceError, record_reads
from annotations.models import Amendment, Author, AuthorKind, CauseKind, Document
from annotations.notes.selectors.comments import may_comment, threads
from annotations.notes.services.talk import ThreadSubject, add_comment, answer
from annotations.text.names import MAX_OFFSET, whole_number


@in_project(Can.READ_NOTES)
def disagreements(request: Request, access: Access) -> HttpResponse:
    """Show a page of locations. Notes with changed annotations are compared first, many by a job."""
    if wants_json(request):
        return fresh_token(request)
    context: dict[str, Any] = {"left": compare_few(access.project)}
    filters, context["notice"] = filters_of(request, access)
    if not context["left"]:
        context |= _locations(request, access, filters)
    return render(request, "agreement/disagreements.html", context | offered(access, filters))


def filters_of(request: Request, access: Access) -> tuple[Filters, str]:
    """The filters of the query, without values that don't apply here, and a message about the pair of annotators."""
    data, notice = request.GET, ""
    pair = pair_of(data, "pair")
    if pair and access.unnamed:
        pair, notice = None, str(NO_PAIRS)
    return Filters(
        kind=choice_of(data, "kind", DisagreementKind, ""),
        label=number(data, "label"),
        pair=pair,
        note=number(data, "note"),
        round=number(data, "round"),
        cause=choice_of(data, "cause", [*CauseKind.values, UNTAGGED], ""),
        unit=choice_of(data, "unit", ComparedUnit, ""),
        everyone=data.get("annotation_sets") == "all",
    ), notice


def offered(access: Access, filters: Filters) -> dict[str, Any]:
    """The choices of the filters, and the chosen values."""
    project = access.project
    authors = Author.objects.filter(project=project, kind=AuthorKind.ANNOTATOR).order_by("name")
    named = [] if access.unnamed else list(authors.values_list("pk", "name"))
    note = Document.objects.filter(project=project, pk=filters.note) if filters.note else Document.objects.none()
    return {
        "filters": filters,
        "labels": labels_of(project.pk),
        "pairs": [
            (f"{one}-{other}", f"{a} – {b}", set(filters.pair or ()) == {one, other})
            for (one, a), (other, b) in combinations(named, 2)
        ],
        "rounds": rounds(project),
        "causes": CAUSES,
        "untagged": UNTAGGED,
        "note_name": note.values_list("name", flat=True).first(),
        "may_tag": access.can(Can.MAKE_GOLD),
        "may_comment": may_comment(access),
    }


def _locations(request: Request, access: Access, filters: Filters) -> dict[str, Any]:
    after, before = pair_of(request.GET, "after"), pair_of(request.GET, "before")
    found = page(access.project, filters, after=after, before=before, hidden=access.unnamed)
    notes = (shown.row.document_id for shown in found.locations)
    record_reads(actor=access.user, project_id=access.project.pk, notes=notes, what="disagreements")
    query = query_of(filters)
    counted = counts(differences(access.project, filters))
    return {
        "page": found,
        "counts": counted,
        "kinds": [
            {
                "name": name,
                "text": text,
                "count": counted.kinds[kind],
                "chosen": filters.kind == kind,
                "query": query_of(filters, kind="" if filters.kind == kind else kind.value),
            }
            for kind, (name, _word, text) in KINDS.items()
        ],
        "query": query,
        "empty": not found.locations,
        "narrowed": bool(query) or {"after", "before"} & set(request.GET),
    }


def query_of(filters: Filters, **other: str) -> str:
    """The filters as the query part of an address."""
    parts = asdict(filters) | {
        "pair": f"{filters.pair[0]}-{filters.pair[1]}" if filters.pair else "",
        "annotation_sets": "all" if filters.everyone else "",
        "everyone": "",
    }
    return "&".join(f"{name}={value}" for name, value in (parts | other).items() if value not in ("", None))


def pair_of(data: Mapping[str, Any], name: str) -> tuple[int, int] | None:
    """Two numbers with a hyphen between them, or None."""
    one, other = (whole_number(word) for word in str(data.get(name, "")).partition("-")[::2])
    return None if one is None or other is None else (one, other)


# ── By sentence: one row for each sentence, one column for each annotator ────────────────────────────────────────────


@in_project(Can.READ_NOTES)
def disagreement_sentences(request: Request, access: Access) -> HttpResponse:
    """Show a page of sentences. Notes with changed annotations are compared first, many by a job."""
    context: dict[str, Any] = {"left": compare_few(access.project)}
    filters, context["notice"] = filters_of(request, access)
    context["query"] = query_of(filters)
    if not context["left"]:
        context |= _sentences(request, access, filters)
    return render(request, "agreement/sentences.html", context | offered(access, filters))


def _sentences(request: Request, access: Access, filters: Filters) -> dict[str, Any]:
    after = pair_of(request.GET, "after")
    found = list(islice(sentences(access.project, filters, hidden=access.unnamed, after=after), SENTENCES + 1))
    shown = found[:SENTENCES]
    notes = (one.stretch.document_id for one in shown)
    record_reads(actor=access.user, project_id=access.project.pk, notes=notes, what="disagreements")
    last = shown[-1].stretch if len(found) > SENTENCES else None
    return {
        "sentences": shown,
        "columns": used_columns(shown, columns(access.project, hidden=access.unnamed)),
        "first": after is None,
        "next": f"{last.document_id}-{last.last}" if last else "",
        "narrowed": bool(query_of(filters)) or after is not None,
    }


@in_project(Can.EXPORT)
def sentences_export(request: Request, access: Access) -> HttpResponse | StreamingHttpResponse:
    """The sentences that pass the filters, as CSV. The download is recorded as an event."""
    filters, _notice = filters_of(request, access)
    if compare_few(access.project):
        messages.info(request, _("The annotations are still being compared. Download the table after that."))
        return redirect("disagreement_sentences", access.slug)
    FILE_DOWNLOADED.record(actor=access.user, project_id=access.project.pk, data={"sentences": "csv"})
    lines = sentence_lines(access.project, filters, hidden=access.unnamed)
    return csv_answer(lines, f"{access.slug}-disagreements-{timezone.localdate().isoformat()}.csv")


# ── Acts at one location ─────────────────────────────────────────────────────────────────────────────────────────────


def _entered(request: Request, slug: str, pk: int, start: int, end: int, right: Can) -> tuple[Access, Document]:
    access = enter_page(request, slug, right)
    note = note_for(access, pk)
    if not 0 <= start < end <= note.length or end > MAX_OFFSET:
        raise Http404("no such location")
    return access, note


@changes_causes
def disagreement_cause(request: Request, slug: str) -> HttpResponse:
    """Change causes of locations, each named by `at`: note, start and end, with hyphens between them."""
    enter_page(request, slug, Can.MAKE_GOLD)

    def change(at: str, kind: str, present: bool) -> list[str]:
        place = [whole_number(part) for part in at.split("-")]
        if len(place) != 3 or None in place:
            raise Http404("no such location")
        pk, start, end = (part or 0 for part in place)
        note = _entered(request, slug, pk, start, end, Can.MAKE_GOLD)[1]
        return change_cause(document=note, start=start, end=end, kind=kind, present=present, user=request.user)

    note = request.POST.get("at", "").partition("-")[0]
    back = reverse("disagreements", args=[slug]) + (f"?note={note}" if whole_number(note) else "")
    return answer_causes(request, change, action=request.path, back=back)


@require_http_methods(["GET", "HEAD", "POST"])
def disagreement_talk(request: Request, slug: str, pk: int, start: int, end: int) -> HttpResponse:
    """The discussion of a location: a fragment for htmx, else a page. A POST adds a comment or an answer."""
    access, note = _entered(request, slug, pk, start, end, Can.READ_NOTES)
    message, text, status = "", "", 200
    if request.method == "POST":
        text = request.POST.get("text", "")
        message, status = _say(request, access, note, start, end, text)
        if not message and not request.htmx:
            return redirect("disagreement_talk", slug, pk, start, end)
    context = {
        "pk": pk, "start": start, "end": end, "note": note, "error": message,
        "text": text if message else "",
        "threads": [
            thread for thread in threads(access, note)
            if not thread.annotation_set and thread.start is not None and thread.end is not None
            and thread.start < end and start < thread.end
        ],
        "may_comment": may_comment(access),
    }  # fmt: skip
    template = "agreement/disagreements_talk.html" if request.htmx else "agreement/disagreements_talk_page.html"
    return render(request, template, context, status=200 if request.htmx else status)


def _say(request: Request, access: Access, note: Document, start: int, end: int, text: str) -> tuple[str, int]:
    """Add a comment or an answer. Returns the error message, or "", and the HTTP status."""
    thread = number(request.POST, "answers")
    change_id = uuid_of(request.POST.get("change_id"))
    try:
        if thread is not None:
            answer(access=access, document=note, thread=thread, text=text, change_id=change_id)
        else:
            about = ThreadSubject(annotator=None, start=start, end=end)
            add_comment(access=access, document=note, about=about, text=text, change_id=change_id)
    except ServiceError as error:
        return str(error), getattr(error, "status", 422)
    return "", 200


# Pages of the amendments to the guidelines, each with its date. They separate the rounds of a project.


ROWS = 30


@in_project(Can.SEE_PROJECT)
def amendments(request: Request, access: Access) -> HttpResponse:
    """List the amendments, newest first, with the locations that led to them for people who may read all notes."""
    rows = Amendment.objects.filter(project=access.project).select_related("by", "document").defer("document__text")
    page = paged(request, rows.order_by("-number"), ROWS)
    context = {"page": page, "rounds": rounds(access.project)}
    return render(request, "agreement/amendments.html", context)


@in_project(Can.MANAGE, *FORM)
def amend_guidelines(request: Request, access: Access) -> HttpResponse:
    """Write an amendment (`do`: preview or save), with or without a location in the query."""
    project = access.project
    location = _location(request, access)
    initial = {"seen_version": project.guidelines_version}
    form = AmendmentForm(posted(request), initial=initial)
    context: dict[str, Any] = {"form": form, "location": location, "number": next_number(project)}
    if request.method == "POST" and form.is_valid():
        text = form.cleaned_data["text"]
        if request.POST.get("do") == "preview":
            context["preview"] = amended("", context["number"], text, timezone.now())
        else:
            try:
                seen = form.cleaned_data["seen_version"]
                made = amend(project=project, text=text, actor=access.user, location=location, seen_version=seen)
                values = {"n": made.number, "version": made.guidelines_version}
                message = _("Amendment %(n)d was added in version %(version)d of the guidelines.")
                messages.success(request, message % values)
                return redirect("amendments", access.slug)
            except ServiceError as error:
                add_error(form, error)
                project.refresh_from_db()
                context["stale"] = error.code == "stale"
    fresh = not form.is_bound or context.get("stale")
    context["seen"] = project.guidelines_version if fresh else form["seen_version"].value()
    # htmx ignores fragments with an error status; the fragment itself shows the error.
    return render(request, "agreement/amend.html", context, status=422 if form.errors and not request.htmx else 200)


def _location(request: Request, access: Access) -> tuple[Document, int, int] | None:
    """The location in the query, if it lies in a note of this project."""
    pk, start, end = (number(request.GET, name) for name in ("note", "start", "end"))
    if pk is None:
        return None
    note = note_for(access, pk)
    if start is None or end is None or not start < end <= note.length:
        return None
    return note, start, end
