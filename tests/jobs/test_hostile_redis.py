"""An attacker who can write to Redis can only start jobs that wait anyway. Real workers get an attacker's entries.

The tests write RQ's rows directly, which avoids the checks that RQ makes when it enqueues a job.
"""

import json
import logging
import subprocess
import sys
import time
import zlib
from datetime import UTC, datetime

import django_rq
import pytest
from rq.serializers import JSONSerializer

from annotations.jobs.services import worker
from annotations.jobs.services.relay import Bell
from annotations.jobs.services.relay import redis_connection as connection
from annotations.models import JobState
from tests.jobs.probes.handlers import results
from tests.waiting import HANGS, wait_for
from tests.worlds.queue import wait_for_state

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@pytest.fixture
def traces(tmp_path):
    """Files that would exist if an attack had succeeded."""
    folder = tmp_path / "traces"
    folder.mkdir()
    return folder


def row(client, name, call, **fields):
    """Write an RQ job as RQ stores it in Redis."""
    mapping = {
        "data": zlib.compress(json.dumps(call).encode()), "created_at": NOW, "enqueued_at": NOW, "origin": "cpu",
        "status": "queued", "timeout": "180", "description": "secret words", **fields,
    }  # fmt: skip
    client.hset(f"rq:job:{name}", mapping=mapping)


def queued(client, name, call, **fields):
    row(client, name, call, **fields)
    client.rpush("rq:queue:cpu", name)


def shell(file, name):
    return ["os.system", None, [f"touch {file}/{name}"], {}]


def callback(file):
    """Return fields that make RQ call a function after the job's success, failure or stop."""
    names = {f"{kind}_callback_name": "tests.jobs.probes.handlers.trace" for kind in ("success", "failure", "stopped")}
    return {**names, "description": f"{file}/callback"}


def hostile(client, traces, good):
    """Put hostile entries on the queue, first those with valid names. Return the number of invalid ones."""
    # A valid name of a real job. The entry names another function, but deidreview reads only the name.
    queued(client, Bell(good).name(), shell(traces, "name"), **callback(traces))
    # A valid name for a job that does not exist.
    queued(client, Bell(10**17).name(), shell(traces, "nobody"))
    strange = {
        "plain": shell(traces, "plain"), f"job-{good}-xyz": shell(traces, "nearly"),
        f"job-{good}-aaaaaaaa ; touch": shell(traces, "words"), "job-0-aaaaaaaa": shell(traces, "zero"),
        "job-99999999999999999999-aaaaaaaa": shell(traces, "long"),
        "instance": ["system", "os", [f"touch {traces}/instance"], {}],
        "kwargs": ["os.system", None, [], {"command": f"touch {traces}/kwargs"}],
        "perform": ["annotations.jobs.runner.run", None, [good], {}],
    }  # fmt: skip
    for name, call in strange.items():
        queued(client, name, call, **callback(traces), retries_left="3", repeats_left="3", group_id="g", timeout="1")
    client.rpush("rq:queue:cpu", b"\xff\xfe\x00", b"", "no-such-row", "x" * 100_000)
    return len(strange) + 4


def lay_traps(client, traces):
    """Write entries that RQ's maintenance, scheduler and commands would read."""
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


def test_an_invalid_entry_is_dropped(redis_server, traces, make_job, caplog):
    job = make_job("count", total=1)
    client = redis_server.client()
    client.flushall()
    job_ids = []
    queue = django_rq.get_queue("cpu", connection=connection())
    made = worker.DurableWorker([queue], connection=connection(), serializer=JSONSerializer)
    dropped = hostile(client, traces, job.pk)
    with caplog.at_level(logging.WARNING, "deidreview.worker"):
        while client.llen("rq:queue:cpu"):
            taken = made._take()
            job_ids += [taken[0].job_id] if taken else []
    assert job_ids == [job.pk, 10**17]
    lines = [record.getMessage() for record in caplog.records if record.name == "deidreview.worker"]
    assert lines == ["Dropped an entry of the queue cpu that deidreview did not write"] * dropped


@pytest.mark.processes
@pytest.mark.parametrize("queues", [[], ["--queue", "cpu"]], ids=["all queues", "one queue"])
def test_no_function_named_in_redis_runs_and_good_jobs_do(make_job, processes, redis_server, traces, queues):
    job, later = make_job("count", total=3), make_job("count", total=3)
    client = redis_server.client()
    client.flushall()
    hostile(client, traces, job.pk)
    lay_traps(client, traces)
    processes("work", *queues)
    client.rpush("rq:queue:cpu", Bell(later.pk).name())
    for one in (job, later):
        wait_for_state(one, JobState.DONE, "the good jobs")
        assert [item for item, _ in results(one.pk)] == [0, 1, 2]
    wait_for(lambda: client.llen("rq:queue:cpu") == 0, what="the queue to be empty")
    time.sleep(1)
    assert list(traces.iterdir()) == []
    assert client.zcard("rq:scheduled:cpu") == 1, "no worker reads scheduled jobs"


@pytest.mark.processes
def test_rq_s_own_worker_runs_a_named_function_and_deidreview_s_does_not(make_job, processes, redis_server, traces):
    """Both workers get the same entry. RQ's worker proves that the entry is valid; deidreview's must not run it."""
    client = redis_server.client()
    client.flushall()

    def leave(name):
        queued(client, name, ["os.mkdir", None, [str(traces / name)], {}])

    leave("by-rq")
    serializer = ["--serializer", "rq.serializers.JSONSerializer"]
    rq = [sys.executable, "-m", "rq.cli", "worker", "cpu", "--burst", "--url", redis_server.url, *serializer]
    subprocess.run(rq, check=True, capture_output=True, timeout=HANGS)
    assert [made.name for made in traces.iterdir()] == ["by-rq"]

    leave("by-ours")
    job = make_job("count", total=1)  # behind it on the same queue
    processes("work", "--queue", "cpu")
    wait_for(lambda: client.llen("rq:queue:cpu") == 0, what="the worker to take both")
    time.sleep(0.5)
    assert [made.name for made in traces.iterdir()] == ["by-rq"]
    wait_for_state(job, JobState.DONE, "the job behind it")


@pytest.mark.processes
def test_messages_to_a_worker_do_nothing(make_job, processes, redis_server):
    """RQ's workers listen to a channel for commands, such as shutdown. Workers of deidreview don't listen."""
    job = make_job("count", total=20, nap=0.1)
    processes("work")
    wait_for_state(job, JobState.RUNNING, "the worker")
    client = redis_server.client()
    for key in client.smembers("rq:workers"):
        name = key.decode().removeprefix("rq:worker:")
        for command in ("shutdown", "kill-horse"):
            assert client.publish(f"rq:pubsub:{name}", json.dumps({"command": command})) == 0
    wait_for_state(job, JobState.DONE, "the job to end")
