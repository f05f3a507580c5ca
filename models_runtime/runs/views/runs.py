"""Pages of model runs: the list, the forms that start one, and one run with its state and failed notes."""

import uuid
from typing import Any

from django.contrib import messages
from django.core.paginator import Page
from django.db.models import Count
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from annotations.core.access import Access, Can
from annotations.core.answers import streamed
from annotations.core.forms import attempted
from annotations.core.requests import FORM, Request, enter_page, error_as_message, in_project, paged, render_part
from annotations.jobs.api import form_key, form_token
from annotations.jobs.services.status import status_of
from annotations.models import AnnotationSet, AnnotationSetState, Author, AuthorKind, JobState, Review
from annotations.projects.selectors.labels import labels_of
from annotations.projects.selectors.projects import runs_with_notes
from annotations.review.selectors.reviewing import WaitingCounts, waiting_of
from models_runtime.backends.llm.prompts import VERSION
from models_runtime.backends.llm.servers import STRATEGIES
from models_runtime.core.external import external_model_named, external_models
from models_runtime.core.registry import BACKENDS, FLAIR, PIPELINE
from models_runtime.models import Run, RunItem, RunItemState
from models_runtime.runs.forms.models import ExternalForm, LlmForm, PlaceholderForm, ZeroShotForm
from models_runtime.runs.forms.runs import METHODS, REFUSED_AT, CombineForm, MergeForm, RunForm
from models_runtime.runs.services import llm
from models_runtime.runs.services import runs as service
from models_runtime.runs.services.backend_rows import backend_rows
from models_runtime.runs.services.backends import expected, points_of, ready_models
from models_runtime.runs.services.ensembles import options_of
from models_runtime.runs.services.external import choices_of
from models_runtime.runs.services.llm import leaving, prompts_of, server_of, servers, suggests_all_places, usage_of
from models_runtime.training.services.calibration import calibration_in_use

ROWS = 30


@require_safe
def runs(request: Request, slug: str) -> HttpResponse:
    """Show the backends, and the project's runs with their progress, newest first."""
    return _runs(request, enter_page(request, slug, Can.READ_NOTES), RunForm(auto_id="run-%s"))


def _runs(request: Request, access: Access, form: RunForm) -> HttpResponse:
    """Render the list of runs with the form that starts a run."""
    rows = Run.objects.filter(project=access.project).select_related("author", "job", "created_by")
    page = paged(request, rows, ROWS)
    models = ready_models(access.project)
    context = {
        "backends": BACKENDS,
        "models": models,
        "curves": {f"model:{model.pk}": points for model in models if (points := points_of(model))},
        "external": external_models() if access.can(Can.MANAGE) else [],
        "page": page,
        "rows": [(row, status_of(row.job, access) if row.job else None) for row in service.run_rows(page, access.user)],
        "imported_page": (imported := _imported_page(request, access)),
        "imported": _imported(access, list(imported)),
        "token": uuid.uuid4(),
        "several": len(runs_with_notes(access.project)[:2]) > 1,
        "form": form,
    }
    return render(request, "runs/runs.html", context, status=422 if form.errors else 200)


def _imported_page(request: Request, access: Access) -> Page[Author]:
    authors = Author.objects.filter(project=access.project, kind=AuthorKind.RUN, run__isnull=True).order_by("-id")
    return paged(request, authors, ROWS, "imported")


def _imported(access: Access, authors: list[Author]) -> list[dict[str, Any]]:
    """Imported suggestions, with the number of notes that have them and of notes that a person has reviewed."""
    submitted = AnnotationSet.objects.filter(author__in=authors, state=AnnotationSetState.SUBMITTED)
    finished = Review.objects.filter(author__in=authors, finished_at__isnull=False)
    notes, reviewed = (
        dict(rows.order_by().values_list("author").annotate(count=Count("*"))) for rows in (submitted, finished)
    )
    between = waiting_of([author.pk for author in authors], access.user)
    return [
        {
            "author": author,
            "notes": notes.get(author.pk, 0),
            "reviewed": reviewed.get(author.pk, 0),
            "second": between.get(author.pk, WaitingCounts()),
        }
        for author in authors
    ]


