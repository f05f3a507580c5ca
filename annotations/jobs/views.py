"""The pages of jobs: the list, one job (page or fragment), and its buttons."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_vary_headers

from annotations.core.access import Access, Can
from annotations.core.requests import Request, error_as_message, in_project, paged
from annotations.jobs.services import queue
from annotations.jobs.services.queue import job_for, job_to_control
from annotations.jobs.services.status import status_of
from annotations.models import Job

ROWS = 30


@in_project(Can.READ_NOTES)
def jobs(request: Request, access: Access) -> HttpResponse:
    """Show the project's jobs, newest first."""
    rows = Job.objects.filter(project=access.project).select_related("created_by").defer("result")
    page = paged(request, rows, ROWS)
    context = {"page": page, "rows": [status_of(job, access) for job in page]}
    return render(request, "jobs/jobs.html", context)


@in_project(Can.READ_NOTES)
def job(request: Request, access: Access, number: int) -> HttpResponse:
    """Show one job: the page, or for htmx the part of it that changes."""
    row = job_for(access, number)
    context = {"status": status_of(row, access)}
    response = render(request, "jobs/status.html" if request.htmx else "jobs/job.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


@in_project(Can.READ_NOTES, "POST")
def job_act(request: Request, access: Access, number: int, act: str) -> HttpResponse:
    """Do what a button says. People who may start such a job may also control it."""
    row = job_to_control(access, number)
    with error_as_message(request):
        queue.ACTS[act](row)
    return redirect("job", access.slug, row.number)
