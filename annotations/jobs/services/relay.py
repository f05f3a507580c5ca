"""The relay: a small loop that survives outages of Redis and of the database."""

import logging
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from redis.exceptions import RedisError

from annotations.core.hooks import job_ended, relay_steps, tidiers
from annotations.jobs.registry import JOBS
from annotations.jobs.runner.claims import MAX_ATTEMPTS, release, wants_help
from annotations.jobs.runner.execute import gave_up
from annotations.jobs.services.doorbell import idle_workers, ring, waiting
from annotations.models import Job, JobState, Share

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
