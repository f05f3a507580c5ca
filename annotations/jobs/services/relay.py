"""The relay: a small loop that survives outages of Redis and of the database."""

import logging
import re
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import Any

import django_rq
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import Count, Min, Q
from django.db.models.functions import Now
from django.utils import timezone
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry
from rq import Queue, Worker
from rq.worker import WorkerStatus

from annotations.core.hooks import job_ended, relay_steps, tidiers
from annotations.jobs.registry import JOBS
from annotations.jobs.runner.claims import MAX_ATTEMPTS, release, wants_help
from annotations.jobs.runner.execute import gave_up
from annotations.models import Job, JobState, Share

# Redis, through RQ: notifies workers of jobs and lists living workers. It may be unavailable or emptied at any time.
#
# Its queues hold only names such as `job-12-9f3a01bc`, with a job's id. Somebody who can write to Redis can make a
# worker look at a job's row in the database, and nothing else.


NAME = re.compile(rb"job-([1-9][0-9]{0,17})-[0-9a-f]{8}")


@dataclass(frozen=True)
class Bell:
    """An entry of a queue: a job's id. RQ's own entries, which name functions, are never read."""

    job_id: int

    @classmethod
    def read(cls, name: bytes) -> "Bell | None":
        """Parse a name; None where deidreview did not write it."""
        match = NAME.fullmatch(name)
        return cls(int(match[1])) if match else None

    def name(self) -> str:
        """Return a name with a random part, so that two entries for one job differ."""
        return f"job-{self.job_id}-{secrets.token_hex(4)}"


def redis_connection() -> Redis:
    """Return a connection with short timeouts, so that a page does not wait for an unavailable Redis."""
    return _connection(settings.REDIS_URL)


@cache
def _connection(url: str) -> Redis:
    return Redis.from_url(url, socket_connect_timeout=1, socket_timeout=2, retry=Retry(NoBackoff(), 1))


def _queue(name: str) -> Queue:
    return django_rq.get_queue(name, connection=redis_connection(), commit_mode="auto")


def ring(queue: str, job_ids: Iterable[int]) -> None:
    """Put job ids on a queue. Pushing an id twice is harmless, since a job is claimed once. Raises RedisError."""
    names = [Bell(job_id).name() for job_id in job_ids]
    if names:
        redis_connection().rpush(_queue(queue).key, *names)


def waiting(queue: str) -> set[int]:
    """Return the job ids on a queue. Raises RedisError."""
    names: Any = redis_connection().lrange(_queue(queue).key, 0, -1)
    return {bell.job_id for bell in map(Bell.read, names) if bell}


def worker_keys(queue: str) -> list[str]:
    """Return the keys of workers registered on a queue, some of which may have just ended. Raises RedisError."""
    return [key.decode() if isinstance(key, bytes) else key for key in Worker.all_keys(queue=_queue(queue))]


def workers_alive(queue: str) -> int | None:
    """Count the workers on a queue with a heartbeat in the last seconds; None where Redis does not respond."""
    try:
        return len(states(queue))
    except RedisError:
        return None


def idle_workers(queue: str) -> int:
    """Count the workers on a queue without a job. Raises RedisError."""
    return states(queue).count(WorkerStatus.IDLE.value)


def states(queue: str) -> list[str]:
    """Return the state of each living worker on a queue: "idle", "busy" or "started". Raises RedisError."""
    asked = redis_connection().pipeline(transaction=False)
    for key in worker_keys(queue):
        asked.hget(key, "state")
    return [state.decode() for state in asked.execute() if state is not None]


# The state of each queue: its workers, from heartbeats in Redis, and its jobs, from the database.


@dataclass(frozen=True)
class QueueRow:
    """A queue. `workers` and `idle` are null if Redis is away. `stuck`: jobs wait or are lost without a worker.

    `lost` counts jobs whose worker was killed; they are not in `running`. A worker on several queues counts on each.
    `shared` counts parts of jobs that several workers share; `oldest` is the longest wait in seconds.
    """

    queue: str
    workers: int | None
    idle: int | None
    waiting: int
    running: int
    lost: int
    shared: int
    oldest: int | None
    stuck: bool


