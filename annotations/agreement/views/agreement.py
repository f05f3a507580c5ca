"""The page of agreement: the figures with unit, interval and wording, and the annotation sets that don't count.

A worker computes the figures of large projects in a job, which the page starts and watches.
"""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotations.agreement.rules.coefficients import Verdict, verdict
from annotations.agreement.rules.shown import AgreementFigure, RoundFigures
from annotations.agreement.rules.units import ComparedUnit, Granularity, granularities
from annotations.agreement.selectors import adjudications as adjudication_selectors
from annotations.agreement.selectors.figures import (
    GRANULARITIES,
    UNITS,
    Agreement,
    agreement_of,
    left_out,
    shown_names,
    table_lines,
)
from annotations.agreement.services import figures as figure_services
from annotations.agreement.services.comparing import compare_few, start_comparing, waiting
from annotations.agreement.services.deciding import finish_unanimous
from annotations.agreement.services.majority import last_job, recent_votes, start_majority, start_undo
from annotations.agreement.templatetags import coefficients
from annotations.core.access import Access, Can
from annotations.core.answers import csv_answer
from annotations.core.labels import UNDERLINES
from annotations.core.requests import Request, choice_of, error_as_message, in_project, number, paged
from annotations.core.services import FILE_DOWNLOADED, ServiceError
from annotations.core.templatetags.plots import Point
from annotations.core.templatetags.reasons import reason
from annotations.core.tokenizers import KINDS
from annotations.jobs.api import form_key
from annotations.jobs.services.status import status_of
from annotations.models import Category, Job, JobState, Label, MajorityAct, Project
from annotations.text.bio import OUTSIDE

NOTES = 25
DIFFERING = 8
"""Labels in the plot of those with most disagreement."""
ANSWERS = {
    Verdict.GOOD: gettext_lazy("Good enough to go on: α %(alpha)s"),
    Verdict.UNSURE: gettext_lazy("Probably good enough: α %(alpha)s, but it may be below 0.80. Compare more notes."),
    Verdict.TENTATIVE: gettext_lazy("Usable with caution: α %(alpha)s. Clarify the guidelines where people differ."),
    Verdict.POOR: gettext_lazy("Not good enough yet: α %(alpha)s. Discuss the differences and amend the guidelines."),
    Verdict.UNDEFINED: gettext_lazy("α is undefined: %(why)s"),
}
ON_TOKENS = (ComparedUnit.TOKEN, ComparedUnit.MARKED)
Measure = Literal["kappa", "observed", "exact", "overlap"]
MEASURES: dict[Measure, tuple[object, object]] = {
    "kappa": (
        gettext_lazy("Cohen's κ"),
        gettext_lazy("Agreement of two annotators beyond chance, given how often each uses every label."),
    ),
    "observed": (gettext_lazy("Observed"), gettext_lazy("Share of units on which both annotators agree.")),
    "exact": (
        gettext_lazy("F1, exact"),
        gettext_lazy("Spans with identical bounds and value, relative to all spans of both annotators."),
    ),
    "overlap": (
        gettext_lazy("F1, overlap"),
        gettext_lazy("Overlapping spans with the same value, matched one to one."),
    ),
}


@in_project(Can.READ_NOTES)
def agreement(request: Request, access: Access) -> HttpResponse:
    """Show the figures of one unit. Unknown values in the query mean the default.

    A worker computes those of large projects, and those on the tokens of another tokenizer.
    """
    unit, granularity = _chosen(request)
    tokenizer = choice_of(request.GET, "tokenizer", KINDS if unit in ON_TOKENS else (), "")
    kinds = {"": _("Words, numbers and single symbols")} | {name: _(kind.title) for name, kind in KINDS.items()}
    context: dict[str, Any] = {
        "unit": unit,
        "granularity": granularity,
        "units_offered": [(key, name, key == unit) for key, (name, _text) in UNITS.items()],
        "unit_name": UNITS[unit][0],
        "unit_text": UNITS[unit][1],
        "tokenizer": tokenizer,
        "tokenizers": [(key, name, key == tokenizer) for key, name in kinds.items()] if unit in ON_TOKENS else [],
        "kept_choice": f"&tokenizer={tokenizer}" if tokenizer else "",
    }
    found = None
    try:
        found = figure_services.figures_at_once(access.project, unit, tokenizer)
        context["computing"] = found is None
    except ServiceError as error:
        context["error"] = str(error)
    if found and found["notes"]:
        context |= _figures(request, access, found, unit, granularity)
    else:
        context["left_out"] = left_out(access.project)
    return render(request, "agreement/agreement.html", context)


