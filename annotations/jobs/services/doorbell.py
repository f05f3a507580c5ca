"""Redis, through RQ: it rings for a worker and shows which workers live. It may be away or emptied at any time.

Only names such as `job-12-9f3a01bc` go in and come out: a job's number, nothing else. Whoever can write to Redis can
make a worker look at a job's row in the database, and no more.
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
    """What lies on a queue: the number of a job. RQ's own rows, which name functions, are never read."""

    job_id: int

    @classmethod
    def read(cls, name: bytes) -> "Bell | None":
        """None where deidreview did not write the name."""
        match = NAME.fullmatch(name)
        return cls(int(match[1])) if match else None

    def name(self) -> str:
        """One of many names of this bell, so that one taken from a queue by name is not another's."""
        return f"job-{self.job_id}-{secrets.token_hex(4)}"


def connection() -> Redis:
    """A short-tempered connection: a page must not wait for a Redis that is away."""
    return _connection(settings.REDIS_URL)


@cache
def _connection(url: str) -> Redis:
    return Redis.from_url(url, socket_connect_timeout=1, socket_timeout=2, retry=Retry(NoBackoff(), 1))


def _queue(name: str) -> Queue:
    return django_rq.get_queue(name, connection=connection(), commit_mode="auto")


def ring(queue: str, job_ids: Iterable[int]) -> None:
    """Put ids on a queue. A second push of the same id is harmless: the claim decides. Raises RedisError."""
    names = [Bell(job_id).name() for job_id in job_ids]
    if names:
        connection().rpush(_queue(queue).key, *names)


def waiting(queue: str) -> set[int]:
    """The job ids that lie on a queue. Raises RedisError."""
    names: Any = connection().lrange(_queue(queue).key, 0, -1)
    return {bell.job_id for bell in map(Bell.read, names) if bell}


def worker_keys(queue: str) -> list[str]:
    """The keys of the workers that listen on a queue, or did a moment ago. Raises RedisError."""
    return [key.decode() if isinstance(key, bytes) else key for key in Worker.all_keys(queue=_queue(queue))]


def workers_alive(queue: str) -> int | None:
    """How many workers listen on a queue, by their heartbeats of the last seconds; None where Redis can't be asked."""
    try:
        return len(states(queue))
    except RedisError:
        return None


def idle_workers(queue: str) -> int:
    """How many of them have nothing in hand. Raises RedisError."""
    return states(queue).count(WorkerStatus.IDLE.value)


def states(queue: str) -> list[str]:
    """What each living worker on a queue does: "idle", "busy", "started". Raises RedisError."""
    asked = connection().pipeline(transaction=False)
    for key in worker_keys(queue):
        asked.hget(key, "state")
    return [state.decode() for state in asked.execute() if state is not None]
