"""A run of a model that others made: the page on which each of its labels is given one of the project's."""

import uuid

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from annotations.core.access import Can, enter
from annotations.core.errors import ServiceError
from annotations.core.refusals import sentence
from annotations.core.requests import Request
from annotations.jobs.tokens import form_key
from annotations.projects.selectors.labels import labels_of
from models_runtime.core.foreign import foreign_named
from models_runtime.core.registry import PIPELINE
from models_runtime.runs.services.foreign import choices_of, start_foreign

UNDECIDED = "?"


@require_http_methods(["GET", "HEAD", "POST"])
def run_foreign(request: Request, slug: str, name: str, backend: str) -> HttpResponse:
    """The form; POST `label:LABEL` for each label of the model (a code, or empty), `name` and the form's `token`.

    What is refused is said above the form, which keeps what was chosen.
    """
    access = enter(request.user, slug, Can.MANAGE)
    model = foreign_named(backend, name)
    if model is None:
        raise Http404("no such model")
    asked = request.POST
    given = {label: asked.get(f"label:{label}", UNDECIDED) for label in model.labels}
    refused = ""
    if request.method == "POST":
        try:
            run = start_foreign(
                project=access.project,
                backend=backend,
                model=name,
                labels={label: ours for label, ours in given.items() if ours != UNDECIDED},
                actor=access.user,
                name=asked.get("name", "")[:80],
                key=form_key(request, access),
            )
            return redirect("run", slug, run.pk)
        except ServiceError as error:
            refused = sentence(error)
    context = {
        "access": access,
        "model": model,
        "is_pipeline": backend == PIPELINE,
        "refused": refused,
        "rows": [
            (choice.label, given[choice.label] if refused else choice.ours)
            for choice in choices_of(access.project, model)
        ],
        "labels": labels_of(access.project),
        "name": asked.get("name", "")[:80],
        "token": uuid.uuid4(),
    }
    return render(request, "runs/foreign.html", context, status=422 if refused else 200)
