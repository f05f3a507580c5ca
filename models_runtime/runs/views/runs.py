"""Model runs: which backends there are, starting one, how each went, its notes that failed, and the way to review."""

import uuid
from dataclasses import dataclass

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Access, Can, enter
from annotations.core.errors import ServiceError
from annotations.core.refusals import sentence
from annotations.core.requests import Request, number
from annotations.jobs.services.status import status_of
from annotations.jobs.tokens import form_key
from annotations.models import AnnotationSet, Author, Review
from annotations.projects.selectors.seeds import runs_with_notes
from annotations.review.selectors.handovers import Waiting, waiting_of
from models_runtime.calibration.services import standing
from models_runtime.core.foreign import foreign_models
from models_runtime.core.registry import BACKENDS
from models_runtime.models import Run, RunItem
from models_runtime.runs.services.backends import ready_models
from models_runtime.runs.services.llm import server_of, usage_of
from models_runtime.runs.services.runs import retry_failed, run_counts, run_rows, start_run

ROWS = 30
FAILURES = 100
# The fields of the form that starts a run.
TO_START = ("backend", "name", "left")


@require_safe
def runs(request: Request, slug: str) -> HttpResponse:
    """The backends, and the project's runs with what is left to review, newest first."""
    return _runs(request, enter(request.user, slug, Can.READ_NOTES))


def _runs(request: Request, access: Access, refused: str = "") -> HttpResponse:
    """With what was filled in to start one, where it was refused."""
    rows = Run.objects.filter(project=access.project).select_related("author", "job", "created_by")
    page = Paginator(rows, ROWS).get_page(number(request.GET, "page"))
    context = {
        "access": access,
        "backends": BACKENDS,
        "models": ready_models(access.project),
        "foreign": foreign_models() if access.can(Can.MANAGE) else [],
        "page": page,
        "rows": [(row, status_of(row.job, access) if row.job else None) for row in run_rows(page, access.user)],
        "imported": _imported(access) if page.number == 1 else [],
        "token": uuid.uuid4(),
        "several": len(runs_with_notes(access.project)[:2]) > 1,
        "refused": refused,
        "filled": {name: request.POST.get(name, "")[:80] for name in TO_START} if refused else {},
    }
    return render(request, "runs/runs.html", context, status=422 if refused else 200)


@dataclass(frozen=True)
class ImportedRun:
    """Proposals that came with an import: how many notes have them, and how many of those a person has reviewed."""

    author: Author
    notes: int
    reviewed: int
    second: Waiting


def _imported(access: Access) -> list[ImportedRun]:
    authors = list(
        Author.objects.filter(project=access.project, kind=Author.Kind.RUN, run__isnull=True).order_by("-id")
    )
    submitted = AnnotationSet.objects.filter(author__in=authors, state=AnnotationSet.State.SUBMITTED)
    closed = Review.objects.filter(author__in=authors, closed_at__isnull=False)
    notes, reviewed = (
        dict(rows.order_by().values_list("author").annotate(count=Count("id"))) for rows in (submitted, closed)
    )
    between = waiting_of([author.pk for author in authors], access.user)
    return [
        ImportedRun(author, notes.get(author.pk, 0), reviewed.get(author.pk, 0), between.get(author.pk, Waiting()))
        for author in authors
    ]


@require_POST
def run_start(request: Request, slug: str) -> HttpResponse:
    """POST `backend`, `name` (may be empty) and a `token` that marks the form: sent twice it is one run.

    With `left` it reads only notes that aren't gold. What is refused is said above the form, which keeps what was
    chosen.
    """
    access = enter(request.user, slug, Can.MANAGE)
    try:
        run = start_run(
            project=access.project,
            backend=request.POST.get("backend", ""),
            actor=access.user,
            name=request.POST.get("name", "")[:80],
            key=form_key(request, access),
            left=bool(request.POST.get("left")),
        )
    except ServiceError as error:
        return _runs(request, access, refused=sentence(error))
    return redirect("run", slug, run.pk)


@require_safe
def run(request: Request, slug: str, pk: int) -> HttpResponse:
    """One run: the page, or for htmx the part of it that changes."""
    access = enter(request.user, slug, Can.READ_NOTES)
    row = _run_of(access, pk)
    failed = RunItem.objects.filter(run=row, state=RunItem.State.FAILED).select_related("document")
    context = {
        "access": access,
        "run": row,
        "status": status_of(row.job, access) if row.job else None,
        "counts": run_counts(row),
        "reviewed": Review.objects.filter(author=row.author, closed_at__isnull=False).count(),
        "failed": failed.only("error", "document__name").order_by("id")[:FAILURES],
        "standing": standing(access.project, row.backend, row.revision),
        "versions": access.project.gold_versions.filter(span_count__gt=0).order_by("-number"),
        "token": uuid.uuid4(),
        "usage": usage_of(row),
        "server": server_of(row),
        "poll_url": request.path,
    }
    response = render(request, "runs/run_state.html" if request.htmx else "runs/run.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_POST
def run_retry(request: Request, slug: str, pk: int) -> HttpResponse:
    """Work again on the notes that failed or were left when the run was stopped."""
    access = enter(request.user, slug, Can.MANAGE)
    row = _run_of(access, pk)
    try:
        retry_failed(run=row, actor=access.user)
    except ServiceError as error:
        messages.error(request, sentence(error))
    return redirect("run", slug, row.pk)


def _run_of(access: Access, pk: int) -> Run:
    rows = Run.objects.select_related("author", "job__created_by", "created_by", "project", "model", "calibration")
    return get_object_or_404(rows, project=access.project, pk=pk)
