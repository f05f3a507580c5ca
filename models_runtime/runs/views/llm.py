"""The form that starts a run of a language model: what is sent where is said before it is sent."""

import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from annotations.core.access import Access, Can, enter
from annotations.core.errors import ServiceError
from annotations.core.refusals import sentence
from annotations.core.requests import Request
from annotations.jobs.tokens import form_key
from models_runtime.backends.llm.params import LEAST_OMEGA, MOST_OMEGA, MOST_PASSES, OMEGA, PASSES
from models_runtime.runs.services.llm import form_choices, prompts_of, start_llm_run

FIELDS = ("strategy", "language", "omega", "passes")


@require_http_methods(["GET", "HEAD", "POST"])
def run_llm(request: Request, slug: str) -> HttpResponse:
    """POST `model` ("server model"), `strategy`, `language`, `omega`, `passes`, `may_leave`, `name` and `token`."""
    access = enter(request.user, slug, Can.MANAGE)
    if request.method != "POST":
        return _form(request, access)
    server, _, model = request.POST.get("model", "").partition(" ")
    try:
        run = start_llm_run(
            project=access.project,
            given={"server": server, "model": model} | {name: request.POST.get(name, "") for name in FIELDS},
            may_leave=request.POST.get("may_leave") == "yes",
            actor=access.user,
            key=form_key(request, access),
            name=request.POST.get("name", "")[:80],
        )
    except ServiceError as error:
        messages.error(request, sentence(error))
        return _form(request, access, status=422)
    return redirect("run", slug, run.pk)


def _form(request: Request, access: Access, status: int = 200) -> HttpResponse:
    """The form, with what was filled in where it was refused."""
    limits = {"least_omega": LEAST_OMEGA, "most_omega": MOST_OMEGA, "most_passes": MOST_PASSES}
    filled = {"omega": OMEGA, "passes": PASSES, "strategy": "extract", "language": "en"} | {
        name: request.POST.get(name, "")[:80] for name in (*FIELDS, "model", "name") if name in request.POST
    }
    context = form_choices() | limits | {
        "access": access,
        "filled": filled,
        "token": request.POST.get("token", "")[:36] or uuid.uuid4(),
        "prompts": prompts_of(access.project, {"extract": "Extract", "rewrite": "Rewrite"}),
    }  # fmt: skip
    return render(request, "runs/llm.html", context, status=status)
