"""Find a job that a person may see or control. Pages and the API use these functions."""

from django.http import Http404
from django.shortcuts import get_object_or_404

from annotations.core.access import Access, closed_to, require
from annotations.jobs.registry import JOBS
from annotations.models import Job


def job_for(access: Access, number: int) -> Job:
    """Return a job of the project. Raises Http404 where this person may not see it."""
    row = get_object_or_404(Job.objects.select_related("created_by"), project=access.project, number=number)
    # The page of an export, a score or a comparison shows what annotation sets contain.
    authors = [pk for pk in (row.params.get("author_id"), *row.params.get("authors", [])) if pk]
    if closed_to(access, spec=str(row.params.get("set", "")), authors=authors):
        raise Http404("This job does not exist.")
    return row


def job_to_control(access: Access, number: int) -> Job:
    """Return a job that this person may cancel, pause and retry: people who may start such a job. Raises as above."""
    row = job_for(access, number)
    kind = JOBS.get(row.kind)
    if kind is None:
        raise Http404("This kind of job does not exist.")
    require(access, kind.right)
    return row
