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
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry
from rq import Queue, Worker
from rq.worker import WorkerStatus

__all__ = [
    "Bell",
    "RedisError",
    "connection",
    "idle_workers",
    "ring",
    "states",
    "waiting",
    "worker_keys",
    "workers_alive",
]

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
