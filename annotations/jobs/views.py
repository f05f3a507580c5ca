"""The pages of jobs: the list, one job (page or fragment), and its buttons."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Can, enter
from annotations.core.errors import ServiceError
from annotations.core.requests import Request, paged
from annotations.jobs.services import queue
from annotations.jobs.services.queue import job_for, job_to_control
from annotations.jobs.services.status import status_of
from annotations.models import Job

ROWS = 30


@require_safe
def jobs(request: Request, slug: str) -> HttpResponse:
    """Show the project's jobs, newest first."""
    access = enter(request.user, slug, Can.READ_NOTES)
    rows = Job.objects.filter(project=access.project).select_related("created_by").defer("result")
    page = paged(request, rows, ROWS)
    context = {"access": access, "page": page, "rows": [status_of(job, access) for job in page]}
    return render(request, "jobs/jobs.html", context)


@require_safe
def job(request: Request, slug: str, number: int) -> HttpResponse:
    """Show one job: the page, or for htmx the part of it that changes."""
    access = enter(request.user, slug, Can.READ_NOTES)
    row = job_for(access, number)
    context = {"access": access, "status": status_of(row, access)}
    response = render(request, "jobs/status.html" if request.htmx else "jobs/job.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_POST
def job_act(request: Request, slug: str, number: int, act: str) -> HttpResponse:
    """Do what a button says. People who may start such a job may also control it."""
    access = enter(request.user, slug, Can.READ_NOTES)
    row = job_to_control(access, number)
    try:
        queue.ACTS[act](row)
    except ServiceError as error:
        messages.error(request, str(error))
    return redirect("job", slug, row.number)
