"""Starting, controlling and recovering jobs; one attempt at a job: the state of its row and its messages."""

import logging
from datetime import timedelta

import pytest
from django.db import IntegrityError, OperationalError, transaction
from django.db.models.functions import Now

from annotations.core.services import ServiceError
from annotations.jobs.registry import JOBS, kind_of, load
from annotations.jobs.runner import MAX_ATTEMPTS, claims, take
from annotations.jobs.services.queue import cancel, continue_with_more, enqueue, pause, push, resume, retry
from annotations.jobs.services.relay import Relay, sweep, waiting
from annotations.jobs.services.worker import perform
from annotations.models import Job, JobState
from tests.factories import make_project, reread
from tests.jobs.probes.handlers import results
from tests.worlds.queue import change, end_lease

pytestmark = pytest.mark.django_db(transaction=True)


def undone(job):
    return list(job.project.stored_files.values_list("name", flat=True))


# ── Start ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_job_is_pushed_after_the_commit(redis_server, make_job):
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        make_job()
        1 / 0  # noqa: B018
    assert not Job.objects.exists() and waiting("cpu") == set()
    with transaction.atomic():
        job = make_job()
        assert waiting("cpu") == set()
    assert waiting("cpu") == {job.pk}
    assert reread(job).pushed_at is not None


def test_the_same_key_is_the_same_job_but_not_for_another_project(redis_server, make_job):
    project = make_project()
    first, second = make_job(key="k", project=project), make_job(key="k", project=project)
    assert first == second and waiting("cpu") == {first.pk}
    with pytest.raises(IntegrityError):
        make_job(key="k")
    assert list(Job.objects.all()) == [first]
    take(first.pk)
    redis_server.client().flushall()
    assert push([first.pk]) == 0 and waiting("cpu") == set(), "only waiting jobs are pushed"


def test_the_same_key_at_the_same_time_is_the_same_job(redis_server, probes, at_once):
    project = make_project()

    def ask():
        with transaction.atomic():
            return enqueue(kind="count", project=project, params={}, key="k", actor=None).pk

    assert set(at_once(*[ask] * 4)) == {Job.objects.get().pk}


def test_an_outage_of_redis_does_not_fail_the_request(no_redis, make_job):
    job = make_job()
    assert (reread(job).state, job.pushed_at) == (JobState.QUEUED, None)
    with pytest.raises(LookupError, match="“sing”"):
        enqueue(kind="sing", project=make_project(), params={}, key="k", actor=None)


# ── The relay ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_relay_pushes_jobs_that_were_never_pushed(settings, redis_server, make_job):
    url, settings.REDIS_URL = settings.REDIS_URL, "unix:///nowhere.sock"
    job = make_job()
    assert sweep().redis_away
    settings.REDIS_URL = url
    assert sweep().rung == [job.pk] and waiting("cpu") == {job.pk} and sweep().rung == []


def test_the_relay_pushes_again_what_redis_lost(redis_server, make_job):
    job, client = make_job(), redis_server.client()
    change(job, pushed_at=Now() - timedelta(minutes=1))
    assert sweep().rung == [] and client.llen("rq:queue:cpu") == 1, "it is still in the queue"
    change(job, pushed_at=Now())
    client.flushall()
    assert sweep().rung == [], "not in the first seconds: a worker may be about to claim it"
    change(job, pushed_at=Now() - timedelta(minutes=1))
    assert sweep().rung == [job.pk]


@pytest.mark.both_databases
def test_the_relay_puts_back_a_job_that_lost_its_worker(redis_server, make_job):
    job = make_job()
    claim = take(job.pk)
    assert sweep().put_back == []
    end_lease(job)
    swept = sweep()
    assert (swept.put_back, swept.rung or list(waiting("cpu"))) == ([job.pk], [job.pk])
    assert (reread(job).state, job.attempt, job.lease_token) == (JobState.QUEUED, 1, None) and not claim.beat()


@pytest.mark.parametrize(("kind", "attempts"), [("once", 5), ("count", 8)])
def test_the_relay_ends_a_job_that_lost_too_many_workers(no_redis, make_job, kind, attempts):
    """A kind with `undo` gets three more attempts, only for undoing."""
    job = make_job(kind)
    for _ in range(attempts):
        assert take(job.pk)
        end_lease(job)
        swept = sweep()
    assert swept.failed == [job.pk]
    job.refresh_from_db()
    assert (job.state, job.finished_at is None) == (JobState.FAILED, False) and f"lost {attempts} times" in job.error


