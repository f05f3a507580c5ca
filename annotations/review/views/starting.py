"""The buttons of a bulk act: start and undo. They redirect to the page of the job, or of the act if there is no job."""

from collections.abc import Callable
from functools import partial
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Can, enter
from annotations.core.errors import ServiceError
from annotations.core.requests import Request
from annotations.jobs.services.batch_acts import job_of
from annotations.models import BulkAct, Job
from annotations.review.services.starting import start_bulk, start_undo


@require_POST
def bulk_start(request: Request, slug: str, bulk: UUID) -> HttpResponse:
    """Start the act.

    POST `with_gold`: 1 to include notes that already have gold. `with_doubtful`: 1 to include doubtful suggestions.
    """
    with_gold, with_doubtful = (request.POST.get(name) == "1" for name in ("with_gold", "with_doubtful"))
    return _begin(request, slug, bulk, partial(start_bulk, with_gold=with_gold, with_doubtful=with_doubtful))


@require_POST
def bulk_undo(request: Request, slug: str, bulk: UUID) -> HttpResponse:
    return _begin(request, slug, bulk, start_undo)


@require_safe
def bulk_job(request: Request, slug: str, bulk: UUID) -> HttpResponse:
    """Redirect from an act to its job; 404 if the act needed no job."""
    access = enter(request.user, slug, Can.MAKE_GOLD)
    row = get_object_or_404(BulkAct, project=access.project, pk=bulk)
    job = job_of(row, "bulk_undo") or job_of(row, "bulk")
    if job is None:
        raise Http404("No such job.")
    return redirect("job", slug, job.number)


def _begin(request: Request, slug: str, bulk: UUID, begin: Callable[..., Job | None]) -> HttpResponse:
    access = enter(request.user, slug, Can.MAKE_GOLD)
    row = get_object_or_404(BulkAct.objects.select_related("project", "user"), project=access.project, pk=bulk)
    try:
        job = begin(bulk=row, actor=access.user)
    except ServiceError as error:
        messages.error(request, str(error))
        job = None
    return redirect("job", slug, job.number) if job else redirect("review_bulk", slug, row.pk)
