"""Judges: the list, the form that asks them, what they said, and the places behind the figures."""

import uuid
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotations.core.access import Access, Can, enter
from annotations.core.barred import barred_kinds, is_barred
from annotations.core.errors import ServiceError
from annotations.core.refusals import sentence
from annotations.core.requests import Request, number
from annotations.domain.scoring.judging import THRESHOLD
from annotations.domain.splits import Side
from annotations.gold.selectors import versions
from annotations.jobs.services.status import status_of
from annotations.jobs.tokens import form_key
from annotations.notes.selectors.in_context import Entry, LabelLook, label_looks
from annotations.notes.views.in_context import shown_in_context
from annotations.scores.selectors import Reference, readers_of
from models_runtime.judging.services.asking import MOST_JUDGES, judge_again, start_judging
from models_runtime.judging.services.results import KINDS, Place, places_of, result_of
from models_runtime.models import Judging
from models_runtime.runs.services.llm import form_choices, prompts_of

ROWS, PAGE = 30, 25
FIELDS = ("gold", "author", "split", "language", "threshold", "notes")
KIND_NAMES = {
    "discarded": gettext_lazy("Discarded: no verdict that enough agree on"),
    "FN": gettext_lazy("Still readable (FN)"),
    "FP": gettext_lazy("Hidden without need (FP)"),
    "beyond": gettext_lazy("Rightly hidden, though gold has nothing there"),
    "TP": gettext_lazy("Rightly hidden (TP)"),
}


@require_safe
def judgings(request: Request, slug: str) -> HttpResponse:
    """The project's judgings, newest first."""
    access = enter(request.user, slug, Can.READ_NOTES)
    rows = Judging.objects.filter(project=access.project).select_related("author", "gold_version", "job", "created_by")
    rows = rows.exclude(author__kind__in=barred_kinds(access))
    page = Paginator(rows.prefetch_related("judges"), ROWS).get_page(number(request.GET, "page"))
    shown = [(row, status_of(row.job, access) if row.job else None) for row in page]
    return render(request, "judging/judgings.html", {"access": access, "page": page, "rows": shown})


@require_http_methods(["GET", "HEAD", "POST"])
def judge(request: Request, slug: str) -> HttpResponse:
    """POST `gold`, `author`, `judge` (each "server model"), `threshold`, `language`, `split`, `notes`, `may_leave`."""
    access = enter(request.user, slug, Can.MANAGE)
    if request.method != "POST":
        return _form(request, access)
    try:
        row = start_judging(
            project=access.project,
            gold=number(request.POST, "gold") or 0,
            author_id=number(request.POST, "author") or 0,
            judges=request.POST.getlist("judge")[: MOST_JUDGES + 1],
            may_leave=request.POST.get("may_leave") == "yes",
            actor=access.user,
            key=form_key(request, access),
            split=request.POST.get("split", "")[:10],
            language=request.POST.get("language", "")[:8],
            threshold=request.POST.get("threshold", "")[:20],
            most_notes=request.POST.get("notes", "")[:20],
        )
    except ServiceError as error:
        return _form(request, access, refused=sentence(error))
    return redirect("judging", slug, row.pk)


def _form(request: Request, access: Access, refused: str = "") -> HttpResponse:
    """The form, with what was filled in where it was refused; ?author= and ?gold= choose beforehand."""
    given = request.POST if refused else request.GET
    frozen = [version for version in versions(access.project) if version.note_count]
    chosen = next((one for one in frozen if str(one.number) == given.get("gold")), frozen[0] if frozen else None)
    context = form_choices() | {
        "access": access,
        "refused": refused,
        "filled": {"threshold": THRESHOLD, "language": "en"}
        | {name: given[name][:80] for name in FIELDS if name in given},
        "judges": request.POST.getlist("judge"),
        "versions": frozen,
        "chosen": chosen,
        "readers": readers_of(Reference(access.project, chosen)) if chosen else [],
        "sides": list(Side) if any(version.split_seed for version in frozen) else [],
        "most": MOST_JUDGES,
        "token": request.POST.get("token", "")[:36] or uuid.uuid4(),
        "prompts": prompts_of(access.project, {"judge": "Judge"}),
    }
    return render(request, "judging/new.html", context, status=422 if refused else 200)