@in_project(Can.EXPORT)
def agreement_table(request: Request, access: Access) -> StreamingHttpResponse:
    """The units with each annotator's value as CSV. The download is recorded as an event."""
    unit, granularity = _chosen(request)
    FILE_DOWNLOADED.record(actor=access.user, project_id=access.project.pk, data={"agreement": str(unit)})
    lines = table_lines(access.project, unit, granularity, hidden=access.unnamed)
    return csv_answer(lines, f"{access.slug}-agreement-{unit}-{granularity}.csv")


def _chosen(request: Request) -> tuple[ComparedUnit, Granularity]:
    unit = choice_of(request.GET, "unit", ComparedUnit, ComparedUnit.TOKEN)
    return unit, choice_of(request.GET, "granularity", granularities(unit), Granularity.SUBCATEGORY)


def _figures(
    request: Request, access: Access, found: figure_services.KeptFigures, unit: ComparedUnit, granularity: Granularity
) -> dict[str, Any]:
    measure = choice_of(request.GET, "measure", MEASURES, next(iter(MEASURES)))
    names = shown_names(access.project, found["annotators"], hidden=access.unnamed)
    # Where names are hidden, nothing says who an annotator is.
    authors = {} if access.unnamed else {name: int(pk) for pk, name in names.items()}
    report = agreement_of(access.project, found, granularity, names)
    page = paged(request, figure_services.NoteTable(access.project, found, granularity), NOTES)
    return {
        "found": found,
        "report": report,
        "left_out": report["left_out"],
        "granularity_name": GRANULARITIES[granularity],
        "disagreements_url": f"{access.url('disagreements')}?unit={unit}",
        # A fixed order: PostgreSQL's JSON doesn't keep the order of keys.
        "overview": [(key, GRANULARITIES[key], found["granularities"][key]) for key in granularities(unit)],
        "measures": [(key, name, key == measure) for key, (name, _text) in MEASURES.items()],
        "measure_text": MEASURES[measure][1],
        "matrix": _matrix(report, authors, measure),
        "pairs": [(row, _pair(authors, row["a"], row["b"])) for row in report["pairs"]],
        **_labels(access.project, report, granularity),
        **_answer(report),
        "trend": trend_of(report["rounds"]),
        "page": page,
        "note_rows": figure_services.named_notes(access.project, list(page)),
    }


def _answer(report: Agreement) -> dict[str, Any]:
    """What the figures say, in one sentence."""
    alpha = report["alpha"]
    judged = verdict(alpha["value"], alpha["low"])
    words = {"alpha": coefficients.plain(alpha["value"]), "why": reason(alpha["why"])}
    return {"verdict": judged, "answer": ANSWERS[judged] % words}


def _pair(authors: Mapping[str, int], a: str, b: str) -> str:
    """Two annotators as a filter of disagreements; empty where their names are hidden."""
    return f"{authors[a]}-{authors[b]}" if authors else ""


def _matrix(
    report: Agreement, authors: Mapping[str, int], measure: Measure
) -> list[tuple[str, int | None, list[tuple[AgreementFigure | None, str]]]]:
    """For each annotator the name, the id unless it is hidden, and a measure with every annotator and their filter."""
    figures = {frozenset((row["a"], row["b"])): row[measure] for row in report["pairs"]}
    return [
        (a, authors.get(a), [(figures.get(frozenset((a, b))), _pair(authors, a, b)) for b in report["annotators"]])
        for a in report["annotators"]
    ]


