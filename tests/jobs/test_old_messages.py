"""Messages that an earlier version left in Redis. They name a function that has moved since."""

import django_rq
import pytest
from django.utils import timezone
from rq.serializers import JSONSerializer

from annotations.jobs.services import worker
from annotations.jobs.services.doorbell import Bell, connection, waiting
from annotations.jobs.services.sweep import UNHEARD, sweep
from annotations.models import Job
from tests.jobs.test_hostile_redis import row
from tests.waiting import wait_for
from tests.worlds.queue import state_of, wait_for_state

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]
# A message name as RQ generates it.
RQ_NAME = "3b7d0c3e-8d7c-4a1c-9f3e-0c1b6f0f6a55"


@pytest.fixture
def redis(redis_server):
    client = redis_server.client()
    client.flushall()
    return client


def left_by_an_earlier_version(client, name, job):
    row(client, name, ["models_runtime.jobs.perform", None, [job.pk], {}])
    client.rpush("rq:queue:cpu", name)


def a_worker():
    queue = django_rq.get_queue("cpu", connection=connection())
    return worker.DurableWorker([queue], connection=connection(), serializer=JSONSerializer)


def test_a_message_with_rq_s_name_is_dropped_and_the_relay_pushes_the_job_again(redis, make_job):
    job = make_job("count", total=1)
    redis.flushall()
    left_by_an_earlier_version(redis, RQ_NAME, job)
    made = a_worker()
    assert made._take() is None
    assert redis.llen("rq:queue:cpu") == 0 and state_of(job) == Job.State.QUEUED
    Job.objects.update(pushed_at=timezone.now() - 2 * UNHEARD)
    sweep()
    assert waiting("cpu") == {job.pk}
    taken = made._take()
    assert taken is not None and taken[0] == Bell(job.pk)


def test_a_message_with_deidreview_s_name_starts_the_job_whatever_its_entry_names(redis, make_job):
    job = make_job("count", total=1)
    redis.flushall()
    left_by_an_earlier_version(redis, f"job-{job.pk}-9f3a01bc", job)
    taken = a_worker()._take()
    assert taken is not None and taken[0] == Bell(job.pk)


@pytest.mark.processes
def test_jobs_of_both_kinds_of_message_are_done_after_the_update(redis, make_job, processes):
    jobs = make_job("count", total=2), make_job("count", total=2)
    redis.flushall()
    left_by_an_earlier_version(redis, RQ_NAME, jobs[0])
    left_by_an_earlier_version(redis, f"job-{jobs[1].pk}-9f3a01bc", jobs[1])
    processes("work")
    processes("relay")
    for job in jobs:
        wait_for_state(job, Job.State.DONE, "the jobs of the earlier version")
    # The relay may have pushed a job twice, and the worker takes the second message after the job's end.
    wait_for(lambda: redis.llen("rq:queue:cpu") == 0, what="an empty queue")
