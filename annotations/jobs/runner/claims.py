"""A job in the hands of one worker."""

import time
import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce, Now

from annotations.core.progress import Cancelled
from annotations.jobs.runner.stopping import stopping
from annotations.models import Job, Share

# A job that took down this many workers is not started again.
MAX_ATTEMPTS = 5
# Progress is written at most this often (seconds).
WRITE_EVERY = 0.5
# In these states somebody goes on with a job.
WAITING = (Job.State.QUEUED, Job.State.PAUSED)


class LostLease(BaseException):
    """The lease went to another worker; nothing this one writes counts any more.

    A BaseException, as asyncio.CancelledError is: a handler that shields its run from one bad note by
    `except Exception` must not shield it from this.
    """


class HandBack(BaseException):
    """The job is to be put back for later: this worker ends, or (`paused`) somebody paused the job."""

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
    # False of one that only helps (runner.helping).
    leads: ClassVar[bool] = True

    # ── For handlers ─────────────────────────────────────────────────────────────────────────────────────────────────
    def progress(self, done: int, total: int) -> None:
        """Say how far the work is (annotations.core.progress.Progress).

        Raises Cancelled, LostLease or HandBack when the work is to stop. Inside a transaction it always writes, so that
        it commits with the data and works as a fence; outside at most every WRITE_EVERY seconds.
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
        """Raises Cancelled, LostLease or HandBack when the work is to stop here. Writes nothing."""
        self._check(finishing=False)
        self._obey(finishing=False)

    def fence(self) -> None:
        """Call inside the transaction that writes data: it commits only while this worker holds the lease.

        Raises LostLease, which rolls the data back.
        """
        if not connection.in_atomic_block:
            raise RuntimeError("fence() belongs inside the transaction whose data it guards")
        self._check(finishing=True)
        self._hold()

    def hold_share(self) -> None:
        """The fence of what is in hand (runner.shares). Raises LostLease where it went to another worker."""
        self._check(finishing=True)
        if not self._prolong_share():
            self.lost = True
            raise LostLease

    def advance(self, done: int) -> None:
        """So many more are done, by this worker. Raises LostLease."""
        self._hold(done=F("done") + done)

    def finish(self, result: dict[str, Any]) -> None:
        """Write the result and the state `done` at once. A handler may call it inside its own last transaction.

        Raises LostLease.
        """
        with transaction.atomic():
            self._end(state=Job.State.DONE, result=result, done=self.done, total=self.total, error="")
            self.finished = True

    # ── For the runner ───────────────────────────────────────────────────────────────────────────────────────────────
    def end(self, state: str, error: str = "") -> None:
        """Write that the job failed or was cancelled. Raises LostLease."""
        self._end(state=state, error=error, cancel_requested=False, pause_requested=False)

    def give_back(self, *, paused: bool = False, counted: bool = False, later: bool = False) -> None:
        """Put the job back. `counted`: the attempt counts as one; `later`: the relay waits before it rings again."""
        self._end(
            state=Job.State.PAUSED if paused else Job.State.QUEUED,
            finished_at=None,
            pushed_at=Now() if later else None,
            pause_requested=False,
            attempt=F("attempt") if counted else F("attempt") - 1,
        )

    def beat(self) -> bool:
        """Prolong the lease. False, once and for all, when it is gone."""
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
            raise Cancelled
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
        if not self._rows().update(**values):
            self.lost = True
            raise LostLease
        # What is in hand goes to the next one at once; of a job that ended nothing is in anybody's hands.
        release(Share.objects.filter(**({"token": self.token} if values["state"] in WAITING else {"job": self.job_id})))

    def _rows(self) -> QuerySet[Job]:
        return Job.objects.filter(pk=self.job_id, state=Job.State.RUNNING, lease_token=self.token)


def release(shares: QuerySet[Share]) -> None:
    """What these had in hand is free. Skipped while a worker is writing: it then ends by itself, or is refused."""
    with transaction.atomic():
        unlocked = list(shares.select_for_update(skip_locked=True).values_list("pk", flat=True))
        Share.objects.filter(pk__in=unlocked).delete()


def take(job_id: int) -> Claim | None:
    """Claim a job by one conditional update; None when it is done, gone, or in another worker's hands.

    The lease is measured by the database's clock, so that workers need not agree on the time.
    """
    token = uuid.uuid4()
    free = Q(state=Job.State.QUEUED) | Q(state=Job.State.RUNNING, lease_until__lt=Now())
    taken = Job.objects.filter(free, pk=job_id).update(
        state=Job.State.RUNNING,
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
