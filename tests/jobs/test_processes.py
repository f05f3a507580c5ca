"""The queue survives failures: real workers and relays are killed or frozen, and a real Redis is emptied."""

import re
import signal
import time
from pathlib import Path

import pytest
from django.db import connection

from annotations.jobs.services.doorbell import workers_alive
from annotations.jobs.services.queue import cancel, pause, push, resume
from annotations.models import Document, Job
from annotations.transfer.services.staged import pack, stage_import
from annotations.transfer.services.starting import start_import
from tests.factories import make_project, make_user
from tests.jobs.probes.handlers import results
from tests.waiting import HANGS, MOMENT, ended, wait_for
from tests.worlds.gates import Gate
from tests.worlds.queue import end_lease, state_of, wait_for_state

pytestmark = [pytest.mark.queue, pytest.mark.processes, pytest.mark.django_db(transaction=True)]
TOTAL = 60
NAP = 0.03


@pytest.fixture
def counting(make_job, processes, gate):
    """A relay, and a job of TOTAL results that a worker has just begun. `finished` lets it have the second half."""
    relay, worker = processes("relay"), processes("work")
    gate.let(TOTAL // 2)
    job = make_job("count", total=TOTAL, nap=NAP, gate=str(gate.file))
    wait_for(lambda: len(results(job.pk)) >= 5, what="the first results", progress=lambda: results(job.pk))
    return job, worker, relay


def finished(job):
    if "gate" in job.params:
        Gate(Path(job.params["gate"])).open()
    wait_for_state(job, Job.State.DONE, "the job to end")
    job.refresh_from_db()
    assert [item for item, _ in results(job.pk)] == list(range(TOTAL)), "each result once, none missing"
    assert (job.done, job.total, job.result, job.lease_token) == (TOTAL, TOTAL, {"items": TOTAL}, None)


@pytest.mark.both_databases
def test_the_worker_is_killed_and_redis_emptied(counting, processes, redis_server):
    job, worker, _ = counting
    worker.kill9()
    redis_server.client().flushall()
    assert len(results(job.pk)) < TOTAL
    end_lease(job)
    processes("work")
    finished(job)
    assert job.attempt == 2


def test_redis_is_emptied_under_a_working_worker(counting, redis_server):
    job, _, _ = counting
    redis_server.client().flushall()
    finished(job)
    assert job.attempt == 1
    wait_for(lambda: workers_alive("cpu") == 1, what="the worker to show itself again")


def test_redis_is_emptied_while_a_job_waits(make_job, processes, redis_server):
    processes("relay")
    job = make_job("count", total=TOTAL, nap=0)
    redis_server.client().flushall()
    processes("work")
    finished(job)


def test_the_relay_is_killed_and_started_again(counting, processes, redis_server):
    job, worker, relay = counting
    relay.kill9()
    worker.kill9()
    redis_server.client().flushall()
    processes("work")
    end_lease(job)
    wait_for(lambda: workers_alive("cpu") == 1, what="the second worker to show itself")
    assert state_of(job) == Job.State.RUNNING, "only the relay notices lost workers"
    processes("relay")
    finished(job)


def test_redis_restarts_in_the_middle(counting, redis_server, make_job):
    job, _, _ = counting
    redis_server.restart(away=1.0)
    finished(job)
    later = make_job("count", total=3)
    wait_for_state(later, Job.State.DONE, "a job after the restart")


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
def test_a_worker_frozen_past_its_lease_is_refused(counting, processes, gate):
    job, frozen, _ = counting
    frozen.freeze()
    wait_for_state(job, Job.State.QUEUED, "the lease to run out")
    gate.let(TOTAL - 1)
    processes("work")
    wait_for(lambda: 2 in {attempt for _, attempt in results(job.pk)}, what="the second worker")
    frozen.thaw()
    finished(job)
    attempts = [attempt for _, attempt in results(job.pk)]
    assert attempts == sorted(attempts), "the woken worker wrote nothing more"
    wait_for(lambda: len(frozen.tree) == 1, what="the woken work process to give up")


@pytest.mark.both_databases
def test_a_late_result_is_refused(make_job, processes, gate):
    processes("relay")
    frozen = processes("work")
    job = make_job("once", gate=str(gate.file))
    wait_for_state(job, Job.State.RUNNING, "the first worker")
    frozen.freeze()
    gate.open()
    end_lease(job)
    processes("work")
    wait_for_state(job, Job.State.DONE, "the second worker")
    frozen.thaw()
    wait_for(lambda: len(frozen.tree) == 1, what="the woken work process to give up")
    job.refresh_from_db()
    assert results(job.pk) == [(0, 2)]
    assert (job.attempt, job.result) == (2, {"once": True})


@pytest.mark.both_databases
def test_sigterm_puts_the_job_back_at_once(counting, processes):
    job, worker, _ = counting
    assert worker.terminate() == 0
    assert state_of(job) == Job.State.QUEUED
    processes("work")
    finished(job)
    assert job.attempt == 1, "an orderly stop is not counted"


def test_sigint_from_a_terminal_puts_the_job_back(counting, processes):
    job, worker, _ = counting
    worker.popen.send_signal(signal.SIGINT)
    worker.popen.send_signal(signal.SIGTERM)
    assert ended(worker.popen) == 0
    assert state_of(job) == Job.State.QUEUED


def test_a_job_that_ends_within_the_grace_is_not_killed(make_job, processes):
    processes("relay")
    worker = processes("work")
    job = make_job("stubborn", nap=6)
    wait_for(lambda: Job.objects.get(pk=job.pk).total, what="its only report")
    assert worker.terminate() == 0
    assert state_of(job) == Job.State.DONE


def test_a_job_that_reports_nothing_is_killed_after_the_grace(make_job, processes):
    processes("relay")
    worker = processes("work")
    job = make_job("stubborn", nap=HANGS)
    wait_for(lambda: Job.objects.get(pk=job.pk).total, what="its only report")
    assert worker.terminate() == 0
    assert state_of(job) == Job.State.RUNNING
    end_lease(job)
    wait_for_state(job, Job.State.QUEUED, "the relay to put it back")


def test_the_parent_alone_is_killed(counting, processes):
    """The child notices and puts the job back without waiting for the lease to expire."""
    job, worker, _ = counting
    worker.popen.kill()
    worker.popen.wait()
    wait_for_state(job, Job.State.QUEUED, "the child to give the job back")
    job.refresh_from_db()
    assert job.attempt == 0, "the relay, which waits for the lease, would count the attempt"
    processes("work")
    finished(job)


def test_canceling_a_running_job(counting):
    job, _, _ = counting
    cancel(job)
    wait_for_state(job, Job.State.CANCELED, "the worker to notice")
    assert job.project.stored_files.get().name == "undone-canceled"


def test_pausing_and_resuming(counting):
    job, _, _ = counting
    pause(job)
    wait_for_state(job, Job.State.PAUSED, "the worker to notice")
    so_far = len(results(job.pk))
    time.sleep(MOMENT)
    assert len(results(job.pk)) == so_far < TOTAL
    resume(job)
    finished(job)


def test_a_job_that_kills_its_workers_is_ended(make_job, processes):
    processes("relay")
    processes("work")
    job = make_job("dies")
    # Each work process kills itself, and its lease is ended at once.
    wait_for(lambda: end_lease(job) or state_of(job) == Job.State.FAILED, what="the last attempt")
    job.refresh_from_db()
    assert len(results(job.pk)) == 5
    assert "lost 5 times" in job.error
    assert job.project.stored_files.get().name == "undone-failed"


def test_an_import_survives_the_loss_of_its_worker(processes, redis_server):
    """The worker is killed between two batches. Every note is imported once and counted once in the report."""
    total = 1500
    project = make_project()
    files = [(f"n{number:04}.txt", f"Note {number}, seen on 12/03/2021.".encode()) for number in range(total)]
    row = stage_import(
        project=project,
        name="notes.zip",
        content=pack(files),
        format="text",
        written_as="",
        language="",
        take_duplicates=False,
        actor=None,
    )
    processes("relay")
    worker = processes("work")
    job = start_import(project=project, import_id=row.pk, actor=make_user())
    wait_for(lambda: Document.objects.filter(project=project).exists(), what="the first batch")
    worker.kill9()
    redis_server.client().flushall()
    end_lease(job)
    kept = Document.objects.filter(project=project).count()
    assert 0 < kept < total and kept % 250 == 0, "whole batches only"
    processes("work")
    wait_for_state(job, Job.State.DONE, "the import to end")
    job.refresh_from_db()
    assert Document.objects.filter(project=project).count() == job.result["notes"] == job.done == total
    assert job.attempt == 2


@pytest.mark.both_databases
def test_two_workers_share_the_jobs(make_job, processes):
    processes("relay")
    jobs = [make_job("count", total=20, nap=0.01) for _ in range(6)]
    processes("work"), processes("work")
    for job in jobs:
        wait_for_state(job, Job.State.DONE, "all jobs")
        assert results(job.pk) == [(item, 1) for item in range(20)]


def test_a_worker_on_all_queues_takes_turns(make_job, processes, redis_server):
    jobs = [make_job("count", total=1) for _ in range(5)]
    for job, queue in zip(jobs, ("cpu", "cpu", "cpu", "gpu", "llm"), strict=True):
        Job.objects.filter(pk=job.pk).update(queue=queue)
    redis_server.client().flushall()
    push([job.pk for job in jobs])
    processes("work")
    for job in jobs:
        wait_for_state(job, Job.State.DONE, "all jobs")
    served = list(Job.objects.order_by("started_at").values_list("queue", flat=True))
    assert served == ["cpu", "gpu", "llm", "cpu", "cpu"]


def test_redis_holds_only_ids(make_job, redis_server, processes, gate):
    """Read everything in Redis while jobs wait and while one runs."""
    job = make_job("once", gate=str(gate.file), note="Mario Rossi")
    waiting = make_job("count", total=3, note="Mario Rossi")
    processes("work")
    wait_for_state(job, Job.State.RUNNING, "the worker")
    assert state_of(waiting) == Job.State.QUEUED
    client = redis_server.client()
    raw = [client.dump(key) or b"" for key in client.keys("*")]
    assert b"Mario" not in b"".join(raw)
    # The message of the running job is gone. deidreview neither writes nor reads RQ's rows, which name functions.
    (bell,) = client.lrange("rq:queue:cpu", 0, -1)
    assert re.fullmatch(rb"job-%d-[0-9a-f]{8}" % waiting.pk, bell)
    assert client.keys("rq:job:*") == []


def test_workers_are_counted_and_missed(processes, redis_server):
    assert workers_alive("cpu") == 0
    worker = processes("work", "--queue", "cpu", "--queue", "llm")
    wait_for(lambda: workers_alive("cpu") == 1, what="the worker to show itself")
    assert (workers_alive("llm"), workers_alive("gpu")) == (1, 0)
    assert worker.terminate() == 0
    # The worker unregisters at once, unless the signal arrives between its first heartbeat and its signal handlers.
    wait_for(lambda: workers_alive("cpu") == 0, what="the worker that ended to be gone")
    killed = processes("work")
    wait_for(lambda: workers_alive("cpu") == 1, what="the worker to show itself")
    killed.kill9()
    wait_for(lambda: workers_alive("cpu") == 0, what="the dead worker to be missed")
    redis_server.stop()
    assert workers_alive("cpu") is None


@pytest.mark.postgresql
@pytest.mark.skipif(connection.vendor == "sqlite", reason="it has one writer: all wait while a process holds the lock")
def test_a_frozen_worker_s_transaction_does_not_block_the_others(make_job, processes, gate, tmp_path):
    processes("relay")
    frozen = processes("work")
    inside = tmp_path / "inside"
    job = make_job("hold", gate=str(gate.file), inside=str(inside))
    wait_for(inside.exists, what="the worker")
    frozen.freeze()
    gate.open()
    end_lease(job)
    processes("work")
    wait_for_state(job, Job.State.DONE, "the second worker")
    frozen.thaw()
    wait_for(lambda: len(frozen.tree) == 1, what="the woken work process to give up")
    assert results(job.pk) == [(0, 2)]
