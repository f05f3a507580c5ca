"""Workers that help at a job which another one has: who may join, how long each stays, and what it may write.

A helper takes shares as the worker that has the job does. It never changes the job's state: should that worker be lost,
the job goes back to the queue, and whoever takes it then ends it.
"""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from annotations.jobs.registry import JOBS
from annotations.jobs.runner.claims import Claim, HandBack, LostLease
from annotations.models import Job

# A job that was rung for this long ago finds no worker free: helpers give way to it.
UNTAKEN = timedelta(seconds=1)
# After a helper failed (its machine lacks the weights, say), nobody joins for so long.
NO_HELP = timedelta(minutes=1)
# While a share is in hand the job may wait for another worker, or be paused; its results count all the same.
LIVE = (Job.State.RUNNING, Job.State.QUEUED, Job.State.PAUSED)


class _Place:
    queues: tuple[str, ...] = tuple(Job.Queue.values)


_place = _Place()


def serve(queues: Iterable[str]) -> None:
    """Say which queues this process works on. One that says nothing works on all."""
    _place.queues = tuple(queues)


@dataclass
class Helper(Claim):
    """A place beside the worker that has the job. Its token is of its share alone."""

    leads: ClassVar[bool] = False

    def beat(self) -> bool:
        """Prolong the share. One that went to another is noticed when its results are written."""
        self._prolong_share()
        return True

    def _obey(self, *, finishing: bool) -> None:
        """Raises HandBack where there is nothing more to do beside the worker that has the job."""
        going = self._rows().filter(state=Job.State.RUNNING, cancel_requested=False, pause_requested=False)
        if not going.exists() or _others_wait(self.job_id):
            raise HandBack

    def _hold(self, **values: Any) -> None:
        # Locks the row also where nothing changes. The lease of the worker that has the job is not ours to prolong.
        if not self._rows().update(**(values or {"done": F("done")})):
            self.lost = True
            raise LostLease

    def _end(self, **values: Any) -> None:
        raise RuntimeError("a helper doesn't end the job it helps at")

    def _rows(self) -> QuerySet[Job]:
        return Job.objects.filter(pk=self.job_id, state__in=LIVE)


def join(job_id: int) -> Helper | None:
    """A place at a running job; None where a further worker is of no use, or of more use elsewhere."""
    row = Job.objects.filter(pk=job_id).first()
    if row is None or not wants_help(row) or _others_wait(job_id):
        return None
    return Helper(
        job_id=row.pk,
        kind=row.kind,
        project_id=row.project_id,
        actor_id=row.created_by_id,
        params=row.params,
        attempt=row.attempt,
        token=uuid.uuid4(),
        done=row.done,
        total=row.total,
    )


def wants_help(job: Job) -> bool:
    """Whether a further worker would shorten a job by more than it takes to join."""
    kind = JOBS.get(job.kind)
    if kind is None or not kind.shared or job.state != Job.State.RUNNING or job.claimed_at is None:
        return False
    if job.cancel_requested or job.pause_requested:
        return False
    now = timezone.now()
    if job.no_help_until is not None and job.no_help_until > now:
        return False
    # Before the first share is written, as if one row were just done: the least that can be left.
    done = max(job.done - job.claimed_done, 1)
    left = (now - job.claimed_at).total_seconds() * (job.total - job.done) / done
    # The worker that has the job has begun: it knows what the backend is.
    return left > settings.JOB_JOIN_SECONDS and job.shares.exists()


def send_away(job_id: int) -> None:
    """A helper failed at this job: nobody else joins for a while."""
    Job.objects.filter(pk=job_id).update(no_help_until=Now() + NO_HELP)


def _others_wait(job_id: int) -> bool:
    """Whether a job waits for a worker like this one."""
    rows = Job.objects.filter(state=Job.State.QUEUED, queue__in=_place.queues, pushed_at__lt=Now() - UNTAKEN)
    return rows.exclude(pk=job_id).exists()
