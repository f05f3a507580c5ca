"""Each work process limits the threads of libraries to its share of the cores that its host's workers have."""

import pytest
from rq import Queue
from rq.serializers import JSONSerializer

from annotations.domain.threads import VARIABLES, threads_for
from annotations.jobs.services.doorbell import connection, workers_alive
from annotations.jobs.services.worker import DurableWorker
from annotations.models import Job
from tests.waiting import wait_for
from tests.worlds.queue import wait_for_state

pytestmark = [pytest.mark.queue, pytest.mark.processes, pytest.mark.django_db(transaction=True)]


def born(*queues, host):
    rows = [Queue(name, connection=connection()) for name in queues]
    worker = DurableWorker(rows, connection=connection(), serializer=JSONSerializer)
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
    worker.heartbeat()
    both.heartbeat()
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


def test_work_processes_share_the_cores(unlimited, make_job, processes):
    processes("relay")
    for workers in (1, 2):
        processes("work", "--queue", "cpu")
        wait_for(lambda: workers_alive("cpu") == workers, what="the workers")  # noqa: B023 - called at once
        job = make_job("threads")
        wait_for_state(job, Job.State.DONE, "the job to end")
        job.refresh_from_db()
        assert job.result == dict.fromkeys(VARIABLES, str(threads_for(workers)))