def _labels(project: Project, report: Agreement, granularity: Granularity) -> dict[str, Any]:
    """The used labels or categories in order, each with its look, and the names of the unused ones.

    Binary granularity has only one value.
    """
    if granularity is Granularity.BINARY:
        return {}
    looks = _looks(project, granularity)
    used = {row["value"] for row in report["labels"]}
    labels: list[dict[str, Any]] = [
        {
            **row,
            "look": looks.get(row["value"], {"name": row["value"]}),
            "share": row["full"] / row["units"],
            "differing": row["units"] - row["full"],
        }
        for row in report["labels"]
    ]
    differing = [row for row in labels if row["differing"]]
    return {
        "labels": labels,
        "differing_most": sorted(differing, key=lambda row: -row["differing"])[:DIFFERING],
        "unused": [look["name"] for value, look in looks.items() if value not in used]
        if granularity is not Granularity.BIO
        else [],
    }


def _looks(project: Project, granularity: Granularity) -> dict[str, dict[str, Any]]:
    """The labels or categories by their value in the figures (see `units.valuer`), as chips."""

    def chip(name: str, hue: int, position: int, pk: int | None = None) -> dict[str, Any]:
        return {"name": name, "hue": hue, "underline": position % UNDERLINES, "pk": pk}

    if granularity is Granularity.CATEGORY:
        categories = Category.objects.filter(label_set__project=project, labels__merged_into=None).distinct()
        rows = categories.values_list("code", "name", "hue", "position")
        return {_value(code): chip(name, hue, position) for code, name, hue, position in rows}
    labels = Label.objects.filter(label_set__project=project, merged_into=None)
    found = labels.values_list("code", "name", "category__hue", "category__position", "pk")
    if granularity is Granularity.BIO:
        return {f"{mark}-{code}": chip(f"{mark}-{name}", *look) for code, name, *look in found for mark in "BI"}
    return {_value(code): chip(name, *look) for code, name, *look in found}


def _value(code: str) -> str:
    return f"B-{code}" if code == OUTSIDE else code


def trend_of(rounds: Sequence[RoundFigures]) -> list[Point]:
    """The points of the plot of alpha by round; empty with fewer than two rounds."""
    if len(rounds) < 2:
        return []
    return [
        Point(
            name=_("Round %(n)d") % {"n": row["round"]},
            value=row["alpha"]["value"],
            low=row["alpha"]["low"],
            high=row["alpha"]["high"],
            detail=_("%(n)s notes") % {"n": f"{row['notes']:,}"},
        )
        for row in rounds
    ]


# ── The job ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@in_project(Can.READ_NOTES, "POST")
def agreement_start(request: Request, access: Access) -> HttpResponse:
    """Start the job for `unit` and `tokenizer`, or without them the one that compares notes.

    Redirect to its page, or show its progress to htmx.
    """
    asked, tokenizer = request.POST.get("unit", ""), request.POST.get("tokenizer", "")
    if not request.POST.keys() & {"unit", "tokenizer"}:
        job = start_comparing(project=access.project, actor=access.user)
    elif asked not in list(ComparedUnit) or tokenizer not in ("", *KINDS):
        raise Http404("no such unit or tokenizer")
    else:
        job = figure_services.start_agreement(
            project=access.project, unit=ComparedUnit(asked), tokenizer=tokenizer, actor=access.user
        )
    if not request.htmx:
        return redirect("job", access.slug, job.number)
    return _progress(request, access, job)


@in_project(Can.READ_NOTES)
def agreement_progress(request: Request, access: Access, number: int) -> HttpResponse:
    """Show the progress of such a job to htmx, which reloads the page when the job is done."""
    job = get_object_or_404(Job, project=access.project, number=number, kind__in=["agreement", "comparison"])
    if not request.htmx:
        return redirect("job", access.slug, job.number)
    return _progress(request, access, job)


def _progress(request: Request, access: Access, job: Job) -> HttpResponse:
    status = status_of(job, access)
    response = render(request, "agreement/job.html", {"status": status})
    if job.state == JobState.DONE:
        response["HX-Refresh"] = "true"
    patch_vary_headers(response, ["HX-Request"])
    return response


# The notes to adjudicate, and the majority vote over many notes: its preview, its start, and its result with undo.


