"""Prepare a release in this process, for commands. Only workers and commands load this module."""

from annotations.jobs.runner import run as work
from annotations.jobs.waiting import end, watched
from annotations.models import Job, Release


def prepare_here(release: Release) -> None:
    """Run the release's job here. If a worker has it, this process helps, and waits for the end.

    Raises ServiceError `job` if the release is not complete then.
    """
    job = Job.objects.get(pk__in=Release.objects.filter(pk=release.pk).values("job"))
    with watched(job):
        work(job.pk)
    end(job, f"Release {release.number}", code="job", tell=None)
    release.refresh_from_db()
