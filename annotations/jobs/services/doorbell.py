"""Redis, through RQ: notifies workers of jobs and lists living workers. It may be unavailable or emptied at any time.

Its queues hold only names such as `job-12-9f3a01bc`, with a job's id. Somebody who can write to Redis can make a worker
look at a job's row in the database, and nothing else.
"""

import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import django_rq
from django.conf import settings
from django.db.models import Count, Min
from django.db.models.functions import Now
from django.utils import timezone
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry
from rq import Queue, Worker
from rq.worker import WorkerStatus

from annotations.models import Job, JobState, Share

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


def connection() -> Redis:
    """Return a connection with short timeouts, so that a page does not wait for an unavailable Redis."""
    return _connection(settings.REDIS_URL)


@cache
def _connection(url: str) -> Redis:
    return Redis.from_url(url, socket_connect_timeout=1, socket_timeout=2, retry=Retry(NoBackoff(), 1))


def _queue(name: str) -> Queue:
    return django_rq.get_queue(name, connection=connection(), commit_mode="auto")


def ring(queue: str, job_ids: Iterable[int]) -> None:
    """Put job ids on a queue. Pushing an id twice is harmless, since a job is claimed once. Raises RedisError."""
    names = [Bell(job_id).name() for job_id in job_ids]
    if names:
        connection().rpush(_queue(queue).key, *names)


def waiting(queue: str) -> set[int]:
    """Return the job ids on a queue. Raises RedisError."""
    names: Any = connection().lrange(_queue(queue).key, 0, -1)
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
    asked = connection().pipeline(transaction=False)
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