PAGE = 50


@in_project(Can.MAKE_GOLD)
def adjudications(request: Request, access: Access) -> HttpResponse:
    """List the notes that two or more annotators have submitted, lowest agreement first."""
    project = access.project
    context: dict[str, Any] = {"left": compare_few(access.project)}
    if not context["left"]:
        show = choice_of(request.GET, "show", adjudication_selectors.Show, adjudication_selectors.Show.TODO)
        counted = adjudication_selectors.adjudication_counts(project, access.user.pk)
        page = paged(request, adjudication_selectors.adjudication_notes(project, show, access.user.pk), PAGE)
        context |= {
            "show": show,
            "choices": [(each.value, each.label, getattr(counted, each.value)) for each in adjudication_selectors.Show],
            "counted": counted,
            "page": page,
            "lines": adjudication_selectors.items_of(list(page)),
            "author": adjudication_selectors.adjudicated_id(project),
        }
    return render(request, "agreement/adjudicate/adjudications.html", context)


@in_project(Can.MAKE_GOLD)
def adjudicate_next(request: Request, access: Access) -> HttpResponse:
    """Redirect to the next unfinished note after ?after=ID, or to the list if none is left."""
    compare_few(access.project)
    found = adjudication_selectors.next_to_adjudicate(access.project, number(request.GET, "after"), access.user.pk)
    if found is not None:
        return redirect("adjudicate", access.slug, found)
    messages.success(request, _("No note is left to adjudicate."))
    return redirect(f"{access.url('adjudications')}?show=finished")


@in_project(Can.MAKE_GOLD, "POST")
def adjudicate_unanimous(request: Request, access: Access) -> HttpResponse:
    """Finish the notes on which all annotators agree, in a project that accepts unanimous annotations."""
    with error_as_message(request):
        compare_few(access.project)
        done = finish_unanimous(project=access.project, user=access.user)
        message = ngettext("%(n)d unanimous note was finished.", "%(n)d unanimous notes were finished.", done.finished)
        messages.success(request, message % {"n": done.finished})
        if done.left:
            more = ngettext(
                "%(n)d note is left. Press the button again.",
                "%(n)d notes are left. Press the button again.",
                done.left,
            )
            messages.success(request, more % {"n": done.left})
    return redirect("adjudications", access.slug)


# ── Majority votes ───────────────────────────────────────────────────────────────────────────────────────────────────


@in_project(Can.MAKE_GOLD)
def majority(request: Request, access: Access) -> HttpResponse:
    """The preview of a vote. Notes with changed annotations are compared first, many by a job."""
    context: dict[str, Any] = {"left": compare_few(access.project)}
    if not context["left"]:
        recent = recent_votes(access.project)
        context |= {"found": adjudication_selectors.preview(access.project), "recent": recent, "token": uuid.uuid4()}
    return render(request, "agreement/adjudicate/majority.html", context)


@in_project(Can.MAKE_GOLD, "POST")
def majority_start(request: Request, access: Access) -> HttpResponse:
    """Start a vote as a job. The form's `token` keeps a form that is sent twice from starting two."""
    if not waiting(access.project):
        with error_as_message(request):
            job = start_majority(project=access.project, user=access.user, key=form_key(request, access))
            return redirect("job", access.slug, job.number)
    return redirect("majority", access.slug)


@in_project(Can.MAKE_GOLD)
def majority_act(request: Request, access: Access, vote: UUID) -> HttpResponse:
    """One vote: what it did, and the button to undo it."""
    row = get_object_or_404(MajorityAct.objects.select_related("user"), project=access.project, pk=vote)
    context = {"vote": row, "job": last_job(row)}
    return render(request, "agreement/adjudicate/majority_act.html", context)


@in_project(Can.MAKE_GOLD, "POST")
def majority_undo(request: Request, access: Access, vote: UUID) -> HttpResponse:
    row = get_object_or_404(MajorityAct.objects.select_related("project"), project=access.project, pk=vote)
    with error_as_message(request):
        return redirect("job", access.slug, start_undo(act=row, user=access.user).number)
    return redirect("majority_act", access.slug, row.pk)
