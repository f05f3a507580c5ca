"""Long work as people see it: the list, one job (page or fragment), and its buttons."""

from collections.abc import Callable

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Access, Can, enter, require
from annotations.core.barred import barred_spec, is_barred
from annotations.core.errors import ServiceError
from annotations.core.refusals import sentence
from annotations.core.requests import Request, number
from annotations.jobs.registry import JOBS
from annotations.jobs.services import queue
from annotations.jobs.services.status import status_of
from annotations.models import Job

ROWS = 30


@require_safe
def jobs(request: Request, slug: str) -> HttpResponse:
    """The project's jobs, newest first."""
    access = enter(request.user, slug, Can.READ_NOTES)
    rows = Job.objects.filter(project=access.project).select_related("created_by").defer("result")
    page = Paginator(rows, ROWS).get_page(number(request.GET, "page"))
    context = {"access": access, "page": page, "rows": [status_of(job, access) for job in page]}
    return render(request, "jobs/jobs.html", context)


@require_safe
def job(request: Request, slug: str, pk: int) -> HttpResponse:
    """One job: the page, or for htmx the part of it that changes."""
    access = enter(request.user, slug, Can.READ_NOTES)
    row = _job_of(access, pk)
    context = {
        "access": access,
        "status": status_of(row, access),
    }
    response = render(request, "jobs/status.html" if request.htmx else "jobs/job.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_POST
def job_cancel(request: Request, slug: str, pk: int) -> HttpResponse:
    return _act(request, slug, pk, queue.cancel)


@require_POST
def job_pause(request: Request, slug: str, pk: int) -> HttpResponse:
    return _act(request, slug, pk, queue.pause)


@require_POST
def job_resume(request: Request, slug: str, pk: int) -> HttpResponse:
    return _act(request, slug, pk, queue.resume)


@require_POST
def job_retry(request: Request, slug: str, pk: int) -> HttpResponse:
    return _act(request, slug, pk, queue.retry)


def _act(request: Request, slug: str, pk: int, act: Callable[[Job], Job]) -> HttpResponse:
    """One button: whoever may start such a job may steer it."""
    access = enter(request.user, slug, Can.READ_NOTES)
    row = _job_of(access, pk)
    kind = JOBS.get(row.kind)
    if kind is None:
        raise Http404("no such kind of job")
    require(access, kind.right)
    try:
        act(row)
    except ServiceError as error:
        messages.error(request, sentence(error))
    return redirect("job", slug, row.pk)


def _job_of(access: Access, pk: int) -> Job:
    row = get_object_or_404(Job.objects.select_related("created_by"), project=access.project, pk=pk)
    if _is_barred(access, row):
        raise Http404("not for this person to know")
    return row


def _is_barred(access: Access, row: Job) -> bool:
    """Whether its page tells what somebody's readings say: an export, a score or a comparison of them."""
    if barred_spec(access, str(row.params.get("set", ""))):
        return True
    authors = [row.params.get("author_id"), *row.params.get("authors", [])]
    return any(is_barred(access, pk) for pk in authors if pk)
