"""Routes of jobs: list, read, cancel, pause, resume, retry."""

import uuid
from datetime import datetime
from typing import Annotated, Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from ninja import Field, Query

from annotations.core.access import Access, Can
from annotations.core.api.paging import Page, PageAnswer, Paging, paged_rows
from annotations.core.api.routes import Answer, ApiRequest, ProjectRouter, Username, require_any_project
from annotations.jobs.registry import JOBS
from annotations.jobs.services import queue
from annotations.jobs.services.queue import job_for, job_to_control
from annotations.jobs.services.relay import QueueRow, queue_rows
from annotations.models import Job

router = ProjectRouter(tags=["Jobs"])


class JobItem(Answer):
    """A job. `done` and `total` count its units (mostly notes); `error` is a sentence. Ask again until it has ended.

    `state` is queued, running, paused, done, failed or canceled.
    """

    number: int
    kind: str
    state: str
    done: int
    total: int
    error: str
    started_by: Username = Field(validation_alias="created_by")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class JobWithResult(JobItem):
    """A job with its result, which depends on the kind of job; only for people who may start such a job."""

    result: dict[str, Any] | None = None


Controlled = Annotated[Job, job_to_control]


@router.get("/queues", response=list[QueueRow])
def list_queues(request: ApiRequest) -> list[QueueRow]:
    """List the queues of this instance with their workers and jobs. Only for administrators."""
    require_any_project(request)
    if not request.user.is_staff:
        raise PermissionDenied("Only administrators see the queues.")
    return queue_rows()


@router.get("/projects/{slug:slug}/jobs", Can.READ_NOTES, response=Page[JobItem])
def list_jobs(request: ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the jobs of a project, the newest first."""
    rows = Job.objects.filter(project=access.project).select_related("created_by").defer("result")
    return paged_rows(request, paging, rows, JobItem.model_validate, newest_first=True, by="number")


@router.get("/projects/{slug:slug}/jobs/{int:job}", Can.READ_NOTES, response=JobWithResult)
def read_job(access: Access, job: int) -> JobWithResult:
    """Read a job."""
    return _shown(access, job_for(access, job))


@router.post("/projects/{slug:slug}/jobs/{int:job}/cancel", Can.READ_NOTES, response=JobWithResult)
def cancel_job(access: Access, job: Controlled) -> JobWithResult:
    """Stop a job for good and undo what it wrote."""
    return _shown(access, queue.cancel(job))


@router.post("/projects/{slug:slug}/jobs/{int:job}/pause", Can.READ_NOTES, response=JobWithResult)
def pause_job(access: Access, job: Controlled) -> JobWithResult:
    """Pause a job."""
    return _shown(access, queue.pause(job))


@router.post("/projects/{slug:slug}/jobs/{int:job}/resume", Can.READ_NOTES, response=JobWithResult)
def resume_job(access: Access, job: Controlled) -> JobWithResult:
    """Continue a paused job."""
    return _shown(access, queue.resume(job))


@router.post("/projects/{slug:slug}/jobs/{int:job}/retry", Can.READ_NOTES, response=JobWithResult)
def retry_job(access: Access, job: Controlled) -> JobWithResult:
    """Restart a failed or canceled job."""
    return _shown(access, queue.retry(job))


def _shown(access: Access, job: Job) -> JobWithResult:
    kind = JOBS.get(job.kind)
    # A result may contain figures that only people with this right may see.
    result = job.result if kind is not None and access.can(kind.right) else None
    return JobWithResult(**JobItem.model_validate(job).dict(), result=result)


# The idempotency key of a form, so that a form sent twice starts one job.


def form_token(request: HttpRequest) -> str:
    """Return the token of the form that was sent; empty without one."""
    return request.POST.get("token", "")[:36]


def form_key(request: HttpRequest, access: Access) -> str:
    """Return a key made from the project, the person and the form's `token`; without a token it is new each time."""
    return _key(access, form_token(request)) if form_token(request) else new_key(access)


def new_key(access: Access) -> str:
    """Return a key that nothing was started with yet."""
    return _key(access, str(uuid.uuid4()))


def _key(access: Access, token: str) -> str:
    return f"{access.project.pk}-{access.user.pk}-{token}"
