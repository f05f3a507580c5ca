"""An ensemble as a run: the page on which its method and members are chosen."""

import uuid

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotations.core.access import Access, Can, enter
from annotations.core.errors import ServiceError
from annotations.core.refusals import sentence
from annotations.core.requests import Request
from annotations.domain.voting import Method
from annotations.jobs.tokens import form_key
from models_runtime.models import Run
from models_runtime.runs.services.ensembles import Asked, options_of, start_ensemble, weight_of

MOST = 50


@require_http_methods(["GET", "HEAD", "POST"])
def run_combine(request: Request, slug: str) -> HttpResponse:
    """The form; POST `member` (several), `method`, `weight:MEMBER`, `name` (may be empty) and the form's `token`.

    What is refused is said above the form, which keeps what was chosen.
    """
    access = enter(request.user, slug, Can.MANAGE)
    refused = ""
    if request.method == "POST":
        try:
            return redirect("run", slug, _started(request, access).pk)
        except ServiceError as error:
            refused = sentence(error)
    asked = request.POST
    rows = [
        (option, asked.get(f"weight:{option.word}", option.weight), option.word in asked.getlist("member"))
        for option in options_of(access.project)
    ]
    context = {
        "access": access,
        "refused": refused,
        "methods": _methods(),
        "method": asked.get("method") or Method.MAJORITY,
        "rows": rows,
        "name": asked.get("name", "")[:80],
        "token": uuid.uuid4(),
    }
    return render(request, "runs/combine.html", context, status=422 if refused else 200)


def _started(request: Request, access: Access) -> Run:
    asked = request.POST
    words = asked.getlist("member")[:MOST]
    return start_ensemble(
        project=access.project,
        members=[Asked(word, weight_of(asked.get(f"weight:{word}", ""))) for word in words],
        method=asked.get("method", ""),
        actor=access.user,
        name=asked.get("name", "")[:80],
        key=form_key(request, access),
    )


def _methods() -> list[tuple[Method, str, str]]:
    """Key, title, and what it is for."""
    return [
        (Method.MAJORITY, _("Majority"), _("What more than half of the members say: what to propose.")),
        (
            Method.WEIGHTED,
            _("Weighted vote"),
            _("What members with more than half of the weight say. A model's weight is its score on held-out notes."),
        ),
        (Method.INTERSECTION, _("Intersection"), _("What all members say: few proposals, nearly all of them right.")),
        (Method.UNION, _("Union"), _("What any member says: what might have been missed.")),
    ]
