"""The page of refinements: the list, the form that starts one, and the effort of any two."""

import uuid

from django.contrib import messages
from django.core.exceptions import NON_FIELD_ERRORS
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotations.core.access import Access, Can, enter
from annotations.core.forms import attempted
from annotations.core.requests import Request, error_as_message, number, paged
from annotations.gold.selectors import versions
from annotations.jobs.services.status import status_of
from annotations.jobs.tokens import form_key, form_token
from annotations.release.selectors.releases import release_for
from models_runtime.backends.refining.state import NAME, title_of
from models_runtime.models import Refinement
from models_runtime.refining.forms import REFINEMENT_REFUSED_AT, CompareForm, RefineForm, SkillForm
from models_runtime.refining.jobs.model_scores import start_scores
from models_runtime.refining.selectors import described, present, skill_versions
from models_runtime.refining.services.refining import Effort, efforts_of, sources_of, start_refinement
from models_runtime.refining.services.skills import set_skill
from models_runtime.runs.services.llm import leaving, servers

ROWS = 30


@require_http_methods(["GET", "HEAD", "POST"])
def refinements(request: Request, slug: str) -> HttpResponse:
    """List the refinements with the effort of two (?first=&second=), or start one; ?run= chooses its annotations.

    After an error, the form keeps its values.
    """
    access = enter(request.user, slug, Can.MANAGE)
    sources = list(sources_of(access.project))
    form = RefineForm(
        request.POST if request.method == "POST" else None,
        auto_id="refine-%s",
        initial={"run": number(request.GET, "run")},
        sources=sources,
        versions=[version for version in versions(access.project) if version.span_count],
        servers=servers(),
    )
    if row := attempted(form, lambda: _start(request, access, form), REFINEMENT_REFUSED_AT):
        return redirect("job", slug, row.job.number) if row.job else redirect("refinements", slug)
    rows = Refinement.objects.filter(project=access.project).select_related(
        "author", "source__injected_run", "job", "created_by"
    )
    page = paged(request, rows, ROWS)
    efforts = efforts_of(list(page))
    compared = _compared(request, list(rows)) if page.paginator.count > 1 else None
    context = {
        "access": access,
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


def _start(request: Request, access: Access, form: RefineForm) -> Refinement:
    cleaned = form.cleaned_data
    return start_refinement(
        project=access.project,
        source=cleaned["run"],
        method=cleaned["method"],
        actor=access.user,
        name=cleaned["name"],
        gold=cleaned["gold"],
        key=form_key(request, access),
        asked=form.asked,
    )


def _compared(request: Request, rows: list[Refinement]) -> dict[str, object]:
    """The form that chooses two refinements, and their efforts; by default of the newest two."""
    by_id = {row.pk: row for row in rows}
    wanted = [number(request.GET, name) for name in ("first", "second")]
    chosen = [by_id[one] if one in by_id else rows[at] for at, one in zip((1, 0), wanted, strict=True)]
    efforts = efforts_of(chosen)
    pair: list[tuple[Refinement, Effort]] = [(row, efforts[row.pk]) for row in chosen]
    form = CompareForm(auto_id="compare-%s", initial={"first": chosen[0].pk, "second": chosen[1].pk}, rows=rows)
    return {"form": form, "pair": pair}


# Pages of the guidance for refining agents, which managers edit.


@require_safe
def skills(request: Request, slug: str) -> HttpResponse:
    access = enter(request.user, slug, Can.MANAGE)
    return render(request, "refining/skills/skills.html", {"access": access, "skills": described(access.project)})


@require_http_methods(["GET", "HEAD", "POST"])
def skill(request: Request, slug: str, name: str) -> HttpResponse:
    """Edit a skill. If somebody else saved in the meantime, nothing is saved and the page shows both versions."""
    access = enter(request.user, slug, Can.MANAGE)
    project = access.project
    if not NAME.fullmatch(name):
        raise Http404
    there = present(project, name)
    now = {"labels": " ".join(there.labels), "text": there.text, "seen_version": there.version}
    form = SkillForm(request.POST if request.method == "POST" else None, initial=now)
    saved = attempted(form, lambda: set_skill(project=project, name=name, actor=request.user, **form.cleaned_data))
    if saved is not None:
        messages.success(request, _("Saved as version %(n)d.") % {"n": saved})
        return redirect("skills", slug)
    there, stale = present(project, name), form.is_bound and form.has_error(NON_FIELD_ERRORS)
    if stale and (there.text, sorted(there.labels)) == (
        form.cleaned_data["text"].strip(),
        sorted(form.cleaned_data["labels"]),
    ):
        # The same text is already saved, as after a double click.
        return redirect("skills", slug)
    context = {
        "access": access,
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


@require_POST
def surrogate_scores_start(request: Request, slug: str, number: int) -> HttpResponse:
    """POST `backend`: a key such as `rules`, or `model:ID`. Redirects to the job."""
    access = enter(request.user, slug, Can.RELEASE)
    release = release_for(access, number)
    backend, token = request.POST.get("backend", ""), form_token(request)
    with error_as_message(request):
        job = start_scores(release=release, backend=backend, actor=access.user, token=token)
        return redirect("job", slug, job.number)
    return redirect("release", slug, number)
