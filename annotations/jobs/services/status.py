"""A job as its page shows it. Everything comes from the job's row, so that a reload changes nothing."""

from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.core.access import Access
from annotations.jobs.registry import JOBS, JobKind
from annotations.jobs.services.relay import workers_alive
from annotations.models import Job, JobState

# The time until the next refresh is this part of the job's age, so that the end of a short job shows at once.
SHARE = 8
SOONEST = timedelta(milliseconds=25)
LATEST = timedelta(seconds=1)
# A rate over a shorter time is not shown (seconds).
TELLING = 1.0


@dataclass(frozen=True)
class Status:
    """What a job's page shows.

    `live`: the job may change by itself, so the page refreshes. `undone`: what the job had written was removed.
    `result`: the template of the result. `look`: when the page refreshes, as an htmx trigger. `rate` is in units
    (such as notes) per second. `workers` counts the workers on a shared job.
    """

    job: Job
    title: str
    unit: str
    text: str
    live: bool
    look: str
    percent: int | None
    rate: float | None
    left: str
    took: str
    no_worker: str
    undone: bool
    workers: int
    result: str
    can_cancel: bool
    can_pause: bool
    can_resume: bool
    can_retry: bool

    @cached_property
    def ahead(self) -> int | None:
        """The number of jobs of all projects that wait in the job's queue and came first; None unless it waits."""
        if self.job.state != JobState.QUEUED:
            return None
        return Job.objects.filter(state=JobState.QUEUED, queue=self.job.queue, pk__lt=self.job.pk).count()


def status_of(job: Job, access: Access) -> Status:
    """Return what to show of a job, and what this person may do with it."""
    kind = JOBS.get(job.kind)
    may = kind is not None and access.can(kind.right)
    pausable = kind is not None and kind.can_pause
    state = JobState
    going = job.state in (state.QUEUED, state.RUNNING)
    workers = _workers(job, kind)
    rate = _rate(job)
    return Status(
        job=job,
        title=_(kind.title) if kind else job.kind,
        result=kind.result if kind else "jobs/result.html",
        unit=_(kind.unit if kind else "steps"),
        text=_state_text(job, workers),
        live=going or (job.state == state.PAUSED and workers > 0),
        look=_look(timezone.now() - job.created_at),
        percent=min(100, job.done * 100 // job.total) if job.total else None,
        rate=rate,
        left=_left(job, rate) if job.state == state.RUNNING else "",
        took=duration((job.finished_at - job.started_at).total_seconds()) if job.finished_at and job.started_at else "",
        no_worker=_no_worker(job),
        undone=bool(kind and kind.undo) and job.state in (state.FAILED, state.CANCELED),
        workers=workers,
        can_cancel=may and not job.cancel_requested and (going or job.state == state.PAUSED),
        can_pause=may and pausable and going and not (job.cancel_requested or job.pause_requested),
        can_resume=may and (job.state == state.PAUSED or (job.state == state.RUNNING and job.pause_requested)),
        can_retry=may and kind is not None and kind.can_retry and job.state in (state.FAILED, state.CANCELED),
    )


def _look(age: timedelta) -> str:
    """Return when the page of a job refreshes. Each refresh of a young job sets a longer time until the next one."""
    # The clock of the server that created the job may be ahead, so that its age is negative.
    return f"every {min(max(abs(age) / SHARE, SOONEST), LATEST) // timedelta(milliseconds=1)}ms"


def _workers(job: Job, kind: JobKind | None) -> int:
    """Count the workers that hold a share; after a pause they finish it first."""
    if kind is None or not kind.shared or job.state not in (JobState.RUNNING, JobState.PAUSED):
        return 0
    return job.shares.filter(lease_until__gt=Now()).count()


def _state_text(job: Job, workers: int) -> str:
    if job.state == JobState.PAUSED and workers:
        return _("Pausing")
    if job.state in (JobState.QUEUED, JobState.RUNNING):
        if job.cancel_requested:
            return _("Stopping")
        if job.pause_requested:
            return _("Pausing")
        if (job.state == JobState.QUEUED and job.started_at) or _lost(job):
            return _("Waiting for a worker to continue")
    return str(job.get_state_display())


def _lost(job: Job) -> bool:
    """Whether the worker of a running job no longer prolongs its lease: it was killed, and no relay has seen it yet."""
    return job.state == JobState.RUNNING and job.lease_until is not None and job.lease_until < timezone.now()


def _no_worker(job: Job) -> str:
    """Return why the job does not progress, as a sentence; empty while it does."""
    if job.state == JobState.RUNNING:
        if not _lost(job):
            return ""
        if workers_alive(job.queue) == 0:
            return _(
                "The worker was lost, and no %(queue)s worker is running. The job is kept and continues automatically "
                "when a worker is running: manage.py work --queue %(queue)s"
            ) % {"queue": job.queue}
        return _("The worker does not respond. Progress is kept, and the job returns to the queue automatically.")
    if job.state != JobState.QUEUED:
        return ""
    alive = workers_alive(job.queue)
    if alive is None:
        return _(
            "The queue (Redis) does not respond. The job is kept and starts automatically when the "
            "queue is available again."
        )
    if alive == 0:
        return _(
            "No %(queue)s worker is running. The job is kept and starts automatically when a worker is running: "
            "manage.py work --queue %(queue)s"
        ) % {"queue": job.queue}
    return ""


def missing(queue: str) -> str:
    """Return the hint that no worker of the queue is running. It ends with a command, so without a full stop."""
    return _("No %(queue)s worker is running: manage.py work --queue %(queue)s") % {"queue": queue}


def _rate(job: Job) -> float | None:
    """Return the rate of the present workers while the job runs, of the whole job once it is done."""
    if job.state == JobState.RUNNING and job.claimed_at:
        done, seconds = job.done - job.claimed_done, (timezone.now() - job.claimed_at).total_seconds()
    elif job.state == JobState.DONE and job.started_at and job.finished_at:
        done, seconds = job.done, (job.finished_at - job.started_at).total_seconds()
    else:
        return None
    return done / seconds if done > 0 and seconds >= TELLING else None


def _left(job: Job, rate: float | None) -> str:
    if not rate or job.total <= job.done:
        return ""
    return duration((job.total - job.done) / rate)


def duration(seconds: float) -> str:
    """Format a rounded duration: "less than a second", "40 seconds", "3 minutes", "2 hours"."""
    whole = round(timedelta(seconds=seconds).total_seconds())
    if whole < 1:
        return _("less than a second")
    if whole < 90:
        return ngettext("%(n)d second", "%(n)d seconds", whole) % {"n": whole}
    minutes = round(whole / 60)
    if minutes < 90:
        return ngettext("%(n)d minute", "%(n)d minutes", minutes) % {"n": minutes}
    hours = round(minutes / 60)
    return ngettext("%(n)d hour", "%(n)d hours", hours) % {"n": hours}