def test_two_relays_at_once_are_harmless(redis_server, make_job, at_once):
    jobs = [make_job() for _ in range(5)]
    for job in jobs:
        take(job.pk)
        end_lease(job)
    put_back = at_once(*[lambda: sweep().put_back] * 2)
    assert sorted(pk for some in put_back for pk in some) == sorted(job.pk for job in jobs)


def test_the_relay_tidies_up_and_survives_an_outage_of_the_database(no_redis, make_job, monkeypatch, caplog):
    project = make_project()
    for name, expires_at in (("old", "2020-01-01T00:00Z"), ("new", "2090-01-01T00:00Z")):
        project.stored_files.create(kind="export", name=name, expires_at=expires_at)
    relay = Relay()
    relay.round()
    assert undone(make_job(project=project)) == ["new"]

    def away():
        raise OperationalError("gone")

    monkeypatch.setattr("annotations.jobs.services.relay.sweep", away)
    assert relay.round() is None and relay.round() is None
    monkeypatch.setattr("annotations.jobs.services.relay.sweep", sweep)
    assert relay.round() is not None
    lines = [record.getMessage() for record in caplog.records if "database" in record.getMessage()]
    assert ["unavailable" in line for line in lines] == [True, False], "one line when it goes, one when it is back"


# ── Control ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_canceling_ends_a_waiting_job_at_once_and_asks_the_worker_of_a_running_one(no_redis, make_job):
    for job in (make_job("count"), pause(make_job("count"))):
        for _ in range(2):
            job = cancel(job)
            assert (job.state, undone(job)) == (JobState.CANCELED, ["undone-canceled"])
    job = make_job("count")
    take(job.pk)
    job = cancel(job)
    assert (job.state, job.cancel_requested, undone(job)) == (JobState.RUNNING, True, [])


def test_canceling_a_half_done_job_leaves_the_undo_to_a_worker(redis_server, make_job):
    for paused in (False, True):
        job = make_job("count")
        take(job.pk).give_back(paused=paused)
        redis_server.client().flushall()
        job = cancel(job)
        assert (job.state, job.cancel_requested, undone(job)) == (JobState.QUEUED, True, [])
        assert waiting("cpu") == {job.pk} and take(job.pk).cancel_requested
    nothing_to_undo = make_job("once")
    take(nothing_to_undo.pk).give_back()
    assert cancel(nothing_to_undo).state == JobState.CANCELED


def test_control_of_a_job_in_another_state_changes_nothing(no_redis, make_job):
    job = make_job("count")
    for state in ("done", "failed", "canceled"):
        change(job, state=state)
        canceled = cancel(job)
        assert (canceled.state, canceled.cancel_requested, undone(job)) == (state, False, [])
    for state in ("queued", "running", "done"):
        change(job, state=state)
        assert retry(job).state == state


def test_pausing_and_resuming(redis_server, make_job):
    job = pause(make_job("count"))
    assert job.state == JobState.PAUSED and take(job.pk) is None
    redis_server.client().flushall()
    assert resume(job).state == JobState.QUEUED and waiting("cpu") == {job.pk}
    take(job.pk)
    assert pause(job).pause_requested, "a running job asks its worker"
    assert not resume(job).pause_requested
    with pytest.raises(ServiceError, match="can't be paused"):
        pause(make_job("once"))


@pytest.mark.parametrize("state", ["failed", "canceled"])
def test_a_retry_starts_from_the_beginning(redis_server, make_job, state):
    job = make_job("once")
    claim = take(job.pk)
    claim.done, claim.total = 2, 3
    claim.end(state, "words")
    redis_server.client().flushall()
    job = retry(job)
    assert (job.state, job.attempt, job.done, job.error) == (JobState.QUEUED, 0, 0, "")
    assert job.started_at is None and job.finished_at is None and waiting("cpu") == {job.pk}
    change(job, state="failed", kind="import")
    job.refresh_from_db()
    with pytest.raises(ServiceError, match="Start a new job"):
        retry(job)


def test_a_done_job_goes_on_with_more_and_a_live_one_stays_as_it_is(no_redis, make_job):
    job = make_job(total=2)
    change(job, state=JobState.DONE, done=2, attempt=3)
    job = continue_with_more(job)
    assert (job.state, job.done, job.attempt) == (JobState.QUEUED, 0, 0)
    assert take(job.pk) is not None and continue_with_more(job).state == JobState.RUNNING


