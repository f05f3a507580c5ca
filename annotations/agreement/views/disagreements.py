"""The page of disagreements: every location in its sentence, with its cause and the discussion about it."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRefresh

from annotations.agreement.rules import ComparedUnit
from annotations.agreement.rules.disagreement import DisagreementKind
from annotations.agreement.selectors.disagreements import UNTAGGED, Filters, counts, differences, page, rounds
from annotations.agreement.services.causes import change_cause
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.core.access import Access, Can, enter, note_for
from annotations.core.errors import ServiceError
from annotations.core.events import record_reads
from annotations.core.labels import labels_of
from annotations.core.requests import Request, number, uuid_of
from annotations.models import Author, AuthorKind, CauseKind, Document
from annotations.notes.selectors.comments import may_comment, threads
from annotations.notes.services.talk import ThreadSubject, add_comment, answer
from annotations.text.names import MAX_OFFSET, whole

KINDS = {
    DisagreementKind.MISSED: (
        gettext_lazy("Missed"),
        gettext_lazy("One annotator marked a span where another marked nothing."),
    ),
    DisagreementKind.BOUNDARY: (gettext_lazy("Different bounds"), gettext_lazy("The same label on different bounds.")),
    DisagreementKind.LABEL: (gettext_lazy("Different label"), gettext_lazy("The same bounds with a different label.")),
    DisagreementKind.BOTH: (
        gettext_lazy("Different bounds and label"),
        gettext_lazy("Both the bounds and the label differ."),
    ),
    DisagreementKind.ATTRIBUTES: (
        gettext_lazy("Different attributes"),
        gettext_lazy("The same spans with different attributes. The agreement figures don’t count attributes."),
    ),
}
# Seconds for which a request may compare notes: for the page itself, and for its progress bar.
AT_ONCE, IN_STEPS = 0.4, 1.5


@require_safe
def disagreements(request: Request, slug: str) -> HttpResponse:
    """Show a page of locations. Notes with changed annotations are compared first, if many with a progress bar."""
    access = enter(request.user, slug, Can.READ_NOTES)
    left = bring_up_to_date(access.project, seconds=IN_STEPS if request.htmx else AT_ONCE)
    if request.htmx:
        return HttpResponseClientRefresh() if not left else comparing(request, access, left)
    filters, notice = filters_of(request, access)
    context: dict[str, Any] = {"access": access, "left": left, "notice": notice}
    if not left:
        context |= _locations(request, access, filters)
    return render(request, "agreement/disagreements.html", context | offered(access, filters))


def comparing(request: Request, access: Access, left: int) -> HttpResponse:
    notes = Document.objects.filter(project=access.project).count()
    context = {"access": access, "left": left, "notes": notes, "done": max(0, notes - left)}
    return render(request, "agreement/disagreements_comparing.html", context)


def filters_of(request: Request, access: Access) -> tuple[Filters, str]:
    """The filters of the query, without values that don't apply here, and a message about the pair of annotators."""
    data, notice = request.GET, ""
    pair = pair_of(data, "pair")
    if pair and access.unnamed:
        pair, notice = (
            None,
            _("Adjudication is anonymous in this project, so disagreements cannot be filtered by pair of annotators."),
        )
    kind, cause, unit = data.get("kind", ""), data.get("cause", ""), data.get("unit", "")
    return Filters(
        kind=kind if kind in list(DisagreementKind) else "",
        label=number(data, "label"),
        pair=pair,
        note=number(data, "note"),
        round=number(data, "round"),
        cause=cause if cause in [*CauseKind.values, UNTAGGED] else "",
        unit=unit if unit in list(ComparedUnit) else "",
        everyone=data.get("annotation_sets") == "all",
    ), notice


