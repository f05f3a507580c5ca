"""Helpers: workers that join a job which another worker leads, when they join and leave, and what they may write.

A helper takes shares like the leading worker, but never changes the job's state. If the leading worker is lost, the job
goes back to the queue, and the next worker that claims the job finishes it.
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
from annotations.models import Job, JobState

# A job that is still waiting this long after its push has found no free worker: helpers leave for it.
UNTAKEN = timedelta(seconds=1)
# After a helper failed (for example without the model's weights), no other helper joins for this long.
NO_HELP = timedelta(minutes=1)
# A helper's results also count while the job waits for a new leading worker or is paused.
LIVE = (JobState.RUNNING, JobState.QUEUED, JobState.PAUSED)


class _Served:
    queues: tuple[str, ...] = tuple(Job.Queue.values)


_served = _Served()


def serve(queues: Iterable[str]) -> None:
    """Set the queues that this process works on; by default all."""
    _served.queues = tuple(queues)


@dataclass
class Helper(Claim):
    """A helper's claim beside that of the leading worker. Its token belongs only to its share."""

    leads: ClassVar[bool] = False

    def beat(self) -> bool:
        """Extend the lease of the share. A lost share is noticed when its results are written."""
        self._prolong_share()
        return True

    def _obey(self, *, finishing: bool) -> None:
        """Raise HandBack where the leading worker needs no helper any more."""
        going = self._rows().filter(state=JobState.RUNNING, cancel_requested=False, pause_requested=False)
        if not going.exists() or _others_wait(self.job_id):
            raise HandBack

    def _hold(self, **values: Any) -> None:
        # Locks the row even where nothing changes. Only the leading worker may extend the job's lease.
        if not self._rows().update(**(values or {"done": F("done")})):
            self.lost = True
            raise LostLease

    def _end(self, **values: Any) -> None:
        raise RuntimeError("A helper must not end the job.")

    def _rows(self) -> QuerySet[Job]:
        return Job.objects.filter(pk=self.job_id, state__in=LIVE)


def join(job_id: int) -> Helper | None:
    """Join a running job as a helper; None where the job needs no helper, or other jobs wait for a worker."""
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
    """Whether one more worker would save more time than joining takes."""
    kind = JOBS.get(job.kind)
    if kind is None or not kind.shared or job.state != JobState.RUNNING or job.claimed_at is None:
        return False
    if job.cancel_requested or job.pause_requested:
        return False
    now = timezone.now()
    if job.no_help_until is not None and job.no_help_until > now:
        return False
    # Before the first share is written, one row counts as done, which gives the shortest possible estimate.
    done = max(job.done - job.claimed_done, 1)
    left = (now - job.claimed_at).total_seconds() * (job.total - job.done) / done
    # The leading worker has a share, so it has loaded the backend.
    return left > settings.JOB_JOIN_SECONDS and job.shares.exists()


def send_away(job_id: int) -> None:
    """Keep helpers away from this job for a while after one has failed."""
    Job.objects.filter(pk=job_id).update(no_help_until=Now() + NO_HELP)


def _others_wait(job_id: int) -> bool:
    """Whether another job has been waiting for a worker on the same queues."""
    rows = Job.objects.filter(state=JobState.QUEUED, queue__in=_served.queues, pushed_at__lt=Now() - UNTAKEN)
    return rows.exclude(pk=job_id).exists()
