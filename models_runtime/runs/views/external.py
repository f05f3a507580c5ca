"""The page that starts a run of an external model, with a project label for each of the model's labels."""

import uuid

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from annotations.core.access import Can, enter
from annotations.core.errors import ServiceError
from annotations.core.forms import add_error
from annotations.core.requests import Request
from annotations.jobs.tokens import form_key, form_token
from annotations.projects.selectors.labels import labels_of
from models_runtime.core.external import external_model_named
from models_runtime.core.registry import FLAIR, PIPELINE
from models_runtime.runs.forms.external import ExternalForm, ZeroShotForm
from models_runtime.runs.services.external import choices_of, start_external


@require_http_methods(["GET", "HEAD", "POST"])
def run_external(request: Request, slug: str, name: str, backend: str) -> HttpResponse:
    """Show the form, or start the run. After an error, the form keeps its values."""
    access = enter(request.user, slug, Can.MANAGE)
    model = external_model_named(backend, name)
    if model is None:
        raise Http404("This model does not exist.")
    sent = request.method == "POST"
    form = (ZeroShotForm if model.zero_shot else ExternalForm)(
        request.POST if sent else None,
        auto_id="run-%s",
        choices=choices_of(access.project, model),
        labels=labels_of(access.project),
    )
    if sent and form.is_valid():
        try:
            run = start_external(
                project=access.project,
                backend=backend,
                model=name,
                labels=form.decided,
                actor=access.user,
                name=form.cleaned_data["name"],
                may_leave=form.cleaned_data["may_leave"],
                key=form_key(request, access),
            )
            return redirect("run", slug, run.pk)
        except ServiceError as error:
            add_error(form, error, {"exists": "name", "leaves": "may_leave"})
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
    return render(request, "runs/external.html", context, status=422 if sent else 200)
