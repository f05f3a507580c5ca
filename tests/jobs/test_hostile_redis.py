"""Whoever can write to Redis can ring, and nothing else: real workers, and what an attacker would leave for them.

Rows are written by hand, as RQ would, so that no check of RQ's own at enqueuing stands in the way.
"""

import json
import logging
import time
import zlib
from datetime import UTC, datetime

import django_rq
import pytest
from rq.serializers import JSONSerializer

from annotations.jobs.services import worker
from annotations.jobs.services.doorbell import Bell, connection
from annotations.models import Job
from tests.jobs.probes.handlers import results
from tests.worlds.queue import state_of, wait_for

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]
NOW = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@pytest.fixture
def traces(tmp_path):
    """Files that would be there if something had run."""
    folder = tmp_path / "traces"
    folder.mkdir()
    return folder


def row(client, name, call, **fields):
    """A job of RQ's, as lies in Redis."""
    client.hset(
        f"rq:job:{name}",
        mapping={
            "data": zlib.compress(json.dumps(call).encode()),
            "created_at": NOW,
            "enqueued_at": NOW,
            "origin": "cpu",
            "status": "queued",
            "timeout": "180",
            "description": "secret words",
            **fields,
        },
    )


def shell(file, name=""):
    return ["os.system", None, [f"touch {file}/{name or 'ran'}"], {}]


def callback(file):
    """A function that RQ would call with the job after its success, its failure, its stop."""
    names = {f"{kind}_callback_name": "tests.jobs.probes.handlers.trace" for kind in ("success", "failure", "stopped")}
    return {**names, "description": f"{file}/callback"}


def hostile(client, traces, good):
    """Leaves them on the queue, the names that look like ours first. Gives how many of them don't."""
    # The right name of a real job over a row that names something else: the row is not looked at.
    ours = Bell(good).name()
    row(client, ours, shell(traces, "name"), **callback(traces))
    client.rpush("rq:queue:cpu", ours)
    # A right name of no job.
    nobody = Bell(10**17).name()
    row(client, nobody, shell(traces, "nobody"))
    client.rpush("rq:queue:cpu", nobody)
    strange = {
        "plain": shell(traces, "plain"),
        f"job-{good}-xyz": shell(traces, "nearly"),
        f"job-{good}-aaaaaaaa ; touch": shell(traces, "words"),
        "job-0-aaaaaaaa": shell(traces, "zero"),
        "job-99999999999999999999-aaaaaaaa": shell(traces, "long"),
        "instance": ["system", "os", [f"touch {traces}/instance"], {}],
        "kwargs": ["os.system", None, [], {"command": f"touch {traces}/kwargs"}],
        "perform": ["annotations.jobs.runner.run", None, [good], {}],
    }
    for name, call in strange.items():
        row(client, name, call, **callback(traces), retries_left="3", repeats_left="3", group_id="g", timeout="1")
        client.rpush("rq:queue:cpu", name)
    client.rpush("rq:queue:cpu", b"\xff\xfe\x00", b"", "no-such-row", "x" * 100_000)
    return len(strange) + 4


def lay_traps(client, traces):
    """What RQ's maintenance, scheduler and commands would look at."""
    row(client, "started", shell(traces, "started"), **callback(traces), status="started", failure_ttl="60")
    client.zadd("rq:wip:cpu", {"started:execution": 1, "started": 1})
    client.hset("rq:execution:started:execution", mapping={"created_at": "1", "last_heartbeat": "1"})
    client.zadd("rq:executions:started", {"execution": 1})
    row(client, "stuck", shell(traces, "stuck"), **callback(traces), retries_left="1")
    client.rpush("rq:queue:cpu:intermediate", "stuck")
    client.set("rq:queue:cpu:intermediate:first_seen:stuck", "1")
    row(client, "scheduled", shell(traces, "scheduled"), status="scheduled")
    client.zadd("rq:scheduled:cpu", {"scheduled": 1})
    row(client, "deferred", shell(traces, "deferred"), status="deferred")
    client.zadd("rq:deferred:cpu", {"deferred": 1})
    client.set("rq:suspended", "1")


def test_an_entry_that_is_no_bell_is_dropped(redis_server, traces, make_job, caplog):
    job = make_job("count", total=1)
    client = redis_server.client()
    client.flushall()
    rung = []
    made = worker_on_cpu()
    dropped = hostile(client, traces, job.pk)
    with caplog.at_level(logging.WARNING, "deidreview.worker"):
        while client.llen("rq:queue:cpu"):
            taken = made._take()
            rung += [taken[0].job_id] if taken else []
    assert rung == [job.pk, 10**17]
    lines = [record.getMessage() for record in caplog.records if record.name == "deidreview.worker"]
    assert lines == ["dropped an entry of the queue cpu that deidreview did not put there"] * dropped


def worker_on_cpu():
    return worker.DurableWorker(
        [django_rq.get_queue("cpu", connection=connection())], connection=connection(), serializer=JSONSerializer
    )


@pytest.mark.processes
@pytest.mark.parametrize("queues", [[], ["--queue", "cpu"]], ids=["all queues", "one queue"])
def test_nothing_that_redis_names_runs_and_good_jobs_still_do(make_job, processes, redis_server, traces, queues):
    job, later = make_job("count", total=3), make_job("count", total=3)
    client = redis_server.client()
    client.flushall()
    hostile(client, traces, job.pk)
    lay_traps(client, traces)
    processes("work", *queues)
    client.rpush("rq:queue:cpu", Bell(later.pk).name())
    for one in (job, later):
        wait_for(lambda one=one: state_of(one) == Job.State.DONE, what="the good jobs")
        assert [item for item, _ in results(one.pk)] == [0, 1, 2]
    wait_for(lambda: client.llen("rq:queue:cpu") == 0, what="the queue to be empty")
    time.sleep(1)
    assert list(traces.iterdir()) == []
    assert client.zcard("rq:scheduled:cpu") == 1, "nobody looked at it"


@pytest.mark.processes
def test_messages_to_a_worker_do_nothing(make_job, processes, redis_server):
    """RQ takes commands (stop a job, shut down) from a channel; ours listens to none."""
    job = make_job("count", total=20, nap=0.1)
    processes("work")
    wait_for(lambda: state_of(job) == Job.State.RUNNING, what="the worker")
    client = redis_server.client()
    for key in client.smembers("rq:workers"):
        name = key.decode().removeprefix("rq:worker:")
        for command in ("shutdown", "kill-horse"):
            assert client.publish(f"rq:pubsub:{name}", json.dumps({"command": command})) == 0
    wait_for(lambda: state_of(job) == Job.State.DONE, what="the job to end")