def queue_rows() -> list[QueueRow]:
    """Return one row for each queue, in the order cpu, gpu, llm."""
    jobs = Job.objects.filter(state__in=(JobState.QUEUED, JobState.RUNNING)).order_by()
    counted = {
        (queue, state): (count, first)
        for queue, state, count, first in jobs.values_list("queue", "state").annotate(
            count=Count("id"), first=Min("created_at")
        )
    }
    held = Share.objects.filter(lease_until__gt=Now()).order_by().values_list("job__queue").annotate(n=Count("id"))
    shared = dict(held)
    expired = Job.objects.filter(state=JobState.RUNNING, lease_until__lt=Now()).order_by()
    lost = dict(expired.values_list("queue").annotate(n=Count("id")))
    return [_row(queue, counted, lost.get(queue, 0), shared.get(queue, 0)) for queue in Job.Queue.values]


def _row(queue: str, counted: dict[tuple[str, str], tuple[int, Any]], lost: int, shared: int) -> QueueRow:
    try:
        alive: list[str] | None = states(queue)
    except RedisError:
        alive = None
    waiting, since = counted.get((queue, JobState.QUEUED), (0, None))
    return QueueRow(
        queue=queue,
        workers=None if alive is None else len(alive),
        idle=None if alive is None else alive.count("idle"),
        waiting=waiting,
        running=counted.get((queue, JobState.RUNNING), (0, None))[0] - lost,
        lost=lost,
        shared=shared,
        oldest=round((timezone.now() - since).total_seconds()) if since else None,
        stuck=alive == [] and waiting + lost > 0,
    )


# The relay's work every second: put back jobs that lost their worker, repeat lost notifications, call helpers.


# A job that is still waiting this long after its push may have been lost by Redis, so its queue is checked.
UNHEARD = timedelta(seconds=5)
AT_ONCE = 500
# After the last attempt a worker only undoes what was written. If that fails this often too, the relay ends the job.
UNDO_ATTEMPTS = 3


@dataclass
class Swept:
    """Job ids by what was done. `called`: helpers were notified. `redis_away`: Redis did not respond."""

    rung: list[int] = field(default_factory=list)
    put_back: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    called: list[int] = field(default_factory=list)
    redis_away: bool = False


def sweep() -> Swept:
    """Do one round. Several relays may run at once, since every change is conditional. Raises only DatabaseError."""
    swept = Swept()
    expired = Job.objects.filter(state=JobState.RUNNING, lease_until__lt=Now()).order_by("id")
    for job in expired.only("kind", "attempt", "lease_token")[:AT_ONCE]:
        state = _recover(job)
        if state == JobState.QUEUED:
            swept.put_back.append(job.pk)
        elif state == JobState.FAILED:
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


def _recover(job: Job) -> str | None:
    """Put back a job whose lease expired, or end it where it lost too many workers. None where the job has changed."""
    with transaction.atomic():
        mine = Job.objects.filter(pk=job.pk, state=JobState.RUNNING, lease_token=job.lease_token, lease_until__lt=Now())
        # A locked row is skipped, so that a worker frozen inside a transaction does not block the relay.
        if not mine.select_for_update(skip_locked=True).values_list("pk").first():
            return None
        values: dict[str, Any] = {"state": JobState.QUEUED, "pushed_at": None}
        kind = JOBS.get(job.kind)
        if job.attempt >= MAX_ATTEMPTS + (UNDO_ATTEMPTS if kind and kind.undo else 0):
            values = {"state": JobState.FAILED, "finished_at": Now(), "error": gave_up(job.attempt)}
        mine.update(lease_token=None, lease_until=None, **values)
        if values["state"] == JobState.FAILED:
            job_ended(job.pk, JobState.FAILED)
        shares = Share.objects.filter(job=job)
        if values["state"] == JobState.QUEUED:
            shares = shares.filter(token__in=[job.lease_token])
        release(shares)
        return str(values["state"])