@require_safe
def judging(request: Request, slug: str, pk: int) -> HttpResponse:
    """What the judges said: the page, or for htmx the part of it that changes while they are at work."""
    access = enter(request.user, slug, Can.READ_NOTES)
    row = _judging_of(access, pk)
    status = status_of(row.job, access) if row.job else None
    context: dict[str, Any] = {
        "access": access,
        "judging": row,
        "status": status,
        "poll_url": request.path,
    }
    if status is None or not status.live:
        context |= _figures(access, result_of(row))
    template = "judging/state.html" if request.htmx else "judging/judging.html"
    response = render(request, template, context)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _figures(access: Access, result: dict[str, Any]) -> dict[str, Any]:
    looks = label_looks(access.project)
    by_label = {
        name: {row["label"]: row for row in found["labels"]}
        for name, found in (("rewritten", result["rewritten"]), ("spans", result["spans"]))
    }
    labels = [
        {
            "look": looks.get(row["label"]) or LabelLook(row["label"], row["label"]),
            "majority": row,
            "judges": [found["labels"][at] for found in result["judges"]],
            "rewritten": by_label["rewritten"].get(row["label"]),
            "spans": by_label["spans"].get(row["label"]),
        }
        for at, row in enumerate(result["majority"]["labels"])
    ]
    names = [found["judge"] for found in result["judges"]]
    pairs = [pair | {"names": [names[at] for at in pair["judges"]]} for pair in result["agreement"]["pairs"]]
    counts = result["majority"]["micro"]
    places = {
        "discarded": result["discarded"], "FN": counts["fn"], "FP": counts["fp"], "beyond": result["beyond_gold"],
        "TP": counts["tp"],
    }  # fmt: skip
    return {
        "result": result,
        "labels": labels,
        "pairs": pairs,
        "kinds": [(kind, KIND_NAMES[kind], places[kind]) for kind in KINDS],
        "unfinished": any(found["stopped"] or found["failed_notes"] for found in result["judges"])
        or any(found["notes"] < result["notes"] + result["unjudged_notes"] for found in result["judges"])
        or not result["notes"],
    }


@require_safe
def judging_places(request: Request, slug: str, pk: int) -> HttpResponse:
    """The entities behind a count (?kind=), in their sentences, with what each judge said."""
    access = enter(request.user, slug, Can.READ_NOTES)
    row = _judging_of(access, pk)
    kind = request.GET.get("kind", KINDS[0])
    if kind not in KINDS:
        raise Http404("no such kind")
    page = Paginator(places_of(row, kind), PAGE).get_page(number(request.GET, "page"))
    shown = _in_context(access, row, list(page.object_list))
    context = {
        "access": access,
        "judging": row,
        "page": page,
        "entries": shown,
        "kind": kind,
        "kind_names": {name: str(words) for name, words in KIND_NAMES.items()},
        "kinds": [(name, KIND_NAMES[name]) for name in KINDS],
    }
    return render(request, "judging/places.html", context)


def _in_context(
    access: Access, row: Judging, places: list[Place]
) -> list[tuple[Entry, list[tuple[str, str | None]], bool]]:
    """Each place in its sentence, with the judges' verdicts by name, and whether gold has it."""
    names = [one.name for one in row.judges.all()]
    rows = [[place.document, str(at), list(place.entity[:3]), None] for at, place in enumerate(places)]
    return [
        (entry, list(zip(names, places[int(entry.kind)].said, strict=True)), places[int(entry.kind)].entity.gold)
        for entry in shown_in_context(access, rows, "judges")
    ]


@require_POST
def judging_again(request: Request, slug: str, pk: int) -> HttpResponse:
    """Ask what no judge has answered yet, and what failed."""
    access = enter(request.user, slug, Can.MANAGE)
    row = _judging_of(access, pk)
    try:
        judge_again(judging=row, actor=access.user)
    except ServiceError as error:
        messages.error(request, sentence(error))
    return redirect("judging", slug, row.pk)


def _judging_of(access: Access, pk: int) -> Judging:
    rows = Judging.objects.select_related("author", "gold_version", "job__created_by", "created_by")
    row = get_object_or_404(rows, project=access.project, pk=pk)
    if is_barred(access, row.author_id):
        raise Http404("not for this person to know")
    return row
