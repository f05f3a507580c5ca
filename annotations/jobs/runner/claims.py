"""Claiming a job: what one worker may do with it while it holds the lease."""

import time
import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce, Now

from annotations.core.progress import Canceled
from annotations.jobs.hooks import ended
from annotations.jobs.runner.stopping import stopping
from annotations.models import Job, JobState, Share

# A job whose workers were lost this many times is not started again.
MAX_ATTEMPTS = 5
# Progress is written at most this often (seconds).
WRITE_EVERY = 0.5
# In these states another worker will continue the job.
WAITING = (JobState.QUEUED, JobState.PAUSED)
# Other features hear of these states.
TOLD = (JobState.DONE, JobState.FAILED)


class LostLease(BaseException):
    """Another worker holds the lease now, so this worker may no longer write.

    A BaseException, like asyncio.CancelledError: a handler that catches `Exception` to survive one bad note must not
    catch this.
    """


class HandBack(BaseException):
    """The job must go back to the queue because this worker ends, or because somebody paused the job (`paused`)."""

    def __init__(self, *, paused: bool = False) -> None:
        super().__init__("paused" if paused else "handed back")
        self.paused = paused


def lease() -> timedelta:
    return timedelta(seconds=settings.JOB_LEASE_SECONDS)


@dataclass
class Claim:
    """One attempt at a job. Handlers read `params` and call `progress`, and `fence` where they write data.

    A handler's transactions must be shorter than a third of the lease: on SQLite an open write transaction keeps the
    heartbeat waiting, on PostgreSQL a fenced one does.
    """

    job_id: int
    kind: str
    project_id: int
    actor_id: int | None
    params: dict[str, Any]
    attempt: int
    token: uuid.UUID
    done: int
    total: int
    cancel_requested: bool = False
    finished: bool = False
    lost: bool = field(default=False, compare=False)
    _written: float = field(default=float("-inf"), compare=False)
    # False for a helper (runner.helping).
    leads: ClassVar[bool] = True

    # ── For handlers ─────────────────────────────────────────────────────────────────────────────────────────────────
    def progress(self, done: int, total: int) -> None:
        """Report how much is done (annotations.core.progress.Progress).

        Raises Canceled, LostLease or HandBack when the work must stop. Inside a transaction it always writes, so that
        the progress commits with the data and serves as a fence; outside at most every WRITE_EVERY seconds.
        """
        self.done, self.total = done, total
        self._check(finishing=done >= total)
        now = time.monotonic()
        if now - self._written < WRITE_EVERY and not connection.in_atomic_block:
            return
        self._written = now
        self._hold(done=done, total=total)
        self._obey(finishing=done >= total)

    def check(self) -> None:
        """Raise Canceled, LostLease or HandBack when the work must stop. Writes nothing."""
        self._check(finishing=False)
        self._obey(finishing=False)

    def fence(self) -> None:
        """Make the current transaction commit only while this worker holds the lease. Call it where data is written.

        Raises LostLease, which rolls the data back.
        """
        if not connection.in_atomic_block:
            raise RuntimeError("Call fence() inside the transaction that writes the data.")
        self._check(finishing=True)
        self._hold()

    def hold_share(self) -> None:
        """Like `fence`, for this worker's share (runner.shares). Raises LostLease if another worker has the share."""
        self._check(finishing=True)
        if not self._prolong_share():
            self.lost = True
            raise LostLease

    def advance(self, done: int) -> None:
        """Add what this worker has done to the job's progress. Raises LostLease."""
        self._hold(done=F("done") + done)

    def finish(self, result: dict[str, Any]) -> None:
        """Write the result and the state `done` together. A handler may call it inside its own last transaction.

        Raises LostLease.
        """
        with transaction.atomic():
            self._end(state=JobState.DONE, result=result, done=self.done, total=self.total, error="")
            self.finished = True

    # ── For the runner ───────────────────────────────────────────────────────────────────────────────────────────────
    def end(self, state: str, error: str = "") -> None:
        """Write that the job failed or was canceled. Raises LostLease."""
        self._end(state=state, error=error, cancel_requested=False, pause_requested=False)

    def give_back(self, *, paused: bool = False, counted: bool = False, later: bool = False) -> None:
        """Put the job back in the queue. `counted`: the attempt counts; `later`: workers are notified with a delay."""
        self._end(
            state=JobState.PAUSED if paused else JobState.QUEUED,
            finished_at=None,
            pushed_at=Now() if later else None,
            pause_requested=False,
            attempt=F("attempt") if counted else F("attempt") - 1,
        )

    def beat(self) -> bool:
        """Extend the lease. False when it is lost for good."""
        if not self._rows().update(lease_until=Now() + lease()):
            self.lost = True
        self._prolong_share()
        return not self.lost

    def _prolong_share(self) -> int:
        return Share.objects.filter(token=self.token).update(lease_until=Now() + lease())

    def _obey(self, *, finishing: bool) -> None:
        orders = self._rows().values_list("cancel_requested", "pause_requested").first()
        if orders is None:
            self.lost = True
            raise LostLease
        cancel, pause = orders
        if cancel:
            raise Canceled
        if pause and not finishing:
            raise HandBack(paused=True)

    def _check(self, *, finishing: bool) -> None:
        if self.lost:
            raise LostLease
        if stopping() and not finishing:
            raise HandBack

    def _hold(self, **values: Any) -> None:
        if not self._rows().update(lease_until=Now() + lease(), **values):
            self.lost = True
            raise LostLease

    def _end(self, **values: Any) -> None:
        values = {"finished_at": Now(), "lease_token": None, "lease_until": None} | values
        with transaction.atomic():
            if not self._rows().update(**values):
                self.lost = True
                raise LostLease
            if values["state"] in TOLD:
                ended(self.job_id, values["state"])
        # This worker's share is free at once; a job that ended has no shares any more.
        release(Share.objects.filter(**({"token": self.token} if values["state"] in WAITING else {"job": self.job_id})))

    def _rows(self) -> QuerySet[Job]:
        return Job.objects.filter(pk=self.job_id, state=JobState.RUNNING, lease_token=self.token)


def release(shares: QuerySet[Share]) -> None:
    """Delete shares. A share that its worker is writing to is skipped: the worker ends by itself, or is refused."""
    with transaction.atomic():
        unlocked = list(shares.select_for_update(skip_locked=True).values_list("pk", flat=True))
        Share.objects.filter(pk__in=unlocked).delete()


def take(job_id: int) -> Claim | None:
    """Claim a job by one conditional update; None when it has ended, was deleted, or belongs to another worker.

    The lease is measured by the database's clock, so that the clocks of workers may differ.
    """
    token = uuid.uuid4()
    free = Q(state=JobState.QUEUED) | Q(state=JobState.RUNNING, lease_until__lt=Now())
    taken = Job.objects.filter(free, pk=job_id).update(
        state=JobState.RUNNING,
        lease_token=token,
        lease_until=Now() + lease(),
        attempt=F("attempt") + 1,
        started_at=Coalesce(F("started_at"), Now()),
        claimed_at=Now(),
        claimed_done=F("done"),
    )
    if not taken:
        return None
    row = Job.objects.filter(pk=job_id, lease_token=token).first()
    if row is None:
        return None
    return Claim(
        job_id=row.pk,
        kind=row.kind,
        project_id=row.project_id,
        actor_id=row.created_by_id,
        params=row.params,
        attempt=row.attempt,
        token=token,
        done=row.done,
        total=row.total,
        cancel_requested=row.cancel_requested,
    )
