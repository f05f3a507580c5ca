"""Several runs reviewed together: from the list of runs to the one list of what they propose."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from annotations.core.access import Can, enter
from annotations.core.barred import RUNS_BARRED, runs_barred
from annotations.core.errors import ServiceError
from annotations.core.refusals import sentence
from annotations.core.requests import Request, numbers
from annotations.jobs.tokens import form_key
from annotations.models import Author, Job
from models_runtime.runs.services.merging import MOST, review_together


@require_POST
def runs_together(request: Request, slug: str) -> HttpResponse:
    """POST `run` (authors' ids, several) and the form's `token`: to the review if the list is made, else to its run."""
    access = enter(request.user, slug, Can.MAKE_GOLD)
    if runs_barred(access):
        # A merged list says which runs propose a span, which tells what the review of one of them hides.
        messages.error(request, str(RUNS_BARRED))
        return redirect("runs", slug)
    wanted = numbers(request.POST.getlist("run")[: MOST + 1])
    rows = Author.objects.filter(project=access.project, kind__in=Author.MODELS, pk__in=wanted)
    try:
        run = review_together(
            project=access.project,
            runs=list(rows.order_by("pk").values_list("name", flat=True)),
            actor=access.user,
            key=form_key(request, access),
        )
    except ServiceError as error:
        messages.error(request, sentence(error))
        return redirect("runs", slug)
    if run.job is not None and run.job.state == Job.State.DONE:
        return redirect("review_next", slug, run.author_id)
    return redirect("run", slug, run.pk)