# ── One attempt ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def make(make_job, no_redis):
    def job(kind, *, row=None, **params):
        made = make_job(kind, **params)
        Job.objects.filter(pk=made.pk).update(**(row or {}))
        return made

    return job


def after(job):
    perform(job.pk)
    return reread(job)


def test_a_job_is_done(make):
    job = after(make("count", total=3))
    assert (job.state, job.result, job.done, job.total, job.error) == (JobState.DONE, {"items": 3}, 3, 3, "")
    assert job.started_at and job.finished_at and job.lease_token is None
    perform(job.pk)  # a second push does nothing
    assert results(job.pk) == [(0, 1), (1, 1), (2, 1)]
    job = after(make("once"))  # it finishes in its own transaction
    assert (job.state, job.result, results(job.pk)) == (JobState.DONE, {"once": True}, [(0, 1)])


def test_the_message_of_a_service_error_is_shown_unchanged(make):
    job = after(make("fails", error="service"))
    assert (job.state, job.error) == (JobState.FAILED, "there is no label 'X'; there are: A, B")
    assert undone(job) == ["undone-failed"]


def test_an_error_is_named_without_its_text(make, caplog):
    job = make("fails", error="value")
    with caplog.at_level(logging.INFO):
        caplog.clear()
        after(job)
    assert job.state == JobState.FAILED and "ValueError" in job.error and "Mario" not in job.error
    [line] = [record.getMessage() for record in caplog.records if record.name.startswith("deidreview")]
    assert "ValueError" in line and "handlers.py" in line and "Mario" not in caplog.text


def test_database_errors_are_retried_later_but_not_forever(make):
    job = after(make("fails", error="database"))
    assert (job.state, job.attempt, undone(job)) == (JobState.QUEUED, 1, [])
    assert job.pushed_at is not None, "the relay waits before it pushes the job again"
    for _ in range(MAX_ATTEMPTS):
        after(job)
    assert (job.state, undone(job)) == (JobState.FAILED, ["undone-failed"])


def test_a_handler_can_t_catch_a_lost_lease(make):
    job = after(make("fails", error="swallow"))
    assert results(job.pk) == []
    assert job.state == JobState.RUNNING, "only the worker with the lease may end the job"


def test_a_canceled_job_is_undone_or_says_that_it_could_not(make, caplog):
    job = after(make("count", total=3, row={"cancel_requested": True}))
    assert (job.state, undone(job), job.error, results(job.pk)) == (JobState.CANCELED, ["undone-canceled"], "", [])
    job = after(make("count", total=3, undo_fails=True, row={"cancel_requested": True}))
    assert (job.state, undone(job)) == (JobState.FAILED, [])
    assert "could not be undone" in job.error and "Mario" not in caplog.text


def test_a_late_worker_undoes_nothing(make, monkeypatch):
    """The worker fails after another worker has claimed the job. It must not undo the work of the other one."""
    job = make("fails", error="value")

    def lose(claim):
        Job.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(seconds=1))
        assert take(job.pk)
        raise ValueError

    monkeypatch.setattr("tests.jobs.probes.handlers.fails", lose)
    after(job)
    assert (job.state, job.attempt, undone(job)) == (JobState.RUNNING, 2, [])


def test_after_the_last_attempt_the_job_is_only_undone(make):
    job = after(make("count", total=3, row={"attempt": MAX_ATTEMPTS}))
    assert (job.state, undone(job), results(job.pk)) == (JobState.FAILED, ["undone-failed"], [])
    assert "lost 5 times" in job.error


def test_a_worker_that_must_end_puts_the_job_back(make, monkeypatch):
    monkeypatch.setattr(claims._stop, "requested", True)
    job = after(make("count", total=3))
    assert (job.state, job.attempt, job.pushed_at) == (JobState.QUEUED, 0, None)


def test_an_unknown_kind_fails_with_the_list_of_kinds(make):
    job = after(make("count", row={"kind": "sing"}))
    assert job.state == JobState.FAILED and "“sing”" in job.error and "export" in job.error


def test_every_kind_s_functions_can_be_imported():
    for name in JOBS:
        kind = kind_of(name)
        assert callable(load(kind.handler)) and (not kind.undo or callable(load(kind.undo))), name
        assert kind.queue in Job.Queue.values and len(name) <= 40, name
