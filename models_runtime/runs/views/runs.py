"""Pages of model runs: the list, starting a run, and one run with its state and failed notes."""

import uuid
from dataclasses import dataclass

from django.contrib import messages
from django.core.paginator import Page
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Access, Can, enter
from annotations.core.errors import ServiceError
from annotations.core.forms import add_error
from annotations.core.requests import Request, paged
from annotations.jobs.services.status import status_of
from annotations.jobs.tokens import form_key
from annotations.models import AnnotationSet, AnnotationSetState, Author, AuthorKind, Review
from annotations.projects.selectors.projects import runs_with_notes
from annotations.review.selectors.handovers import Waiting, waiting_of
from models_runtime.backends.llm.servers import STRATEGIES
from models_runtime.core.external import external_models
from models_runtime.core.registry import BACKENDS
from models_runtime.models import Run, RunItem, RunItemState
from models_runtime.runs.forms.combining import METHODS
from models_runtime.runs.forms.runs import REFUSED_AT, RunForm
from models_runtime.runs.services.backends import ready_models
from models_runtime.runs.services.llm import server_of, suggests_all_places, usage_of
from models_runtime.runs.services.renaming import LONGEST_NAME, rename_run
from models_runtime.runs.services.rewritten_notes import rewritten_facts
from models_runtime.runs.services.runs import SHOWN_ERRORS, retry_failed, run_counts, run_rows, start_run
from models_runtime.runs.services.thresholds import expected, points_of
from models_runtime.training.services.calibration import calibration_in_use

ROWS = 30


@require_safe
def runs(request: Request, slug: str) -> HttpResponse:
    """Show the backends, and the project's runs with their progress, newest first."""
    return _runs(request, enter(request.user, slug, Can.READ_NOTES), RunForm(auto_id="run-%s"))


def _runs(request: Request, access: Access, form: RunForm) -> HttpResponse:
    """Render the list of runs with the form that starts a run."""
    rows = Run.objects.filter(project=access.project).select_related("author", "job", "created_by")
    page = paged(request, rows, ROWS)
    models = ready_models(access.project)
    context = {
        "access": access,
        "backends": BACKENDS,
        "models": models,
        "curves": {f"model:{model.pk}": points for model in models if (points := points_of(model))},
        "external": external_models() if access.can(Can.MANAGE) else [],
        "page": page,
        "rows": [(row, status_of(row.job, access) if row.job else None) for row in run_rows(page, access.user)],
        "imported_page": (imported := _imported_page(request, access)),
        "imported": _imported(access, list(imported)),
        "token": uuid.uuid4(),
        "several": len(runs_with_notes(access.project)[:2]) > 1,
        "form": form,
    }
    return render(request, "runs/runs.html", context, status=422 if form.errors else 200)


@dataclass(frozen=True)
class ImportedRun:
    """Imported suggestions, with the number of notes that have them and of notes that a person has reviewed."""

    author: Author
    notes: int
    reviewed: int
    second: Waiting


def _imported_page(request: Request, access: Access) -> Page[Author]:
    authors = Author.objects.filter(project=access.project, kind=AuthorKind.RUN, run__isnull=True).order_by("-id")
    return paged(request, authors, ROWS, "imported")


def _imported(access: Access, authors: list[Author]) -> list[ImportedRun]:
    submitted = AnnotationSet.objects.filter(author__in=authors, state=AnnotationSetState.SUBMITTED)
    finished = Review.objects.filter(author__in=authors, finished_at__isnull=False)
    notes, reviewed = (
        dict(rows.order_by().values_list("author").annotate(count=Count("id"))) for rows in (submitted, finished)
    )
    between = waiting_of([author.pk for author in authors], access.user)
    return [
        ImportedRun(author, notes.get(author.pk, 0), reviewed.get(author.pk, 0), between.get(author.pk, Waiting()))
        for author in authors
    ]


@require_POST
def run_start(request: Request, slug: str) -> HttpResponse:
    """Start a run. POST `backend`, `name` (may be empty), and a `token`, so that a repeated request starts only one.

    With `left`, the run covers only notes that are not gold. `threshold`, `recall` or `precision` asks for a masking
    threshold. After an error, the form keeps its values.
    """
    access = enter(request.user, slug, Can.MANAGE)
    form = RunForm(request.POST, auto_id="run-%s")
    if form.is_valid():
        try:
            run = start_run(
                project=access.project,
                backend=form.cleaned_data["backend"],
                actor=access.user,
                name=form.cleaned_data["name"],
                key=form_key(request, access),
                left=form.cleaned_data["left"],
                wanted=form.wanted,
            )
            return redirect("run", slug, run.pk)
        except ServiceError as error:
            add_error(form, error, REFUSED_AT)
    return _runs(request, access, form)


@require_safe
def run(request: Request, slug: str, pk: int) -> HttpResponse:
    """Show one run: the whole page, or for htmx the part that changes."""
    access = enter(request.user, slug, Can.READ_NOTES)
    row = _run_of(access, pk)
    failed = RunItem.objects.filter(run=row, state=RunItemState.FAILED).select_related("document")
    context = {
        "access": access,
        "run": row,
        "method": next((title for key, title, _text in METHODS if key == row.params.get("method")), ""),
        "strategy": STRATEGIES.get(str(row.params.get("strategy")), ""),
        "status": status_of(row.job, access) if row.job else None,
        "counts": run_counts(row),
        "reviewed": Review.objects.filter(author=row.author, finished_at__isnull=False).count(),
        "failed": failed.only("error", "document__name").order_by("id")[:SHOWN_ERRORS],
        "in_use": calibration_in_use(access.project, row.backend, row.revision),
        "versions": access.project.gold_versions.filter(span_count__gt=0).order_by("-number"),
        "token": uuid.uuid4(),
        "usage": usage_of(row),
        "all_places": suggests_all_places(row),
        "server": server_of(row),
        "rewritten": rewritten_facts(row),
        "expected": expected(row),
        "poll_url": request.path,
        "longest_name": LONGEST_NAME,
    }
    response = render(request, "runs/run_state.html" if request.htmx else "runs/run.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_POST
def run_retry(request: Request, slug: str, pk: int) -> HttpResponse:
    """Retry the notes that failed or that were unfinished when the run was stopped."""
    access = enter(request.user, slug, Can.MANAGE)
    row = _run_of(access, pk)
    try:
        retry_failed(run=row, actor=access.user)
    except ServiceError as error:
        messages.error(request, str(error))
    return redirect("run", slug, row.pk)


@require_POST
def run_rename(request: Request, slug: str, pk: int) -> HttpResponse:
    """Rename a run. POST `name`."""
    access = enter(request.user, slug, Can.MANAGE)
    row = _run_of(access, pk)
    try:
        rename_run(run=row, name=request.POST.get("name", ""), actor=access.user)
    except ServiceError as error:
        messages.error(request, str(error))
    return redirect("run", slug, row.pk)


def _run_of(access: Access, pk: int) -> Run:
    rows = Run.objects.select_related("author", "job__created_by", "created_by", "project", "model", "calibration")
    return get_object_or_404(rows, project=access.project, pk=pk)
