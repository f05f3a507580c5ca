"""Pages of judges and of refinements: lists, forms that start them, figures, and the guidance for agents."""

import uuid
from typing import Any

from django.contrib import messages
from django.core.exceptions import NON_FIELD_ERRORS
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotations.core.access import Access, Can, authors_for
from annotations.core.forms import attempted
from annotations.core.requests import FORM, Request, error_as_message, in_project, number, one_of, paged, render_part
from annotations.gold.selectors import versions
from annotations.jobs.api import form_key, form_token
from annotations.jobs.services.status import status_of
from annotations.notes.selectors.in_context import label_looks, look_of, with_context
from annotations.release.selectors.releases import release_for
from annotations.scores.rules.judging import JudgedUnit
from models_runtime.backends.llm.prompts import VERSION
from models_runtime.backends.refining.state import NAME, title_of
from models_runtime.models import Judging, Refinement
from models_runtime.refining import forms
from models_runtime.refining.jobs.model_scores import start_scores
from models_runtime.refining.selectors import described, present, skill_versions
from models_runtime.refining.services import judging as service
from models_runtime.refining.services import judging_results
from models_runtime.refining.services.refining import Effort, efforts_of, set_skill, sources_of, start_refinement
from models_runtime.runs.services.llm import leaving, prompts_of, servers

ROWS, PAGE = 30, 25
KIND_NAMES = {
    "discarded": gettext_lazy("Discarded: too few judges agree"),
    "FN": gettext_lazy("Still readable (FN)"),
    "FP": gettext_lazy("Hidden unnecessarily (FP)"),
    "beyond": gettext_lazy("Correctly hidden, but not in gold"),
    "TP": gettext_lazy("Correctly hidden (TP)"),
}


@in_project(Can.READ_NOTES)
def judgings(request: Request, access: Access) -> HttpResponse:
    """List the project's judgings, newest first."""
    rows = Judging.objects.filter(project=access.project).select_related("author", "gold_version", "job", "created_by")
    rows = rows.filter(author__in=authors_for(access))
    page = paged(request, rows.prefetch_related("judges"), ROWS)
    shown = [(row, status_of(row.job, access) if row.job else None) for row in page]
    ended = [row for row, status in shown if status is None or not status.live]
    context = {"page": page, "rows": shown, "discards": _discards(access, ended)}
    return render(request, "refining/judging/judgings.html", context)


def _discards(access: Access, rows: list[Judging]) -> dict[str, Any] | None:
    """Return the table of discarded entities by judging and label; None without verdicts."""
    found = judging_results.discards_of(access.project, rows)
    if not found:
        return None
    looks = label_looks(access.project)
    used = dict.fromkeys(row["label"] for figures in found.values() for row in figures["labels"])
    order = [code for code in looks if code in used] + [code for code in used if code not in looks]
    most = max((row["discarded"] for figures in found.values() for row in figures["labels"]), default=0)
    return {
        "labels": [look_of(looks, code) for code in order],
        "rows": [
            {"judging": row, "rules": service.RULE_NAMES[row.rules], "figures": found[row.pk],
             "cells": _cells(found[row.pk], order, most)}
            for row in rows if row.pk in found
        ],
    }  # fmt: skip


def _cells(figures: judging_results.Discards, order: list[str], most: int) -> list[dict[str, Any]]:
    """Return the discarded entities by label, with their share of the highest number, which colors the cell."""
    by_label = {row["label"]: row for row in figures["labels"]}
    cells = []
    for code in order:
        row = by_label.get(code)
        cells.append({"row": row, "share": row["discarded"] / max(most, 1) if row else None})
    return cells


@in_project(Can.MANAGE, *FORM)
def judge(request: Request, access: Access) -> HttpResponse:
    """Show the form, with ?author= and ?gold= chosen, or start a judging. After an error, the form keeps its values."""
    frozen = [version for version in versions(access.project) if version.note_count]
    form = forms.JudgeForm(
        request.POST if request.method == "POST" else None,
        auto_id="judge-%s",
        initial={name: number(request.GET, name) for name in ("gold", "author")},
        project=access.project,
        versions=frozen,
        servers=servers(),
    )
    asked: dict[str, Any] = {"project": access.project, "actor": access.user, "key": form_key(request, access)}
    if row := attempted(form, lambda: service.start_judging(**asked, **form.cleaned_data), forms.JUDGING_REFUSED_AT):
        return redirect("judging", access.slug, row.pk)
    context = {
        "form": form,
        "servers": servers(),
        "leaving": leaving(),
        "versions": frozen,
        "authors": form.authors,
        "token": form_token(request) or uuid.uuid4(),
        "prompts": prompts_of(
            access.project, {service.PROMPTS[key]: str(name) for key, name in service.RULE_NAMES.items()}
        ),
        "prompt_version": VERSION,
    }
    return render(request, "refining/judging/new.html", context, status=422 if form.is_bound else 200)


