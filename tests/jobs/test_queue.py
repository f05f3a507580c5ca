"""Starting, controlling and recovering jobs."""

import threading
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Now

from annotations.core.errors import ServiceError
from annotations.jobs.runner import take
from annotations.jobs.services.doorbell import waiting
from annotations.jobs.services.queue import cancel, enqueue, pause, push, resume, retry
from annotations.jobs.services.relay import Relay
from annotations.jobs.services.sweep import sweep
from annotations.models import Job
from tests.factories import make_project

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]


def expire(job):
    Job.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(seconds=1))


def long_ago(job):
    Job.objects.filter(pk=job.pk).update(pushed_at=Now() - timedelta(minutes=1))


def undone(job):
    return list(job.project.stored_files.values_list("name", flat=True))


# ── Start ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_job_is_pushed_after_the_commit(redis_server, make_job):
    with transaction.atomic():
        job = make_job()
        assert waiting("cpu") == set()
    assert waiting("cpu") == {job.pk}
    job.refresh_from_db()
    assert job.pushed_at is not None


def test_a_rolled_back_request_leaves_nothing(redis_server, make_job):
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        make_job()
        1 / 0  # noqa: B018
    assert not Job.objects.exists()
    assert waiting("cpu") == set()


def test_the_same_key_is_the_same_job(redis_server, make_job):
    project = make_project()
    first, second = make_job(key="k", project=project), make_job(key="k", project=project)
    assert first == second
    assert waiting("cpu") == {first.pk}


def test_the_key_of_another_project_gives_nobody_its_job(no_redis, make_job):
    first = make_job(key="k")
    with pytest.raises(IntegrityError):
        make_job(key="k")
    assert list(Job.objects.all()) == [first]


@pytest.mark.both_databases
def test_the_same_key_at_the_same_time_is_the_same_job(redis_server, probes):
    project, jobs, start = make_project(), [], threading.Barrier(4)

    def ask():
        start.wait()
        with transaction.atomic():
            jobs.append(enqueue(kind="count", project=project, params={}, key="k", actor=None))
        connection.close()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(jobs) == 4
    assert {job.pk for job in jobs} == {Job.objects.get().pk}


def test_an_outage_of_redis_does_not_fail_the_request(no_redis, make_job):
    job = make_job()
    job.refresh_from_db()
    assert (job.state, job.pushed_at) == (Job.State.QUEUED, None)


def test_an_unknown_kind_is_refused(no_redis):
    with pytest.raises(LookupError, match="“sing”"):
        enqueue(kind="sing", project=make_project(), params={}, key="k", actor=None)


def test_only_waiting_jobs_are_pushed(redis_server, make_job):
    job = make_job()
    take(job.pk)
    redis_server.client().flushall()
    assert push([job.pk]) == 0
    assert waiting("cpu") == set()


# ── The relay ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_relay_pushes_jobs_that_were_never_pushed(settings, redis_server, make_job):
    url, settings.REDIS_URL = settings.REDIS_URL, "unix:///nowhere.sock"
    job = make_job()
    assert sweep().redis_away
    settings.REDIS_URL = url
    assert sweep().rung == [job.pk]
    assert waiting("cpu") == {job.pk}
    assert sweep().rung == []


def test_the_relay_pushes_again_what_redis_lost(redis_server, make_job):
    job = make_job()
    redis_server.client().flushall()
    assert sweep().rung == [], "not in the first seconds: a worker may be about to claim it"
    long_ago(job)
    assert sweep().rung == [job.pk]


def test_the_relay_does_not_push_a_queued_job_twice(redis_server, make_job):
    job = make_job()
    long_ago(job)
    assert sweep().rung == []
    assert redis_server.client().llen("rq:queue:cpu") == 1


@pytest.mark.both_databases
def test_the_relay_puts_back_a_job_that_lost_its_worker(redis_server, make_job):
    job = make_job()
    claim = take(job.pk)
    assert sweep().put_back == []
    expire(job)
    swept = sweep()
    assert (swept.put_back, swept.rung or list(waiting("cpu"))) == ([job.pk], [job.pk])
    job.refresh_from_db()
    assert (job.state, job.attempt, job.lease_token) == (Job.State.QUEUED, 1, None)
    assert not claim.beat()


@pytest.mark.parametrize(("kind", "attempts"), [("once", 5), ("count", 8)])
def test_the_relay_ends_a_job_that_lost_too_many_workers(no_redis, make_job, kind, attempts):
    """A kind with `undo` gets three more attempts, only for undoing."""
    job = make_job(kind)
    for _ in range(attempts):
        assert take(job.pk)
        expire(job)
        swept = sweep()
    assert swept.failed == [job.pk]
    job.refresh_from_db()
    assert (job.state, job.finished_at is None) == (Job.State.FAILED, False)
    assert f"lost {attempts} times" in job.error


