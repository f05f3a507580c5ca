"""Waiting for a job in a command."""

import time

from django.core.management.base import OutputWrapper

from annotations.core.terminal import progress_bar
from annotations.jobs.runner import run as work
from annotations.jobs.services.doorbell import workers_alive
from annotations.models import Job

LOOK_EVERY = 0.3


def wait_for(job: Job, *, tell: OutputWrapper | None) -> None:
    """Wait until the job ends. Without a running worker, run the job here and say so on `tell`."""
    job.refresh_from_db()
    with progress_bar(f"Job {job.number}") as show:
        while job.state in (Job.State.QUEUED, Job.State.RUNNING):
            if job.state == Job.State.QUEUED and not workers_alive(job.queue):
                if tell is not None:
                    tell.write("No worker is running, so this command runs the job itself.")
                work(job.pk)
            else:
                time.sleep(LOOK_EVERY)
            job.refresh_from_db()
            show(job.done, job.total)
