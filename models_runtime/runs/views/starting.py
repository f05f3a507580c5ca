"""The page that starts an ensemble."""

import uuid

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from annotations.core.access import Can, enter
from annotations.core.forms import attempted
from annotations.core.requests import Request, error_as_message
from annotations.jobs.tokens import form_key, form_token
from annotations.models import JobState
from annotations.projects.selectors.labels import labels_of
from models_runtime.backends.llm.prompts import VERSION
from models_runtime.core.external import external_model_named
from models_runtime.core.registry import FLAIR, PIPELINE
from models_runtime.runs.forms.models import ExternalForm, LlmForm, ZeroShotForm
from models_runtime.runs.forms.runs import METHODS, CombineForm, MergeForm
from models_runtime.runs.services.ensembles import options_of
from models_runtime.runs.services.external import choices_of
from models_runtime.runs.services.llm import leaving, prompts_of, servers

# The field beside which an error of the service is shown, by its code.
ENSEMBLE_REFUSED_AT = dict.fromkeys(("members", "weight", "live", "backend"), "member") | {"exists": "name"}


@require_http_methods(["GET", "HEAD", "POST"])
def run_combine(request: Request, slug: str) -> HttpResponse:
    """Show the form, or start the ensemble. After an error, the form keeps its values."""
    access = enter(request.user, slug, Can.MANAGE)
    posted = request.POST if request.method == "POST" else None
    form = CombineForm(posted, auto_id="run-%s", options=options_of(access.project))
    if run := attempted(form, lambda: form.start(access, form_key(request, access)), ENSEMBLE_REFUSED_AT):
        return redirect("run", slug, run.pk)
    context = {
        "access": access,
        "form": form,
        "methods": METHODS,
        "rows": form.rows(),
        "some_have_rules": any(option.has_rules for option, _ticked, _weight in form.rows()),
        "token": form_token(request) or uuid.uuid4(),
    }
    return render(request, "runs/combine.html", context, status=422 if form.is_bound else 200)


# Merge several runs into one list of suggestions, to review them together.


@require_POST
def runs_together(request: Request, slug: str) -> HttpResponse:
    """Merge the runs. POST `run` (ids of authors) and the form's `token`.

    Redirects to the review if the merged list is complete, else to the page of its run.
    """
    access = enter(request.user, slug, Can.MAKE_GOLD)
    if access.withheld:
        # A merged list names the runs that suggest a span. This would reveal what the review of one run hides.
        messages.error(request, access.withheld)
        return redirect("runs", slug)
    form = MergeForm(request.POST)
    run = None
    with error_as_message(request):
        run = form.start(access, form_key(request, access))
    if run is None:
        return redirect("runs", slug)
    if run.job is not None and run.job.state == JobState.DONE:
        return redirect("review_next", slug, run.author_id)
    return redirect("run", slug, run.pk)


# The page that starts a run of an external model, with a project label for each of the model's labels.


@require_http_methods(["GET", "HEAD", "POST"])
def run_external(request: Request, slug: str, name: str, backend: str) -> HttpResponse:
    """Show the form, or start the run. After an error, the form keeps its values."""
    access = enter(request.user, slug, Can.MANAGE)
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
        return redirect("run", slug, run.pk)
    context = {
        "access": access,
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


@require_http_methods(["GET", "HEAD", "POST"])
def run_llm(request: Request, slug: str) -> HttpResponse:
    """Show the form, or start the run. After an error, the form keeps its values."""
    access = enter(request.user, slug, Can.MANAGE)
    posted = request.POST if request.method == "POST" else None
    form = LlmForm(posted, auto_id="llm-%s", servers=servers(), language=access.project.language)
    at = {"leaves": "may_leave", "exists": "name"}
    if run := attempted(form, lambda: form.start(access, form_key(request, access)), at):
        return redirect("run", slug, run.pk)
    context = {
        "access": access,
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
