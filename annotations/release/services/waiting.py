"""Prepare a release in this process, for commands. Only workers and commands load this module."""

from annotations.core.services import ServiceError
from annotations.jobs.runner import run as work
from annotations.jobs.waiting import wait_for, watched
from annotations.models import Job, JobState, Release


def prepare_here(release: Release) -> None:
    """Run the release's job here. If a worker has it, this process helps, and waits for the end.

    Raises ServiceError `job` if the release is not complete then.
    """
    job = Job.objects.get(pk__in=Release.objects.filter(pk=release.pk).values("job"))
    with watched(job):
        work(job.pk)
    wait_for(job, tell=None)
    if job.state != JobState.DONE:
        raise ServiceError(
            f"Release {release.number} is not complete. {job.get_state_display()}. {job.error}".strip(), code="job"
        )
    release.refresh_from_db()
