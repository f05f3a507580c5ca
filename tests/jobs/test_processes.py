"""The queue survives failures: real workers and relays are killed or frozen, and a real Redis is emptied."""

import re
import signal
import time

import pytest

from annotations.jobs.services.doorbell import workers_alive
from annotations.jobs.services.queue import cancel, pause, push, resume
from annotations.models import Document, Job
from annotations.transfer.services.staged import pack, stage_import
from annotations.transfer.services.starting import start_import
from tests.factories import make_project, make_user
from tests.jobs.probes.handlers import results
from tests.waiting import ended, wait_for
from tests.worlds.queue import LEASE, state_of

pytestmark = [pytest.mark.queue, pytest.mark.processes, pytest.mark.django_db(transaction=True)]
TOTAL = 60
NAP = 0.03


@pytest.fixture
def counting(make_job, processes):
    """A relay, and a job of TOTAL results that a worker has just begun."""
    relay, worker = processes("relay"), processes("work")
    job = make_job("count", total=TOTAL, nap=NAP)
    wait_for(lambda: len(results(job.pk)) >= 5, what="the first results")
    return job, worker, relay


def finished(job):
    wait_for(lambda: state_of(job) == Job.State.DONE, timeout=60, what="the job to end")
    job.refresh_from_db()
    assert [item for item, _ in results(job.pk)] == list(range(TOTAL)), "each result once, none missing"
    assert (job.done, job.total, job.result, job.lease_token) == (TOTAL, TOTAL, {"items": TOTAL}, None)


def test_the_worker_is_killed_and_redis_emptied(counting, processes, redis_server):
    job, worker, _ = counting
    worker.kill9()
    redis_server.client().flushall()
    assert len(results(job.pk)) < TOTAL
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


def test_the_relay_is_killed_and_started_again(counting, processes):
    job, worker, relay = counting
    relay.kill9()
    worker.kill9()
    processes("work")
    time.sleep(LEASE + 1)
    assert state_of(job) == Job.State.RUNNING, "only the relay notices lost workers"
    processes("relay")
    finished(job)


def test_redis_restarts_in_the_middle(counting, redis_server, make_job):
    job, _, _ = counting
    redis_server.restart(away=1.0)
    finished(job)
    later = make_job("count", total=3)
    wait_for(lambda: state_of(later) == Job.State.DONE, what="a job after the restart")


def test_redis_is_unavailable_at_the_start(make_job, processes, redis_server):
    redis_server.stop()
    relay, worker = processes("relay"), processes("work")
    job = make_job("count", total=TOTAL)
    time.sleep(2)
    assert relay.popen.poll() is None and worker.popen.poll() is None
    redis_server.start()
    finished(job)


def test_a_worker_frozen_past_its_lease_is_refused(counting, processes):
    job, frozen, _ = counting
    frozen.freeze()
    wait_for(lambda: state_of(job) == Job.State.QUEUED, what="the lease to run out")
    processes("work")
    wait_for(lambda: (TOTAL - 1, 2) in results(job.pk) or len(results(job.pk)) > 20, what="the second worker")
    frozen.thaw()
    finished(job)
    attempts = [attempt for _, attempt in results(job.pk)]
    assert attempts == sorted(attempts), "the woken worker wrote nothing more"
    wait_for(lambda: len(frozen.tree) == 1, what="the woken work process to give up")


def test_a_late_result_is_refused(make_job, processes):
    processes("relay")
    frozen = processes("work")
    job = make_job("once", steps=10, nap=0.1)
    wait_for(lambda: state_of(job) == Job.State.RUNNING, what="the first worker")
    frozen.freeze()
    processes("work")
    wait_for(lambda: state_of(job) == Job.State.DONE, what="the second worker")
    frozen.thaw()
    wait_for(lambda: len(frozen.tree) == 1, what="the woken work process to give up")
    job.refresh_from_db()
    assert results(job.pk) == [(0, 2)]
    assert (job.attempt, job.result) == (2, {"once": True})


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
    assert ended(worker.popen, 10) == 0
    assert state_of(job) == Job.State.QUEUED


def test_a_job_that_reports_nothing_is_killed_after_the_grace(make_job, processes):
    processes("relay")
    worker = processes("work")
    job = make_job("stubborn", nap=60)
    wait_for(lambda: state_of(job) == Job.State.RUNNING, what="the worker")
    assert worker.terminate(timeout=20) == 0
    wait_for(lambda: state_of(job) == Job.State.QUEUED, what="its lease to run out")


