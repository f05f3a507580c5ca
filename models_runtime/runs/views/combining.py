"""The page that starts an ensemble."""

import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from annotations.core.access import Can, enter
from annotations.core.errors import ServiceError
from annotations.core.forms import add_error
from annotations.core.requests import Request
from annotations.jobs.tokens import form_key, form_token
from annotations.models import Author, JobState
from models_runtime.runs.forms.combining import METHODS, CombineForm
from models_runtime.runs.forms.runs import MergeForm
from models_runtime.runs.services.ensembles import options_of, start_ensemble
from models_runtime.runs.services.merging import MOST, review_together
from models_runtime.runs.services.thresholds import ThresholdGoal

# The field beside which an error of the service is shown, by its code.
REFUSED_AT = {
    "members": "member",
    "weight": "member",
    "live": "member",
    "backend": "member",
    "exists": "name",
    "threshold": "threshold",
}


@require_http_methods(["GET", "HEAD", "POST"])
def run_combine(request: Request, slug: str) -> HttpResponse:
    """Show the form, or start the ensemble. After an error, the form keeps its values."""
    access = enter(request.user, slug, Can.MANAGE)
    sent = request.method == "POST"
    form = CombineForm(request.POST if sent else None, auto_id="run-%s", options=options_of(access.project))
    if sent and form.is_valid():
        try:
            run = start_ensemble(
                project=access.project,
                members=form.members,
                method=form.cleaned_data["method"],
                actor=access.user,
                name=form.cleaned_data["name"],
                wanted=ThresholdGoal(form.cleaned_data["threshold"]),
                key=form_key(request, access),
            )
            return redirect("run", slug, run.pk)
        except ServiceError as error:
            add_error(form, error, REFUSED_AT)
    context = {
        "access": access,
        "form": form,
        "methods": METHODS,
        "rows": form.rows(),
        "some_have_rules": any(row.option.has_rules for row in form.rows()),
        "token": form_token(request) or uuid.uuid4(),
    }
    return render(request, "runs/combine.html", context, status=422 if sent else 200)


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
    wanted = form.cleaned_data["run"][: MOST + 1] if form.is_valid() else []
    rows = Author.objects.filter(project=access.project, kind__in=Author.MODELS, pk__in=wanted)
    try:
        run = review_together(
            project=access.project,
            runs=list(rows.order_by("pk").values_list("name", flat=True)),
            actor=access.user,
            key=form_key(request, access),
        )
    except ServiceError as error:
        messages.error(request, str(error))
        return redirect("runs", slug)
    if run.job is not None and run.job.state == JobState.DONE:
        return redirect("review_next", slug, run.author_id)
    return redirect("run", slug, run.pk)
