"""What the relay does every second: puts back what lost its worker, rings for what waits unheard, calls helpers."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from annotations.jobs.registry import JOBS
from annotations.jobs.runner.claims import MAX_ATTEMPTS, release
from annotations.jobs.runner.execute import gave_up
from annotations.jobs.runner.helping import wants_help
from annotations.jobs.services.doorbell import RedisError, idle_workers, ring, waiting
from annotations.models import Job, Share

# A job rung for this long ago and still waiting may have been lost with Redis: look whether it still lies there.
UNHEARD = timedelta(seconds=5)
AT_ONCE = 500
# After the last attempt a worker only takes back what was written; if that too kills it this often, the job ends here.
UNDO_ATTEMPTS = 3


@dataclass
class Swept:
    """Job ids by what happened to them; `called`: others were rung to help. `redis_away` when nothing could be rung."""

    rung: list[int] = field(default_factory=list)
    put_back: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    called: list[int] = field(default_factory=list)
    redis_away: bool = False


def sweep() -> Swept:
    """One round. Safe beside other relays: every change is conditional. Raises DatabaseError only."""
    swept = Swept()
    for job in _expired():
        state = _recover(job)
        if state == Job.State.QUEUED:
            swept.put_back.append(job.pk)
        elif state == Job.State.FAILED:
            swept.failed.append(job.pk)
    for queue, jobs in _unheard().items():
        try:
            swept.rung += _ring_missing(queue, jobs)
        except RedisError:
            swept.redis_away = True
    try:
        swept.called = _call_helpers()
    except RedisError:
        swept.redis_away = True
    return swept


def _expired() -> list[Job]:
    rows = Job.objects.filter(state=Job.State.RUNNING, lease_until__lt=Now()).order_by("id")
    return list(rows.only("kind", "attempt", "lease_token")[:AT_ONCE])


def _recover(job: Job) -> str | None:
    """Put a job back whose lease ran out, or end it when it took down too many workers. None: somebody was faster."""
    with transaction.atomic():
        mine = Job.objects.filter(
            pk=job.pk, state=Job.State.RUNNING, lease_token=job.lease_token, lease_until__lt=Now()
        )
        # Skipped while its row is locked: a worker frozen inside a transaction must not hold up the relay.
        if not mine.select_for_update(skip_locked=True).values_list("pk").first():
            return None
        values: dict[str, Any] = {"state": Job.State.QUEUED, "pushed_at": None}
        if job.attempt >= _attempts_of(job.kind):
            values = {"state": Job.State.FAILED, "finished_at": Now(), "error": gave_up(job.attempt)}
        mine.update(lease_token=None, lease_until=None, **values)
        shares = Share.objects.filter(job=job)
        if values["state"] == Job.State.QUEUED:
            shares = shares.filter(token__in=[job.lease_token])
        release(shares)
        return str(values["state"])


def _attempts_of(kind: str) -> int:
    """How often a job is handed out: a kind with something to take back gets more, for that alone."""
    known = JOBS.get(kind)
    return MAX_ATTEMPTS + UNDO_ATTEMPTS if known and known.undo else MAX_ATTEMPTS


def _unheard() -> dict[str, list[Job]]:
    """Waiting jobs by queue: not rung for yet (no `pushed_at`), or rung for a while ago."""
    rows = (
        Job.objects.filter(state=Job.State.QUEUED)
        .filter(Q(pushed_at=None) | Q(pushed_at__lt=Now() - UNHEARD))
        .order_by("id")
        .only("queue", "pushed_at")
    )
    queues: dict[str, list[Job]] = defaultdict(list)
    for job in rows[:AT_ONCE]:
        queues[job.queue].append(job)
    return queues


def _ring_missing(queue: str, jobs: list[Job]) -> list[int]:
    """Ring for those that don't lie on the queue; those that do are only slow. Raises RedisError."""
    there = waiting(queue)
    missing = [job.pk for job in jobs if job.pk not in there]
    ring(queue, missing)
    heard = missing + [job.pk for job in jobs if job.pushed_at is None and job.pk in there]
    if heard:
        Job.objects.filter(pk__in=heard, state=Job.State.QUEUED).update(pushed_at=Now())
    return missing


def _call_helpers() -> list[int]:
    """Ring the idle workers of a queue for its jobs that want more hands. Raises RedisError.

    Not while an earlier ring still lies there. Whether a worker that comes is of use is for the runner to say.
    """
    shared = [name for name, kind in JOBS.items() if kind.shared]
    running = Job.objects.filter(state=Job.State.RUNNING, kind__in=shared).defer("params", "result").order_by("id")
    queues: dict[str, list[int]] = defaultdict(list)
    for job in running[:AT_ONCE]:
        if wants_help(job):
            queues[job.queue].append(job.pk)
    called = []
    for queue, jobs in queues.items():
        idle = idle_workers(queue)
        there = waiting(queue) if idle else set()
        for pk in jobs:
            if idle and pk not in there:
                ring(queue, [pk] * idle)
                called.append(pk)
    return called
