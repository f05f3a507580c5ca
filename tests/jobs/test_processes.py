"""The queue survives failures: real workers and relays are killed or frozen, and a real Redis is emptied."""

import re
import signal
import time
from pathlib import Path

import pytest
from django.db import connection
from rq import Queue
from rq.serializers import JSONSerializer

from annotations.jobs.services.queue import cancel, pause, push, resume
from annotations.jobs.services.relay import redis_connection as redis_connection
from annotations.jobs.services.relay import workers_alive
from annotations.jobs.services.worker import DurableWorker
from annotations.models import Job, JobState
from annotations.threads import VARIABLES, threads_for
from tests.factories import reread
from tests.jobs.probes.handlers import results
from tests.waiting import HANGS, MOMENT, ended, wait_for
from tests.worlds.gates import Gate
from tests.worlds.queue import end_lease, state_of, wait_for_state

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]
TOTAL = 60
NAP = 0.03


@pytest.fixture
def relay(processes):
    return processes("relay")


@pytest.fixture
def worker(relay, processes):
    return processes("work")


@pytest.fixture
def counting(make_job, worker, gate):
    """A job of TOTAL results that a worker has just begun. `finished` lets it have the second half."""
    gate.let(TOTAL // 2)
    job = make_job("count", total=TOTAL, nap=NAP, gate=str(gate.file))
    wait_for(lambda: len(results(job.pk)) >= 5, what="the first results", progress=lambda: results(job.pk))
    return job


def finished(job):
    if "gate" in job.params:
        Gate(Path(job.params["gate"])).open()
    wait_for_state(job, JobState.DONE, "the job to end")
    job.refresh_from_db()
    assert [item for item, _ in results(job.pk)] == list(range(TOTAL)), "each result once, none missing"
    assert (job.done, job.total, job.result, job.lease_token) == (TOTAL, TOTAL, {"items": TOTAL}, None)


def woken(frozen):
    frozen.thaw()
    wait_for(lambda: len(frozen.tree) == 1, what="the woken work process to give up")


def overtaken(job, frozen, processes, gate):
    """The worker freezes until a second one has done the job, and gives up when it wakes."""
    frozen.freeze()
    gate.open()
    end_lease(job)
    processes("work")
    wait_for_state(job, JobState.DONE, "the second worker")
    woken(frozen)


def shown(number, queue="cpu"):
    wait_for(lambda: workers_alive(queue) == number, what=f"{number} workers on the queue {queue}")


@pytest.mark.both_databases
def test_the_worker_is_killed_and_redis_emptied(counting, worker, processes, redis_server):
    worker.kill9()
    redis_server.client().flushall()
    assert len(results(counting.pk)) < TOTAL
    end_lease(counting)
    processes("work")
    finished(counting)
    assert counting.attempt == 2


def test_redis_is_emptied_and_restarts_under_a_working_worker(counting, redis_server, make_job):
    redis_server.client().flushall()
    redis_server.restart(away=1.0)
    finished(counting)
    assert counting.attempt == 1
    shown(1)
    wait_for_state(make_job("count", total=3), JobState.DONE, "a job after the restart")


def test_redis_is_unavailable_at_the_start(make_job, processes, redis_server):
    redis_server.stop()
    relay, worker = processes("relay"), processes("work")
    job = make_job("count", total=TOTAL)
    for each in (relay, worker):
        wait_for(lambda each=each: "Redis is unavailable" in each.output(), what="both to miss Redis")
    time.sleep(MOMENT)
    assert relay.popen.poll() is None and worker.popen.poll() is None
    redis_server.start()
    finished(job)


@pytest.mark.both_databases
def test_a_worker_frozen_past_its_lease_is_refused(counting, worker, processes, gate):
    worker.freeze()
    wait_for_state(counting, JobState.QUEUED, "the lease to run out")
    gate.let(TOTAL - 1)
    processes("work")
    wait_for(lambda: 2 in {attempt for _, attempt in results(counting.pk)}, what="the second worker")
    worker.thaw()
    finished(counting)
    attempts = [attempt for _, attempt in results(counting.pk)]
    assert attempts == sorted(attempts), "the woken worker wrote nothing more"
    woken(worker)


@pytest.mark.both_databases
def test_a_late_result_is_refused(make_job, worker, processes, gate):
    job = make_job("once", gate=str(gate.file))
    wait_for_state(job, JobState.RUNNING, "the first worker")
    overtaken(job, worker, processes, gate)
    job.refresh_from_db()
    assert results(job.pk) == [(0, 2)] and (job.attempt, job.result) == (2, {"once": True})


@pytest.mark.both_databases
def test_sigterm_puts_the_job_back_at_once(counting, worker, processes):
    assert worker.terminate() == 0 and state_of(counting) == JobState.QUEUED
    processes("work")
    finished(counting)
    assert counting.attempt == 1, "an orderly stop is not counted"


def test_sigint_from_a_terminal_puts_the_job_back(counting, worker):
    for number in (signal.SIGINT, signal.SIGTERM):
        worker.popen.send_signal(number)
    assert ended(worker.popen) == 0 and state_of(counting) == JobState.QUEUED


def stubborn(make_job, nap):
    """A job that reports once, and no more while it naps."""
    job = make_job("stubborn", nap=nap)
    wait_for(lambda: Job.objects.get(pk=job.pk).total, what="its only report")
    return job


def test_a_job_that_ends_within_the_grace_is_not_killed(make_job, worker):
    job = stubborn(make_job, nap=6)
    assert worker.terminate() == 0 and state_of(job) == JobState.DONE


def test_a_job_that_reports_nothing_is_killed_after_the_grace(make_job, worker):
    job = stubborn(make_job, nap=HANGS)
    assert worker.terminate() == 0 and state_of(job) == JobState.RUNNING
    end_lease(job)
    wait_for_state(job, JobState.QUEUED, "the relay to put it back")


def test_the_parent_alone_is_killed(counting, worker, processes):
    """The child notices and puts the job back without waiting for the lease to expire."""
    worker.popen.kill()
    worker.popen.wait()
    wait_for_state(counting, JobState.QUEUED, "the child to give the job back")
    assert reread(counting).attempt == 0, "the relay, which waits for the lease, would count the attempt"
    processes("work")
    finished(counting)


def test_pausing_resuming_and_canceling_a_running_job(counting):
    pause(counting)
    wait_for_state(counting, JobState.PAUSED, "the worker to notice")
    so_far = len(results(counting.pk))
    time.sleep(MOMENT)
    assert len(results(counting.pk)) == so_far < TOTAL
    resume(counting)
    wait_for_state(counting, JobState.RUNNING, "the worker to go on")
    cancel(counting)
    wait_for_state(counting, JobState.CANCELED, "the worker to notice")
    written = [item for item, _ in results(counting.pk)]
    assert written == list(range(len(written))), "each result once"
    assert counting.project.stored_files.get().name == "undone-canceled"


def test_a_job_that_kills_its_workers_is_ended(make_job, worker):
    job = make_job("dies")
    # Each work process kills itself, and its lease is ended at once.
    wait_for(lambda: end_lease(job) or state_of(job) == JobState.FAILED, what="the last attempt")
    job.refresh_from_db()
    assert len(results(job.pk)) == 5 and "lost 5 times" in job.error
    assert job.project.stored_files.get().name == "undone-failed"


@pytest.mark.both_databases
def test_two_workers_share_the_jobs(make_job, processes):
    processes("relay")
    jobs = [make_job("count", total=20, nap=0.01) for _ in range(6)]
    processes("work"), processes("work")
    for job in jobs:
        wait_for_state(job, JobState.DONE, "all jobs")
        assert results(job.pk) == [(item, 1) for item in range(20)]


def test_a_worker_on_all_queues_takes_turns(make_job, processes, redis_server):
    jobs = [make_job("count", total=1) for _ in range(5)]
    for job, queue in zip(jobs, ("cpu", "cpu", "cpu", "gpu", "llm"), strict=True):
        Job.objects.filter(pk=job.pk).update(queue=queue)
    redis_server.client().flushall()
    push([job.pk for job in jobs])
    processes("work")
    for job in jobs:
        wait_for_state(job, JobState.DONE, "all jobs")
    served = list(Job.objects.order_by("started_at").values_list("queue", flat=True))
    assert served == ["cpu", "gpu", "llm", "cpu", "cpu"]


def test_redis_holds_only_ids(make_job, redis_server, processes, gate):
    """Read everything in Redis while jobs wait and while one runs."""
    job = make_job("once", gate=str(gate.file), note="Mario Rossi")
    waiting = make_job("count", total=3, note="Mario Rossi")
    processes("work")
    wait_for_state(job, JobState.RUNNING, "the worker")
    assert state_of(waiting) == JobState.QUEUED
    client = redis_server.client()
    raw = [client.dump(key) or b"" for key in client.keys("*")]
    assert b"Mario" not in b"".join(raw)
    # The message of the running job is gone. deidreview neither writes nor reads RQ's rows, which name functions.
    (bell,) = client.lrange("rq:queue:cpu", 0, -1)
    assert re.fullmatch(rb"job-%d-[0-9a-f]{8}" % waiting.pk, bell) and client.keys("rq:job:*") == []


def test_workers_are_counted_and_missed(processes, redis_server):
    assert workers_alive("cpu") == 0
    worker = processes("work", "--queue", "cpu", "--queue", "llm")
    shown(1)
    assert (workers_alive("llm"), workers_alive("gpu")) == (1, 0) and worker.terminate() == 0
    # The worker unregisters at once, unless the signal arrives between its first heartbeat and its signal handlers.
    shown(0)
    killed = processes("work")
    shown(1)
    killed.kill9()
    shown(0)
    redis_server.stop()
    assert workers_alive("cpu") is None


@pytest.mark.postgresql
@pytest.mark.skipif(connection.vendor == "sqlite", reason="it has one writer: all wait while a process holds the lock")
def test_a_frozen_worker_s_transaction_does_not_block_the_others(make_job, worker, processes, gate, tmp_path):
    inside = tmp_path / "inside"
    job = make_job("hold", gate=str(gate.file), inside=str(inside))
    wait_for(inside.exists, what="the worker")
    overtaken(job, worker, processes, gate)
    assert results(job.pk) == [(0, 2)]


# ── Threads: each work process has its share of the cores that the workers of its host have ─────────────────────────


def born(*queues, host):
    rows = [Queue(name, connection=redis_connection()) for name in queues]
    worker = DurableWorker(rows, connection=redis_connection(), serializer=JSONSerializer)
    worker.hostname = host
    worker.register_birth()
    return worker


def test_living_workers_of_the_host_that_compute_count(redis_server):
    worker = born("cpu", host="one")
    assert worker.computing_here() == 1
    both = born("gpu", "llm", host="one")
    born("llm", host="one")
    born("cpu", host="two")
    assert (worker.computing_here(), both.computing_here()) == (2, 2)
    redis_server.client().flushall()
    for each in (worker, both):
        each.heartbeat()
    assert (worker.computing_here(), both.computing_here()) == (2, 2), "a heartbeat tells everything again"
    both.teardown()
    assert worker.computing_here() == 1
    redis_server.client().sadd("rq:workers", "rq:worker:gone")
    assert worker.computing_here() == 1, "a killed worker is on the list for a while"


@pytest.fixture
def unlimited(monkeypatch):
    """No number of threads is set for the processes of the test."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_work_processes_share_the_cores(unlimited, make_job, relay, processes):
    for workers in (1, 2):
        processes("work", "--queue", "cpu")
        shown(workers)
        job = make_job("threads")
        wait_for_state(job, JobState.DONE, "the job to end")
        assert reread(job).result == dict.fromkeys(VARIABLES, str(threads_for(workers)))
