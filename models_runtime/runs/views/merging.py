"""Merge several runs into one list of suggestions, to review them together."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from annotations.core.access import Can, enter
from annotations.core.errors import ServiceError
from annotations.core.requests import Request
from annotations.jobs.tokens import form_key
from annotations.models import Author, Job
from models_runtime.runs.forms.runs import MergeForm
from models_runtime.runs.services.merging import MOST, review_together


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
    if run.job is not None and run.job.state == Job.State.DONE:
        return redirect("review_next", slug, run.author_id)
    return redirect("run", slug, run.pk)
