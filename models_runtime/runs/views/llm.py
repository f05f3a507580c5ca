"""The page that starts a run of a language model. It says beforehand which machine receives the notes."""

import uuid

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from annotations.core.access import Can, enter
from annotations.core.errors import ServiceError
from annotations.core.forms import add_error
from annotations.core.requests import Request
from annotations.jobs.tokens import form_key, form_token
from models_runtime.backends.llm.prompts import VERSION
from models_runtime.runs.forms.llm import LlmForm
from models_runtime.runs.services.llm import leaving, prompts_of, servers, start_llm_run

# The field beside which an error of the service is shown, by its code.
REFUSED_AT = {"leaves": "may_leave", "exists": "name"}


@require_http_methods(["GET", "HEAD", "POST"])
def run_llm(request: Request, slug: str) -> HttpResponse:
    """Show the form, or start the run. After an error, the form keeps its values."""
    access = enter(request.user, slug, Can.MANAGE)
    sent = request.method == "POST"
    form = LlmForm(
        request.POST if sent else None, auto_id="llm-%s", servers=servers(), language=access.project.language
    )
    if sent and form.is_valid():
        try:
            run = start_llm_run(
                project=access.project,
                given=form.given,
                may_leave=form.cleaned_data["may_leave"],
                actor=access.user,
                key=form_key(request, access),
                name=form.cleaned_data["name"],
            )
            return redirect("run", slug, run.pk)
        except ServiceError as error:
            add_error(form, error, REFUSED_AT)
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
    return render(request, "runs/llm.html", context, status=422 if sent else 200)
