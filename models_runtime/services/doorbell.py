"""Redis, through RQ: it rings for a worker and shows which workers live. It may be away or emptied at any time.

Only ids go in: a job's function, its number, nothing else.
"""

import re
import secrets
from collections.abc import Iterable
from functools import cache

import django_rq
from django.conf import settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry
from rq import Queue, Worker
from rq.worker import WorkerStatus

__all__ = ["RedisError", "connection", "idle_workers", "ring", "states", "waiting", "worker_keys", "workers_alive"]

# A finished RQ job leaves nothing; one whose worker process died leaves a line for this long (seconds).
TRACE_SECONDS = 60
NAME = re.compile(r"job-(\d+)-")


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
    target = _queue(queue)
    for job_id in job_ids:
        target.enqueue_call(
            "models_runtime.jobs.perform",
            args=(job_id,),
            # Random, since a worker that ends deletes its RQ job by name, and must not delete its successor's.
            job_id=f"job-{job_id}-{secrets.token_hex(4)}",
            description=f"job {job_id}",
            timeout=-1,
            result_ttl=0,
            failure_ttl=TRACE_SECONDS,
        )


def waiting(queue: str) -> set[int]:
    """The job ids that lie on a queue. Raises RedisError."""
    found = (NAME.match(name) for name in _queue(queue).get_job_ids())
    return {int(match[1]) for match in found if match}


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