@in_project(Can.MANAGE, "POST")
def run_start(request: Request, access: Access) -> HttpResponse:
    """Start a run. POST `backend`, `name` (may be empty), and a `token`, so that a repeated request starts only one.

    With `left`, the run covers only notes that are not gold. `threshold`, `recall` or `precision` asks for a masking
    threshold. After an error, the form keeps its values.
    """
    form = RunForm(request.POST, auto_id="run-%s")
    if run := attempted(form, lambda: form.start(access, form_key(request, access)), REFUSED_AT):
        return redirect("run", access.slug, run.pk)
    return _runs(request, access, form)


@in_project(Can.READ_NOTES)
def run(request: Request, access: Access, pk: int) -> HttpResponse:
    """Show one run: the whole page, or for htmx the part that changes."""
    row = service.run_of(access, pk)
    failed = RunItem.objects.filter(run=row, state=RunItemState.FAILED).select_related("document")
    context = {
        "run": row,
        "method": next((title for key, title, _text in METHODS if key == row.params.get("method")), ""),
        "strategy": STRATEGIES.get(str(row.params.get("strategy")), ""),
        "status": status_of(row.job, access) if row.job else None,
        "counts": service.run_counts(row),
        "reviewed": Review.objects.filter(author=row.author, finished_at__isnull=False).count(),
        "failed": failed.only("error", "document__name").order_by("id")[: service.SHOWN_ERRORS],
        "in_use": calibration_in_use(access.project, row.backend, row.revision),
        "versions": access.project.gold_versions.filter(span_count__gt=0).order_by("-number"),
        "token": uuid.uuid4(),
        "usage": usage_of(row),
        "all_places": suggests_all_places(row),
        "server": server_of(row),
        "rewritten": llm.rewritten_facts(row),
        "expected": expected(row),
        "poll_url": request.path,
        "longest_name": service.LONGEST_NAME,
    }
    return render_part(request, "runs/run.html", "runs/run_state.html", context)


@in_project(Can.MANAGE, "POST")
def run_retry(request: Request, access: Access, pk: int) -> HttpResponse:
    """Retry the notes that failed or that were unfinished when the run was stopped."""
    row = service.run_of(access, pk)
    with error_as_message(request):
        service.retry_failed(run=row, actor=access.user)
    return redirect("run", access.slug, row.pk)


@in_project(Can.MANAGE, "POST")
def run_rename(request: Request, access: Access, pk: int) -> HttpResponse:
    """Rename a run. POST `name`."""
    row = service.run_of(access, pk)
    with error_as_message(request):
        service.rename_run(run=row, name=request.POST.get("name", ""), actor=access.user)
    return redirect("run", access.slug, row.pk)


# The page of backends, with their health, last run and calibration.


@in_project(Can.READ_NOTES)
def backends(request: Request, access: Access) -> HttpResponse:
    return render(request, "runs/backends.html", {"rows": backend_rows(access.project)})


# Rewritten notes of a run: labels for unknown placeholders, and the download.


@in_project(Can.MANAGE, *FORM)
def run_placeholders(request: Request, access: Access, pk: int) -> HttpResponse:
    """Choose labels for the placeholders of a run that are not a label's. Their spans then become suggestions."""
    run = llm.rewriting_for(access.project, pk)
    counts = llm.unmapped_placeholders(run)
    form = PlaceholderForm(
        request.POST if request.method == "POST" else None,
        choices=llm.placeholder_choices(run, counts),
        labels=labels_of(access.project),
        auto_id="choose-%s",
    )
    made = attempted(form, lambda: llm.map_placeholders(run=run, labels=form.decided, actor=access.user))
    if made is not None:
        said = ngettext("%(count)s suggestion was added.", "%(count)s suggestions were added.", made)
        messages.success(request, said % {"count": made} if form.decided else _("Nothing was changed."))
        return redirect("run", access.slug, run.pk)
    context = {
        "run": run,
        "form": form,
        "rows": [(field, counts[str(field.label)]) for field in form.rows()],
    }
    return render(request, "runs/placeholders.html", context, status=422 if form.is_bound else 200)


@in_project(Can.EXPORT)
def run_rewritten(request: Request, access: Access, pk: int) -> StreamingHttpResponse:
    """Download the rewritten notes as JSON Lines. `?prompt=yes` adds the prompt to each line."""
    run = llm.rewriting_for(access.project, pk)
    lines, name = llm.export_rewritten(run=run, prompt=request.GET.get("prompt") == "yes", actor=access.user)
    return streamed(lines, "application/jsonl", name)


