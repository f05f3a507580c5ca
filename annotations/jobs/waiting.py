"""Commands that stay until their job is over."""

import time

from django.core.management.base import OutputWrapper

from annotations.jobs.runner import run as work
from annotations.jobs.services.doorbell import workers_alive
from annotations.models import Job

LOOK_EVERY = 0.3


def wait_for(job: Job, *, tell: OutputWrapper | None) -> None:
    """Stay to the end of the job, and do the work here if no worker lives; `tell`, where given, is told so."""
    job.refresh_from_db()
    while job.state in (Job.State.QUEUED, Job.State.RUNNING):
        if job.state == Job.State.QUEUED and not workers_alive(job.queue):
            if tell is not None:
                tell.write("no worker is alive: this command does the work itself")
            work(job.pk)
        else:
            time.sleep(LOOK_EVERY)
        job.refresh_from_db()
