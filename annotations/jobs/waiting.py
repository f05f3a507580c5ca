"""Waiting for a job in a command."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import OutputWrapper
from django.db import connection
from django.utils import timezone

from annotations.core.commands import progress_bar
from annotations.core.services import ServiceError
from annotations.jobs.runner import run as work
from annotations.jobs.services.relay import workers_alive
from annotations.models import Job, JobState

LOOK_EVERY = 0.3


def wait_for(job: Job, *, tell: OutputWrapper | None) -> None:
    """Wait until the job ends. Without a running worker, run the job here and say so on `tell`.

    This also takes over a job whose worker was lost, since without workers there may be no relay.
    """
    job.refresh_from_db()
    with watched(job):
        while job.state in (JobState.QUEUED, JobState.RUNNING):
            lost = job.lease_until is not None and job.lease_until < timezone.now()
            if (job.state == JobState.QUEUED or lost) and not workers_alive(job.queue):
                if tell is not None:
                    tell.write("No worker is running, so this command runs the job itself.")
                work(job.pk)
            else:
                time.sleep(LOOK_EVERY)
            job.refresh_from_db()


def end(job: Job, what: str, *, code: str, tell: OutputWrapper | None) -> None:
    """Wait until the job ends. Raises ServiceError `code`, which names `what`, if it did not reach its end."""
    wait_for(job, tell=tell)
    if job.state != JobState.DONE:
        message = f"{what} is not complete. Job {job.number}: {job.get_state_display()}. {job.error}"
        raise ServiceError(message.strip(), code=code)


@contextmanager
def watched(job: Job) -> Iterator[None]:
    """Show the progress of a job on a terminal while the block runs, in which this process may work on the job."""
    if not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_show, args=(job.pk, f"Job {job.number}", ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _show(job_id: int, title: str, ended: threading.Event) -> None:
    try:
        with progress_bar(title) as show:
            while not ended.wait(LOOK_EVERY):
                for done, total in Job.objects.filter(pk=job_id).values_list("done", "total"):
                    show(done, total)
    finally:
        connection.close()
