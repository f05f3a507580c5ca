"""The worker: RQ's forking worker, changed to survive outages of Redis and to put its job back when told to end.

RQ's parent process only fetches and forks; only the child uses the database (annotations.jobs.runner). Redis gives only
a job's id; what a child runs is fixed. No name of a function, callback, webhook, serializer or dependency is read from
Redis, since somebody who can write to Redis could make a worker run it.
"""

import gc
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

from annotations.core.hooks import heartbeats
from annotations.jobs.registry import JOBS, load
from annotations.jobs.runner import run as perform
from annotations.jobs.runner import stop_soon
from annotations.jobs.runner.claims import serve
from annotations.jobs.runner.execute import use_cores
from annotations.jobs.services.relay import Bell
from annotations.models import Job
from annotations.parents import end_with
from annotations.threads import limit_threads, threads_for

logger = logging.getLogger("deidreview.worker")
# The parent sends a heartbeat this often (seconds), and counts as lost after three missed ones.
BEAT = 5
# Seconds that a running job gets after the worker was told to end. Then it is killed, and its lease expires.
GRACE = 8
LONGEST_WAIT = 5.0
SIGNALS = (signal.SIGTERM, signal.SIGINT)


class DurableWorker(Worker):
    """RQ's worker with changes; each section gives the reason."""

    log_result_lifespan = False
    max_connection_wait_time = LONGEST_WAIT

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **(kwargs | {"job_monitoring_interval": BEAT, "log_job_description": False}))
        self.stopped = False
        self._kill_at = float("inf")
        self._threads = 1

    # ── Heartbeats every few seconds, not minutes, and a new registration after FLUSHALL ─────────────────────────────
    @property
    def dequeue_timeout(self) -> int:
        return BEAT

    def heartbeat(self, timeout: int | None = None, pipeline: Any = None) -> None:
        super().heartbeat(BEAT * 3, pipeline=pipeline)
        registering: Any = pipeline if pipeline is not None else self.connection
        worker_registration.register(self, registering)
        registering.hset(self.key, mapping={"hostname": self.hostname or "", "queues": ",".join(self.queue_names())})
        heartbeats(registering, self.key, seconds=BEAT * 3)
        self.set_state(self.get_state(), registering)

    def register_birth(self) -> None:
        super().register_birth()  # type: ignore[no-untyped-call]  # rq has no types here
        self.heartbeat()

    # ── No remote commands: they need a thread in a process that forks, and let Redis stop jobs ──────────────────────
    def subscribe(self) -> None:
        return

    def unsubscribe(self) -> None:
        return

    def check_for_suspension(self, burst: bool) -> None:
        return

    def _set_ip_address(self, connection: Any) -> None:
        """Not needed; the project's own Redis refuses the commands that return it."""
        self.ip_address = "unknown"

    # ── Only a job's id comes from Redis ─────────────────────────────────────────────────────────────────────────────
    def dequeue_job_and_maintain_ttl(self, timeout: int | None, max_idle_time: int | None = None) -> Any:
        """Wait for the next entry and return it with its queue. Redis may be unavailable in the meantime."""
        self.set_state(WorkerStatus.IDLE)
        wait = 1.0
        while True:
            try:
                self.heartbeat()
                if self.should_run_maintenance_tasks:
                    self.run_maintenance_tasks()
                taken = self._take()
            except RedisGone as error:
                logger.warning("Redis is unavailable (%s); trying again", type(error).__name__)
                time.sleep(wait)
                wait = min(wait * 2, LONGEST_WAIT)
                continue
            if taken is not None:
                self.heartbeat()
                return taken

    def _take(self) -> tuple[Bell, Queue] | None:
        """Take one entry; None where none came in time, or where it was not valid."""
        found: Any = self.connection.blpop([queue.key for queue in self._ordered_queues], self.dequeue_timeout)
        if found is None:
            return None
        key, name = found
        queue = next(queue for queue in self._ordered_queues if queue.key.encode() == key)
        self.reorder_queues(reference_queue=queue)
        bell = Bell.read(name)
        if bell is None:
            # The entry is not quoted, so that whoever wrote it can't write into the log.
            logger.warning("Dropped an entry of the queue %s that deidreview did not write", queue.name)
            return None
        return bell, queue

    def run_maintenance_tasks(self) -> None:
        """Remove dead workers from the list. RQ's own maintenance would run callbacks that are named in Redis."""
        for queue in self.queues:
            worker_registration.clean_worker_registry(queue)
        self.last_cleaned_at: Any = now()

    # ── Ending ───────────────────────────────────────────────────────────────────────────────────────────────────────
    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        """Ask the running job to go back to the queue at the first signal; ignore later ones."""
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
        """Fork with signals blocked, so that none arrives before the child has set its own handlers."""
        # A connection that is open during a fork would be used by two processes.
        connections.close_all()
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        child = os.fork()
        if child == 0:
            os.setpgrp()
            # Libraries that compute are loaded in the child, so they follow these variables.
            limit_threads(os.environ, self._threads)
            use_cores(self._threads)
            self.main_work_horse(job, queue)  # This call never returns.
        with suppress(OSError):
            # Also in the parent: kill_horse signals the child's group, which must not be the parent's.
            os.setpgid(child, child)
        self._horse_pid = child
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def setup_work_horse_signals(self) -> None:
        """Make SIGTERM stop the job. The child also gets SIGTERM when its parent dies for any reason."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda signum, frame: stop_soon())
        if not end_with(self.pid, signal.SIGTERM):
            stop_soon()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def monitor_work_horse(self, job: Any, queue: Queue) -> None:
        """Wait for the child. Unlike in RQ, an outage of Redis in the meantime does not end the parent."""
        status = None
        while True:
            try:
                patience = round(max(1, min(BEAT, self._kill_at - time.monotonic())))
                with self.death_penalty_class(patience, HorseMonitorTimeoutException):
                    _, status, _ = self.wait_for_horse()
                break
            except HorseMonitorTimeoutException:
                if time.monotonic() >= self._kill_at:
                    self.kill_horse()
                with suppress(RedisError):
                    self.heartbeat()
        self._horse_pid = 0
        if status != os.EX_OK:
            # The job goes back to the queue when its lease expires.
            logger.warning("A work process ended with status %s (job %s)", status, job.job_id)

    def execute_job(self, job: Any, queue: Queue) -> None:
        self.set_state(WorkerStatus.BUSY)
        with suppress(RedisError):
            self._threads = threads_for(self.computing_here())
        self.fork_work_horse(job, queue)
        self.monitor_work_horse(job, queue)
        with suppress(RedisError):
            self.set_state(WorkerStatus.IDLE)

    def computing_here(self) -> int:
        """Count this worker and the other living ones of the same host that compute. Raises RedisError.

        Workers of the queue for language models alone wait for other servers, so they don't count.
        """
        asked = self.connection.pipeline(transaction=False)
        for key in set(worker_registration.get_keys(connection=self.connection)) - {self.key}:
            asked.hmget(key, "hostname", "queues", "state")
        found: list[tuple[bytes | None, bytes | None, bytes | None]] = asked.execute()
        own = (self.hostname or "").encode()
        computing = {str(Job.Queue.CPU).encode(), str(Job.Queue.GPU).encode()}
        return 1 + sum(
            state is not None and host == own and not computing.isdisjoint((queues or b"").split(b","))
            for host, queues, state in found
        )

    def perform_job(self, job: Any, queue: Queue) -> bool:
        """Run the job in the child. Log only the type of an error; RQ would log its message, which may quote a note."""
        try:
            perform(job.job_id)
        except Exception as error:
            logger.error("Job %d raised %s in the work process", job.job_id, type(error).__name__)
            return False
        return True


def work(queues: list[str]) -> None:
    """Work on the queues in turn until SIGTERM or SIGINT. Redis may be unavailable at the start or at any time."""
    serve(queues)
    _load_handlers()
    wait = 0.25
    with suppress(StopRequested):
        while True:
            _stop_on_signals()
            began = time.monotonic()
            try:
                if _worked(queues):
                    return
            except RedisError as error:
                logger.warning("Redis is unavailable (%s); trying again", type(error).__name__)
            # The worker ended by itself because Redis restarted or was not available yet.
            wait = 0.25 if time.monotonic() - began > LONGEST_WAIT else min(wait * 2, LONGEST_WAIT)
            _stop_on_signals()
            time.sleep(wait)


def _load_handlers() -> None:
    """Import the code of every handler once, so that no child has to import it for its job.

    Frozen objects are skipped by the garbage collector, so the memory stays shared with the children. Handlers load
    large libraries themselves.
    """
    for kind in JOBS.values():
        load(kind.handler)
    gc.collect()
    gc.freeze()


def _worked(queues: list[str]) -> bool:
    """Run one RQ worker until it ends. True when it ended because it was told to."""
    worker: Any = django_rq.get_worker(*queues, worker_class=DurableWorker, serializer=JSONSerializer)
    # By default RQ empties the first queue first, so that jobs on the others might wait forever.
    worker.work(logging_level="WARNING", with_scheduler=False, dequeue_strategy=DequeueStrategy.ROUND_ROBIN)
    return bool(worker.stopped)


def _stop_on_signals() -> None:
    def stop(signum: int, frame: FrameType | None) -> None:
        raise StopRequested

    for signum in SIGNALS:
        signal.signal(signum, stop)
