"""The worker: RQ's forking one, made to outlive its Redis and to give work back when it is told to end.

RQ's parent process only fetches and forks; the database is touched in the child alone (annotations.jobs.runner).
What a child runs is fixed: a job's number is all that comes from Redis. No name of a function, callback, webhook,
serializer or dependency is ever read there, since whoever writes to Redis could make a worker run it.
"""

import ctypes
import logging
import os
import signal
import time
from contextlib import suppress
from types import FrameType
from typing import Any

import django_rq
from django.db import connections
from redis.exceptions import ConnectionError as RedisGone
from redis.exceptions import RedisError
from rq import Queue, Worker, worker_registration
from rq.exceptions import StopRequested
from rq.serializers import JSONSerializer
from rq.timeouts import HorseMonitorTimeoutException
from rq.utils import now
from rq.worker import DequeueStrategy, WorkerStatus

from annotations.jobs import hooks
from annotations.jobs.performing import perform
from annotations.jobs.runner import stop_soon
from annotations.jobs.runner.helping import serve
from annotations.jobs.services.doorbell import Bell

logger = logging.getLogger("deidreview.worker")
# The parent shows itself this often, idle or busy, and counts as gone after three (seconds).
BEAT = 5
# What a job in hand gets, after the worker was told to end, before it is killed; its lease brings it back.
GRACE = 8
LONGEST_WAIT = 5.0
SIGNALS = (signal.SIGTERM, signal.SIGINT)
_PR_SET_PDEATHSIG = 1