# The page that starts an ensemble.


# The field beside which an error of the service is shown, by its code.
ENSEMBLE_REFUSED_AT = dict.fromkeys(("members", "weight", "live", "backend"), "member") | {"exists": "name"}


@in_project(Can.MANAGE, *FORM)
def run_combine(request: Request, access: Access) -> HttpResponse:
    """Show the form, or start the ensemble. After an error, the form keeps its values."""
    posted = request.POST if request.method == "POST" else None
    form = CombineForm(posted, auto_id="run-%s", options=options_of(access.project))
    if run := attempted(form, lambda: form.start(access, form_key(request, access)), ENSEMBLE_REFUSED_AT):
        return redirect("run", access.slug, run.pk)
    context = {
        "form": form,
        "methods": METHODS,
        "rows": form.rows(),
        "some_have_rules": any(option.has_rules for option, _ticked, _weight in form.rows()),
        "token": form_token(request) or uuid.uuid4(),
    }
    return render(request, "runs/combine.html", context, status=422 if form.is_bound else 200)


# Merge several runs into one list of suggestions, to review them together.


@in_project(Can.MAKE_GOLD, "POST")
def runs_together(request: Request, access: Access) -> HttpResponse:
    """Merge the runs. POST `run` (ids of authors) and the form's `token`.

    Redirects to the review if the merged list is complete, else to the page of its run.
    """
    if access.withheld:
        # A merged list names the runs that suggest a span. This would reveal what the review of one run hides.
        messages.error(request, access.withheld)
        return redirect("runs", access.slug)
    form = MergeForm(request.POST)
    run = None
    with error_as_message(request):
        run = form.start(access, form_key(request, access))
    if run is None:
        return redirect("runs", access.slug)
    if run.job is not None and run.job.state == JobState.DONE:
        return redirect("review_next", access.slug, run.author_id)
    return redirect("run", access.slug, run.pk)


# The page that starts a run of an external model, with a project label for each of the model's labels.


@in_project(Can.MANAGE, *FORM)
def run_external(request: Request, access: Access, name: str, backend: str) -> HttpResponse:
    """Show the form, or start the run. After an error, the form keeps its values."""
    model = external_model_named(backend, name)
    if model is None:
        raise Http404("This model does not exist.")
    form = (ZeroShotForm if model.zero_shot else ExternalForm)(
        request.POST if request.method == "POST" else None,
        auto_id="run-%s",
        choices=choices_of(access.project, model),
        labels=labels_of(access.project),
    )
    at = {"exists": "name", "leaves": "may_leave"}
    if run := attempted(form, lambda: form.start(access, model, form_key(request, access)), at):
        return redirect("run", access.slug, run.pk)
    context = {
        "model": model,
        "is_pipeline": backend == PIPELINE,
        "is_flair": backend == FLAIR,
        "leaving": [model.server] if model.server and model.server.leaves_machine else [],
        "form": form,
        "rows": form.rows(),
        "token": form_token(request) or uuid.uuid4(),
    }
    return render(request, "runs/external.html", context, status=422 if form.is_bound else 200)


# The page that starts a run of a language model. It says beforehand which machine receives the notes.


@in_project(Can.MANAGE, *FORM)
def run_llm(request: Request, access: Access) -> HttpResponse:
    """Show the form, or start the run. After an error, the form keeps its values."""
    posted = request.POST if request.method == "POST" else None
    form = LlmForm(posted, auto_id="llm-%s", servers=servers(), language=access.project.language)
    at = {"leaves": "may_leave", "exists": "name"}
    if run := attempted(form, lambda: form.start(access, form_key(request, access)), at):
        return redirect("run", access.slug, run.pk)
    context = {
        "form": form,
        "servers": servers(),
        "leaving": leaving(),
        "token": form_token(request) or uuid.uuid4(),
        "prompts": prompts_of(
            access.project, {"extract": "Extract", "by_label": "Extract by label", "rewrite": "Rewrite"}
        ),
        "prompt_version": VERSION,
    }
    return render(request, "runs/llm.html", context, status=422 if form.is_bound else 200)