def offered(access: Access, filters: Filters) -> dict[str, Any]:
    """The choices of the filters, and the chosen values."""
    authors = list(
        Author.objects.filter(project=access.project, kind=AuthorKind.ANNOTATOR)
        .order_by("name")
        .values_list("pk", "name")
    )
    labels = labels_of(access.project.pk)
    hidden = access.unnamed
    return {
        "filters": filters,
        "labels": labels,
        "pairs": []
        if hidden
        else [
            (f"{one}-{other}", f"{a} – {b}", set(filters.pair or ()) == {one, other})
            for (one, a), (other, b) in combinations(authors, 2)
        ],
        "rounds": rounds(access.project),
        "causes": [(kind.value, kind.label) for kind in CauseKind],
        "untagged": UNTAGGED,
        "note_name": Document.objects.filter(project=access.project, pk=filters.note)
        .values_list("name", flat=True)
        .first()
        if filters.note
        else None,
        "may_tag": access.can(Can.MAKE_GOLD),
        "may_comment": may_comment(access),
    }


def _locations(request: Request, access: Access, filters: Filters) -> dict[str, Any]:
    found = page(
        access.project,
        filters,
        after=pair_of(request.GET, "after"),
        before=pair_of(request.GET, "before"),
        hidden=access.unnamed,
    )
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
                "url": _kind_url(access, filters, kind),
                "chosen": filters.kind == kind,
            }
            for kind, (name, text) in KINDS.items()
        ],
        "query": query,
        "empty": not found.locations,
        "narrowed": bool(query) or {"after", "before"} & set(request.GET),
    }


def query_of(filters: Filters, **other: str) -> str:
    """The filters as the query part of an address."""
    parts: dict[str, object] = {
        "kind": filters.kind,
        "label": filters.label,
        "pair": f"{filters.pair[0]}-{filters.pair[1]}" if filters.pair else "",
        "note": filters.note,
        "round": filters.round,
        "cause": filters.cause,
        "unit": filters.unit,
        "annotation_sets": "all" if filters.everyone else "",
    }
    return "&".join(f"{name}={value}" for name, value in (parts | other).items() if value not in ("", None))


def _kind_url(access: Access, filters: Filters, kind: DisagreementKind) -> str:
    query = query_of(filters, kind="" if filters.kind == kind else kind.value)
    return f"{reverse('disagreements', args=[access.project.slug])}?{query}"


def pair_of(data: Mapping[str, Any], name: str) -> tuple[int, int] | None:
    """Two numbers with a hyphen between them, or None."""
    one, other = (whole(word) for word in str(data.get(name, "")).partition("-")[::2])
    return None if one is None or other is None else (one, other)


# ── Acts at one location ─────────────────────────────────────────────────────────────────────────────────────────────


def _entered(request: Request, slug: str, pk: int, start: int, end: int, right: Can) -> tuple[Access, Document]:
    access = enter(request.user, slug, right)
    note = note_for(access, pk)
    if not 0 <= start < end <= note.length or end > MAX_OFFSET:
        raise Http404("no such location")
    return access, note


@require_POST
def disagreement_cause(request: Request, slug: str, pk: int, start: int, end: int) -> HttpResponse:
    """Add a cause to a location (POST `added`) or remove it (`removed`). htmx gets the updated buttons."""
    access, note = _entered(request, slug, pk, start, end, Can.MAKE_GOLD)
    present = "added" in request.POST
    kind, chosen, message = request.POST.get("added" if present else "removed", ""), list[str](), ""
    try:
        chosen = change_cause(document=note, start=start, end=end, kind=kind, present=present, user=access.user)
    except ServiceError as error:
        message = str(error)
    context = {
        "access": access, "pk": pk, "start": start, "end": end, "chosen": chosen, "error": message,
        "causes": [(each.value, each.label) for each in CauseKind], "may_tag": True,
    }  # fmt: skip
    if request.htmx:
        return render(request, "agreement/disagreements_cause.html", context)
    return redirect(_back(request, slug, pk))


def _back(request: Request, slug: str, pk: int) -> str:
    return f"{reverse('disagreements', args=[slug])}?note={pk}"


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
        "access": access, "pk": pk, "start": start, "end": end, "note": note, "error": message,
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
