"""The page that starts an ensemble."""

import uuid

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from annotations.core.access import Can, enter
from annotations.core.errors import ServiceError
from annotations.core.forms import add_error
from annotations.core.requests import Request
from annotations.jobs.tokens import form_key, form_token
from models_runtime.runs.forms.combining import METHODS, CombineForm
from models_runtime.runs.services.ensembles import options_of, start_ensemble
from models_runtime.runs.services.thresholds import Wanted

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
                wanted=Wanted(form.cleaned_data["threshold"]),
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