@pytest.mark.both_databases
def test_two_relays_at_once_are_harmless(redis_server, make_job):
    jobs = [make_job() for _ in range(5)]
    for job in jobs:
        take(job.pk)
        expire(job)
    start, put_back = threading.Barrier(2), []

    def one():
        start.wait()
        put_back.extend(sweep().put_back)
        connection.close()

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(put_back) == sorted(job.pk for job in jobs)


def test_the_relay_tidies_up(no_redis, make_job):
    project = make_project()
    project.stored_files.create(kind="export", name="old", expires_at="2020-01-01T00:00Z")
    project.stored_files.create(kind="export", name="new", expires_at="2090-01-01T00:00Z")
    Relay().round()
    assert undone(make_job(project=project)) == ["new"]


def test_the_relay_survives_an_outage_of_the_database(no_redis, monkeypatch, caplog, db):
    from django.db import OperationalError

    relay = Relay()

    def away():
        raise OperationalError("gone")

    monkeypatch.setattr("annotations.jobs.services.relay.sweep", away)
    assert relay.round() is None
    assert relay.round() is None
    monkeypatch.undo()
    assert relay.round() is not None
    lines = [record.getMessage() for record in caplog.records if record.name == "deidreview.relay"]
    assert lines == ["The database is unavailable (OperationalError); trying again", "The database is available again"]


# ── Control ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_canceling_a_job_that_never_began_ends_it_at_once(no_redis, make_job):
    job = cancel(make_job("count"))
    assert (job.state, undone(job)) == (Job.State.CANCELED, ["undone-canceled"])
    assert cancel(job).state == Job.State.CANCELED
    assert undone(job) == ["undone-canceled"]


def test_canceling_a_running_job_asks_its_worker(no_redis, make_job):
    job = make_job("count")
    take(job.pk)
    job = cancel(job)
    assert (job.state, job.cancel_requested, undone(job)) == (Job.State.RUNNING, True, [])


def test_canceling_a_half_done_job_leaves_the_undo_to_a_worker(redis_server, make_job):
    job = make_job("count")
    take(job.pk).give_back()
    redis_server.client().flushall()
    job = cancel(job)
    assert (job.state, job.cancel_requested, undone(job)) == (Job.State.QUEUED, True, [])
    assert waiting("cpu") == {job.pk}
    assert take(job.pk).cancel_requested


def test_canceling_needs_no_worker_without_anything_to_undo(no_redis, make_job):
    job = make_job("once")
    take(job.pk).give_back()
    assert cancel(job).state == Job.State.CANCELED


@pytest.mark.parametrize("state", ["done", "failed", "canceled"])
def test_canceling_an_ended_job_changes_nothing(no_redis, make_job, state):
    job = make_job("count")
    Job.objects.filter(pk=job.pk).update(state=state)
    job = cancel(job)
    assert (job.state, job.cancel_requested, undone(job)) == (state, False, [])


def test_pausing_and_resuming_a_waiting_job(redis_server, make_job):
    job = pause(make_job("count"))
    assert job.state == Job.State.PAUSED
    assert take(job.pk) is None
    redis_server.client().flushall()
    assert resume(job).state == Job.State.QUEUED
    assert waiting("cpu") == {job.pk}


def test_pausing_a_running_job_asks_its_worker_and_can_be_withdrawn(no_redis, make_job):
    job = make_job("count")
    take(job.pk)
    assert pause(job).pause_requested
    assert not resume(job).pause_requested


def test_a_job_that_can_t_be_paused_says_so(no_redis, make_job):
    with pytest.raises(ServiceError, match="can't be paused"):
        pause(make_job("once"))


def test_canceling_a_paused_job(no_redis, make_job):
    fresh = pause(make_job("count"))
    assert cancel(fresh).state == Job.State.CANCELED
    begun = make_job("count")
    take(begun.pk).give_back(paused=True)
    begun = cancel(begun)
    assert (begun.state, begun.cancel_requested) == (Job.State.QUEUED, True)


@pytest.mark.parametrize("state", ["failed", "canceled"])
def test_a_retry_starts_from_the_beginning(redis_server, make_job, state):
    job = make_job("once")
    claim = take(job.pk)
    claim.done, claim.total = 2, 3
    claim.end(state, "words")
    redis_server.client().flushall()
    job = retry(job)
    assert (job.state, job.attempt, job.done, job.error) == (Job.State.QUEUED, 0, 0, "")
    assert job.started_at is None and job.finished_at is None
    assert waiting("cpu") == {job.pk}


@pytest.mark.parametrize("state", ["queued", "running", "done"])
def test_retrying_a_job_that_did_not_fail_changes_nothing(no_redis, make_job, state):
    job = make_job("once")
    Job.objects.filter(pk=job.pk).update(state=state)
    assert retry(job).state == state


def test_retrying_an_import_is_refused(no_redis, make_job):
    job = make_job("once")
    Job.objects.filter(pk=job.pk).update(state="failed", kind="import")
    job.refresh_from_db()
    with pytest.raises(ServiceError, match="Start a new job"):
        retry(job)
