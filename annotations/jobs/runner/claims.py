"""Claiming a job: what one worker may do with it while it holds the lease."""

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from annotations.core.hooks import job_ended
from annotations.core.services import Canceled
from annotations.jobs.registry import JOBS
from annotations.models import Job, JobState, Share

# Whether this process was asked to end. A signal handler sets it; the next progress call reads it.


_stop = SimpleNamespace(requested=False)


def stop_soon() -> None:
    """Make the current job go back to the queue at its next step. Safe inside a signal handler."""
    _stop.requested = True


def stopping() -> bool:
    """Whether this process was asked to end."""
    return bool(_stop.requested)


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

    @classmethod
    def of(cls, job: Job, token: uuid.UUID) -> Self:
        names = ("kind", "project_id", "params", "attempt", "done", "total", "cancel_requested")
        told: dict[str, Any] = {name: getattr(job, name) for name in names}
        return cls(job_id=job.pk, actor_id=job.created_by_id, token=token, **told)

    # ── For handlers ─────────────────────────────────────────────────────────────────────────────────────────────────
    def progress(self, done: int, total: int) -> None:
        """Report how much is done (annotations.core.services.Progress).

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

    @contextmanager
    def fenced(self) -> Iterator[None]:
        """A transaction that begins with `fence`."""
        with transaction.atomic():
            self.fence()
            yield

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
        if _stop.requested and not finishing:
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
                job_ended(self.job_id, values["state"])
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
    return None if row is None else Claim.of(row, token)


# Several workers on one job: each takes a share of its rows, and writes the results before it takes the next share.
#
# To take a share, a worker locks the job's row and waits for no share. To write, it locks its own share, then the job's
# row. This order avoids deadlocks.


Held = Sequence[tuple[int, int]]
"""The shares of other workers: first and last id of each, both included."""


def take_share(claim: Claim, pick: Callable[[Held], Sequence[int]]) -> Sequence[int]:
    """Reserve the rows that `pick` chooses for this worker, for one lease; empty where no row is free.

    `pick` gets the shares of other workers and returns ids in order, between two of these shares. Raises LostLease.
    """
    with claim.fenced():
        shares = Share.objects.filter(job_id=claim.job_id)
        # The workers of expired shares are refused from now on.
        release(shares.filter(lease_until__lt=Now()).exclude(token=claim.token))
        rows = pick(list(shares.exclude(token=claim.token).values_list("first", "last")))
        if not rows:
            drop_share(claim)
        elif not shares.filter(token=claim.token).update(first=rows[0], last=rows[-1], lease_until=Now() + lease()):
            Share.objects.create(
                job_id=claim.job_id, token=claim.token, first=rows[0], last=rows[-1], lease_until=Now() + lease()
            )
            _measure_anew(claim.job_id)
    return rows


@contextmanager
def writing_share(claim: Claim, done: int) -> Iterator[None]:
    """Open the transaction that writes the results of a share and adds `done` to the job's progress.

    Raises LostLease, and writes nothing, where another worker has the share or the job.
    """
    with transaction.atomic():
        claim.hold_share()
        yield
        claim.advance(done)


def drop_share(claim: Claim) -> None:
    """Return this worker's share to the others."""
    if Share.objects.filter(token=claim.token).delete()[0]:
        _measure_anew(claim.job_id)


def _measure_anew(job_id: int) -> None:
    """Restart the measurement of the rate, since the number of workers has changed."""
    Job.objects.filter(pk=job_id, state=JobState.RUNNING).update(claimed_at=Now(), claimed_done=F("done"))


# Helpers: workers that join a job which another worker leads, when they join and leave, and what they may write.
#
# A helper takes shares like the leading worker, but never changes the job's state. If the leading worker is lost, the
# job goes back to the queue, and the next worker that claims the job finishes it.


# A job that is still waiting this long after its push has found no free worker: helpers leave for it.
UNTAKEN = timedelta(seconds=1)
# After a helper failed (for example without the model's weights), no other helper joins for this long.
NO_HELP = timedelta(minutes=1)
# A helper's results also count while the job waits for a new leading worker or is paused.
LIVE = (JobState.RUNNING, JobState.QUEUED, JobState.PAUSED)


# The queues that this process works on.
_served: list[str] = list(Job.Queue.values)


def serve(queues: Iterable[str]) -> None:
    """Set the queues that this process works on; by default all."""
    _served[:] = queues


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
    return Helper.of(row, uuid.uuid4())


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
    rows = Job.objects.filter(state=JobState.QUEUED, queue__in=_served, pushed_at__lt=Now() - UNTAKEN)
    return rows.exclude(pk=job_id).exists()