@in_project(Can.READ_NOTES)
def judging(request: Request, access: Access, pk: int) -> HttpResponse:
    """Show the verdicts: the whole page, or for htmx the part that changes while the judges work."""
    row = service.judging_for(access, pk)
    status = status_of(row.job, access) if row.job else None
    context: dict[str, Any] = {
        "judging": row,
        "status": status,
        "poll_url": request.path,
        "rules": service.RULE_NAMES[row.rules],
        "unit": _(JudgedUnit(row.unit).words),
    }
    if status is None or not status.live:
        context |= _figures(access, judging_results.result_of(row))
    return render_part(request, "refining/judging/judging.html", "refining/judging/state.html", context)


def _figures(access: Access, result: dict[str, Any]) -> dict[str, Any]:
    looks = label_looks(access.project)
    by_label = {
        name: {row["label"]: row for row in found["labels"]}
        for name, found in (("rewritten", result["rewritten"]), ("spans", result["spans"]))
    }
    labels = [
        {
            "look": look_of(looks, row["label"]),
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
    sizes = {
        "discarded": result["discarded"], "FN": counts["fn"], "FP": counts["fp"], "beyond": result["beyond_gold"],
        "TP": counts["tp"],
    }  # fmt: skip
    return {
        "result": result,
        "gold_spans": result["spans"]["micro"]["tp"] + result["spans"]["micro"]["fn"],
        "labels": labels,
        "pairs": pairs,
        "kinds": [(kind, KIND_NAMES[kind], sizes[kind]) for kind in judging_results.KINDS],
        "unfinished": any(found["stopped"] or found["failed_notes"] for found in result["judges"])
        or any(found["notes"] < result["notes"] + result["unjudged_notes"] for found in result["judges"])
        or not result["notes"],
    }


@in_project(Can.READ_NOTES)
def judging_entities(request: Request, access: Access, pk: int) -> HttpResponse:
    """Show the entities behind a count (?kind=) in their sentences, with each judge's verdict."""
    row = service.judging_for(access, pk)
    kind = one_of(request, "kind", judging_results.KINDS)
    page = paged(request, judging_results.judged_entities(row, kind), PAGE)
    names = [one.name for one in row.judges.all()]
    shown = [
        (entry, list(zip(names, one.verdicts, strict=True)), one.entity)
        for one, entry in with_context(access, list(page.object_list), judging_results.row_of_entity, "judges")
    ]
    context = {
        "judging": row,
        "page": page,
        "entries": shown,
        "kind": kind,
        "kind_names": {kind: str(name) for kind, name in KIND_NAMES.items()},
        "kinds": [(name, KIND_NAMES[name]) for name in judging_results.KINDS],
    }
    return render(request, "refining/judging/entities.html", context)


@in_project(Can.MANAGE, "POST")
def judging_again(request: Request, access: Access, pk: int) -> HttpResponse:
    """Ask for missing and failed verdicts."""
    row = service.judging_for(access, pk)
    with error_as_message(request):
        service.judge_again(judging=row, actor=access.user)
    return redirect("judging", access.slug, row.pk)


# The page of refinements: the list, the form that starts one, and the effort of any two.


@in_project(Can.MANAGE, *FORM)
def refinements(request: Request, access: Access) -> HttpResponse:
    """List the refinements with the effort of two (?first=&second=), or start one; ?run= chooses its annotations.

    After an error, the form keeps its values.
    """
    sources = list(sources_of(access.project))
    form = forms.RefineForm(
        request.POST if request.method == "POST" else None,
        auto_id="refine-%s",
        initial={"run": number(request.GET, "run")},
        sources=sources,
        versions=[version for version in versions(access.project) if version.span_count],
        servers=servers(),
    )
    if row := attempted(form, lambda: _start(request, access, form), forms.REFINEMENT_REFUSED_AT):
        return redirect("job", access.slug, row.job.number) if row.job else redirect("refinements", access.slug)
    rows = Refinement.objects.filter(project=access.project).select_related(
        "author", "source__injected_run", "job", "created_by"
    )
    page = paged(request, rows, ROWS)
    efforts = efforts_of(list(page))
    compared = _compared(request, list(rows)) if page.paginator.count > 1 else None
    context = {
        "form": form,
        "sources": sources,
        "servers": servers(),
        "leaving": leaving(),
        "page": page,
        "rows": [(row, efforts[row.pk], status_of(row.job, access) if row.job else None) for row in page],
        "compared": compared,
        "token": form_token(request) or uuid.uuid4(),
    }
    return render(request, "refining/refinements.html", context, status=422 if form.is_bound else 200)


def _start(request: Request, access: Access, form: forms.RefineForm) -> Refinement:
    chosen = {name: form.cleaned_data[name] for name in ("method", "name", "gold")} | {"asked": form.asked}
    source, key = form.cleaned_data["run"], form_key(request, access)
    return start_refinement(project=access.project, actor=access.user, source=source, key=key, **chosen)


def _compared(request: Request, rows: list[Refinement]) -> dict[str, object]:
    """The form that chooses two refinements, and their efforts; by default of the newest two."""
    by_id = {row.pk: row for row in rows}
    wanted = [number(request.GET, name) for name in ("first", "second")]
    chosen = [by_id[one] if one in by_id else rows[at] for at, one in zip((1, 0), wanted, strict=True)]
    efforts = efforts_of(chosen)
    pair: list[tuple[Refinement, Effort]] = [(row, efforts[row.pk]) for row in chosen]
    form = forms.CompareForm(auto_id="compare-%s", initial={"first": chosen[0].pk, "second": chosen[1].pk}, rows=rows)
    return {"form": form, "pair": pair}


# Pages of the guidance for refining agents, which managers edit.


@in_project(Can.MANAGE)
def skills(request: Request, access: Access) -> HttpResponse:
    return render(request, "refining/skills/skills.html", {"skills": described(access.project)})


@in_project(Can.MANAGE, *FORM)
def skill(request: Request, access: Access, name: str) -> HttpResponse:
    """Edit a skill. If somebody else saved in the meantime, nothing is saved and the page shows both versions."""
    project = access.project
    if not NAME.fullmatch(name):
        raise Http404
    there = present(project, name)
    now = {"labels": " ".join(there.labels), "text": there.text, "seen_version": there.version}
    form = forms.SkillForm(request.POST if request.method == "POST" else None, initial=now)
    saved = attempted(form, lambda: set_skill(project=project, name=name, actor=request.user, **form.cleaned_data))
    if saved is not None:
        messages.success(request, _("Saved as version %(n)d.") % {"n": saved})
        return redirect("skills", access.slug)
    there, stale = present(project, name), form.is_bound and form.has_error(NON_FIELD_ERRORS)
    if stale and (there.text, sorted(there.labels)) == (
        form.cleaned_data["text"].strip(),
        sorted(form.cleaned_data["labels"]),
    ):
        # The same text is already saved, as after a double click.
        return redirect("skills", access.slug)
    context = {
        "form": form,
        "name": name,
        "title": title_of(name, there.text),
        "stale": stale,
        "theirs": there.text,
        "seen": there.version if stale or not form.is_bound else form["seen_version"].value(),
        "versions": skill_versions(project, name),
    }
    return render(request, "refining/skills/skill.html", context, status=422 if form.errors else 200)


# Start the comparison of a model on the original and the released texts, from the page of a release.


@in_project(Can.RELEASE, "POST")
def surrogate_scores_start(request: Request, access: Access, number: int) -> HttpResponse:
    """POST `backend`: a key such as `rules`, or `model:ID`. Redirects to the job."""
    release = release_for(access, number)
    backend, token = request.POST.get("backend", ""), form_token(request)
    with error_as_message(request):
        job = start_scores(release=release, backend=backend, actor=access.user, token=token)
        return redirect("job", access.slug, job.number)
    return redirect("release", access.slug, number)