def _unheard() -> dict[str, list[Job]]:
    """Return waiting jobs by queue that were not pushed yet (no `pushed_at`), or a while ago."""
    rows = (
        Job.objects.filter(state=JobState.QUEUED)
        .filter(Q(pushed_at=None) | Q(pushed_at__lt=Now() - UNHEARD))
        .order_by("id")
        .only("queue", "pushed_at")
    )
    queues: dict[str, list[Job]] = defaultdict(list)
    for job in rows[:AT_ONCE]:
        queues[job.queue].append(job)
    return queues


def _ring_missing(queue: str, jobs: list[Job]) -> list[int]:
    """Push the jobs that are not on the queue in Redis; the others only have to wait. Raises RedisError."""
    there = waiting(queue)
    missing = [job.pk for job in jobs if job.pk not in there]
    ring(queue, missing)
    heard = missing + [job.pk for job in jobs if job.pushed_at is None and job.pk in there]
    if heard:
        Job.objects.filter(pk__in=heard, state=JobState.QUEUED).update(pushed_at=Now())
    return missing


def _call_helpers() -> list[int]:
    """Notify the idle workers of a queue of its jobs that need helpers. Raises RedisError.

    A job that is still on the queue is not pushed again. The runner decides whether a worker may join.
    """
    shared = [name for name, kind in JOBS.items() if kind.shared]
    running = Job.objects.filter(state=JobState.RUNNING, kind__in=shared).defer("params", "result").order_by("id")
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


logger = logging.getLogger("deidreview.relay")
TIDY_SECONDS = 600.0
# While the database is unavailable, the relay waits at most this long between attempts (seconds).
LONGEST_WAIT = 10.0


class Relay:
    """Runs until `stop()`. Logs each outage once when it begins and once when it ends."""

    def __init__(self, interval: float | None = None) -> None:
        self._interval = interval or settings.RELAY_INTERVAL_SECONDS
        self._stop = threading.Event()
        self._tidied = float("-inf")
        self._outages: set[str] = set()
        self._wait = self._interval

    def stop(self) -> None:
        self._stop.set()

    def run(self) -> None:
        while not self._stop.is_set():
            self.round()
            self._stop.wait(self._wait)

    def round(self) -> Swept | None:
        """Do one sweep and the registered steps, and tidy up when it is time.

        Returns None while the database is unavailable.
        """
        try:
            swept = sweep()
            relay_steps()
            self._tidy()
        except (DatabaseError, InterfaceError) as error:
            self._away("The database", type(error).__name__)
            connection.close()
            self._wait = min(self._wait * 2, LONGEST_WAIT)
            return None
        self._back("The database")
        self._wait = self._interval
        if swept.redis_away:
            self._away("Redis", "no answer")
        elif swept.rung:
            self._back("Redis")
        for job_id in swept.put_back:
            logger.warning("Job %s lost its worker and was put back in the queue", job_id)
        for job_id in swept.failed:
            logger.error("Job %s lost its worker too often and was ended", job_id)
        return swept

    def _tidy(self) -> None:
        """Delete expired sessions and call the registered tidiers, every ten minutes."""
        if time.monotonic() - self._tidied < TIDY_SECONDS:
            return
        self._tidied = time.monotonic()
        tidiers()
        Session.objects.filter(expire_date__lt=timezone.now()).delete()

    def _away(self, what: str, why: str) -> None:
        if what not in self._outages:
            self._outages.add(what)
            logger.warning("%s is unavailable (%s); trying again", what, why)

    def _back(self, what: str) -> None:
        if what in self._outages:
            self._outages.remove(what)
            logger.warning("%s is available again", what)