def test_the_parent_alone_is_killed(counting, processes):
    """The child notices and puts the job back without waiting for the lease to expire."""
    job, worker, _ = counting
    worker.popen.kill()
    worker.popen.wait()
    wait_for(lambda: state_of(job) == Job.State.QUEUED, timeout=LEASE, what="the child to give the job back")
    processes("work")
    finished(job)


def test_cancelling_a_running_job(counting):
    job, _, _ = counting
    cancel(job)
    wait_for(lambda: state_of(job) == Job.State.CANCELLED, what="the worker to notice")
    assert job.project.stored_files.get().name == "undone-cancelled"


def test_pausing_and_resuming(counting):
    job, _, _ = counting
    pause(job)
    wait_for(lambda: state_of(job) == Job.State.PAUSED, what="the worker to notice")
    so_far = len(results(job.pk))
    time.sleep(1.5)
    assert len(results(job.pk)) == so_far < TOTAL
    resume(job)
    finished(job)


def test_a_job_that_kills_its_workers_is_ended(make_job, processes):
    processes("relay")
    processes("work")
    job = make_job("dies")
    wait_for(lambda: state_of(job) == Job.State.FAILED, timeout=60, what="the last attempt")
    job.refresh_from_db()
    assert len(results(job.pk)) == 5
    assert "lost 5 times" in job.error
    assert job.project.stored_files.get().name == "undone-failed"


def test_an_import_survives_the_loss_of_its_worker(processes, redis_server):
    """The worker is killed between two batches. Every note is imported once and counted once in the report."""
    total = 3000
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
    kept = Document.objects.filter(project=project).count()
    assert 0 < kept < total and kept % 250 == 0, "whole batches only"
    processes("work")
    wait_for(lambda: state_of(job) == Job.State.DONE, timeout=60, what="the import to end")
    job.refresh_from_db()
    assert Document.objects.filter(project=project).count() == job.result["notes"] == job.done == total
    assert job.attempt == 2


def test_two_workers_share_the_jobs(make_job, processes):
    processes("relay")
    jobs = [make_job("count", total=20, nap=0.01) for _ in range(6)]
    processes("work"), processes("work")
    for job in jobs:
        wait_for(lambda job=job: state_of(job) == Job.State.DONE, timeout=60, what="all jobs")
        assert results(job.pk) == [(item, 1) for item in range(20)]


def test_a_worker_on_all_queues_takes_turns(make_job, processes, redis_server):
    jobs = [make_job("count", total=1) for _ in range(5)]
    for job, queue in zip(jobs, ("cpu", "cpu", "cpu", "gpu", "llm"), strict=True):
        Job.objects.filter(pk=job.pk).update(queue=queue)
    redis_server.client().flushall()
    push([job.pk for job in jobs])
    processes("work")
    wait_for(lambda: not Job.objects.exclude(state=Job.State.DONE).exists(), what="all jobs")
    served = list(Job.objects.order_by("started_at").values_list("queue", flat=True))
    assert served == ["cpu", "gpu", "llm", "cpu", "cpu"]


def test_redis_holds_only_ids(make_job, redis_server, processes):
    """Read everything in Redis while jobs wait and while one runs."""
    job = make_job("once", steps=20, nap=0.1, note="Mario Rossi")
    waiting = make_job("count", total=3, note="Mario Rossi")
    processes("work")
    wait_for(lambda: state_of(job) == Job.State.RUNNING, what="the worker")
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
    wait_for(lambda: workers_alive("cpu") == 0, timeout=25, what="the worker that ended to be gone")
    killed = processes("work")
    wait_for(lambda: workers_alive("cpu") == 1, what="the worker to show itself")
    killed.kill9()
    wait_for(lambda: workers_alive("cpu") == 0, timeout=25, what="the dead worker to be missed")
    redis_server.stop()
    assert workers_alive("cpu") is None


def test_a_frozen_worker_s_transaction_does_not_block_the_others(make_job, processes, transactional_db):
    from django.db import connection

    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer: while a process holds the lock, everybody waits")
    processes("relay")
    frozen = processes("work")
    job = make_job("hold", nap=1.2)
    wait_for(lambda: state_of(job) == Job.State.RUNNING, what="the worker")
    time.sleep(0.5)
    frozen.freeze()
    processes("work")
    wait_for(lambda: state_of(job) == Job.State.DONE, timeout=60, what="the second worker")
    frozen.thaw()
    wait_for(lambda: len(frozen.tree) == 1, what="the woken work process to give up")
    assert results(job.pk) == [(0, 2)]