class DurableWorker(Worker):
    """What differs from RQ's worker, and why, stands at each method."""

    log_result_lifespan = False
    max_connection_wait_time = LONGEST_WAIT

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **(kwargs | {"job_monitoring_interval": BEAT, "log_job_description": False}))
        self.stopped = False
        self._kill_at = float("inf")

    # ── Shown alive: a heartbeat of seconds rather than minutes, and registered anew after a FLUSHALL ────────────────
    @property
    def dequeue_timeout(self) -> int:
        return BEAT

    def heartbeat(self, timeout: int | None = None, pipeline: Any = None) -> None:
        super().heartbeat(BEAT * 3, pipeline=pipeline)
        registering: Any = pipeline if pipeline is not None else self.connection
        worker_registration.register(self, registering)
        for report in hooks.REPORTS:
            report(registering, self.key, seconds=BEAT * 3)
        self.set_state(self.get_state(), registering)

    def register_birth(self) -> None:
        super().register_birth()  # type: ignore[no-untyped-call]  # rq has no types there
        self.heartbeat()

    # ── No remote commands: no thread in a process that forks, and nobody stops a job through Redis ──────────────────
    def subscribe(self) -> None:
        return

    def unsubscribe(self) -> None:
        return

    def check_for_suspension(self, burst: bool) -> None:
        return

    def _set_ip_address(self, connection: Any) -> None:
        """Asked for by nobody; our own Redis refuses the commands that tell it."""
        self.ip_address = "unknown"

    # ── What comes from Redis: a number ──────────────────────────────────────────────────────────────────────────────
    def dequeue_job_and_maintain_ttl(self, timeout: int | None, max_idle_time: int | None = None) -> Any:
        """The next bell and its queue. Waits for one; Redis may be away in the meantime."""
        self.set_state(WorkerStatus.IDLE)
        wait = 1.0
        while True:
            try:
                self.heartbeat()
                if self.should_run_maintenance_tasks:
                    self.run_maintenance_tasks()
                taken = self._take()
            except RedisGone as error:
                logger.warning("Redis is away (%s); trying on", type(error).__name__)
                time.sleep(wait)
                wait = min(wait * 2, LONGEST_WAIT)
                continue
            if taken is not None:
                self.heartbeat()
                return taken

    def _take(self) -> tuple[Bell, Queue] | None:
        """One bell; None where none came in time, or where what came was not one."""
        found: Any = self.connection.blpop([queue.key for queue in self._ordered_queues], self.dequeue_timeout)
        if found is None:
            return None
        key, name = found
        queue = next(queue for queue in self._ordered_queues if queue.key.encode() == key)
        self.reorder_queues(reference_queue=queue)
        bell = Bell.read(name)
        if bell is None:
            # Not quoted: whoever wrote it must not write into our log.
            logger.warning("dropped an entry of the queue %s that deidreview did not put there", queue.name)
            return None
        return bell, queue

    def run_maintenance_tasks(self) -> None:
        """Dead workers leave the list. RQ's own maintenance would run the callbacks that rows in Redis name."""
        for queue in self.queues:
            worker_registration.clean_worker_registry(queue)
        self.last_cleaned_at: Any = now()

    # ── Ending ───────────────────────────────────────────────────────────────────────────────────────────────────────
    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        """The first signal asks the job in hand to give its lease back; later ones change nothing."""
        if self.stopped:
            return
        self.stopped = self._stop_requested = True
        if not self.horse_pid:
            raise StopRequested
        self._kill_at = time.monotonic() + GRACE
        self.kill_horse(signal.SIGTERM)

    def teardown(self) -> None:
        if not self.is_horse:
            with suppress(RedisError):
                self.register_death()  # type: ignore[no-untyped-call]  # rq has no types there

    # ── The child ────────────────────────────────────────────────────────────────────────────────────────────────────
    def fork_work_horse(self, job: Any, queue: Queue) -> None:
        """Fork with signals held back, so that none arrives between the fork and the child's own handlers."""
        # A connection that lived through a fork would be used by two processes.
        connections.close_all()
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        child = os.fork()
        if child == 0:
            os.setpgrp()
            self.main_work_horse(job, queue)  # never returns
        with suppress(OSError):
            # In the parent too: kill_horse signals the child's group, which must not be ours.
            os.setpgid(child, child)
        self._horse_pid = child
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def setup_work_horse_signals(self) -> None:
        """SIGTERM asks the job to stop; it also comes when the parent dies, however it dies."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda signum, frame: stop_soon())
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != self.pid:  # it died before that
            stop_soon()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def monitor_work_horse(self, job: Any, queue: Queue) -> None:
        """Wait for the child. Unlike RQ's, a Redis that is away in the meantime doesn't take the parent down."""
        status = None
        while True:
            try:
                with self.death_penalty_class(self._patience(), HorseMonitorTimeoutException):
                    _, status, _ = self.wait_for_horse()
                break
            except HorseMonitorTimeoutException:
                if time.monotonic() >= self._kill_at:
                    self.kill_horse()
                with suppress(RedisError):
                    self.heartbeat()
        self._horse_pid = 0
        if status != os.EX_OK:
            # The job's row goes back to the queue when its lease runs out.
            logger.warning("a work process ended with status %s (job %s)", status, job.job_id)

    def _patience(self) -> int:
        if self.stopped:
            return max(1, min(BEAT, round(self._kill_at - time.monotonic())))
        return BEAT

    def execute_job(self, job: Any, queue: Queue) -> None:
        self.set_state(WorkerStatus.BUSY)
        self.fork_work_horse(job, queue)
        self.monitor_work_horse(job, queue)
        with suppress(RedisError):
            self.set_state(WorkerStatus.IDLE)

    def perform_job(self, job: Any, queue: Queue) -> bool:
        """In the child. RQ keeps a traceback with its message; we name the type."""
        try:
            perform(job.job_id)
        except Exception as error:
            logger.error("job %d raised %s in the work process", job.job_id, type(error).__name__)
            return False
        return True


def work(queues: list[str]) -> None:
    """Work on the queues, each in its turn, until SIGTERM or SIGINT. Redis may be away at the start or at any time."""
    serve(queues)
    wait = 0.25
    with suppress(StopRequested):
        while True:
            _stop_on_signals()
            began = time.monotonic()
            try:
                if _worked(queues):
                    return
            except RedisError as error:
                logger.warning("Redis is away (%s); trying on", type(error).__name__)
            # It ended by itself: Redis restarted, or was not there yet.
            wait = 0.25 if time.monotonic() - began > LONGEST_WAIT else min(wait * 2, LONGEST_WAIT)
            _stop_on_signals()
            time.sleep(wait)


def _worked(queues: list[str]) -> bool:
    """One life of an RQ worker. True when it ended because it was told to."""
    worker: Any = django_rq.get_worker(*queues, worker_class=DurableWorker, serializer=JSONSerializer)
    # RQ's own way empties the first queue first: jobs on the others might wait for ever.
    worker.work(logging_level="WARNING", with_scheduler=False, dequeue_strategy=DequeueStrategy.ROUND_ROBIN)
    return bool(worker.stopped)


def _stop_on_signals() -> None:
    def stop(signum: int, frame: FrameType | None) -> None:
        raise StopRequested

    for signum in SIGNALS:
        signal.signal(signum, stop)
