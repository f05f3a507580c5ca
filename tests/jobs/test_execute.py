"""One attempt at a job: the state of its row and its messages."""

import logging
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from annotations.jobs.performing import perform
from annotations.jobs.registry import JOBS, kind_of, load
from annotations.jobs.runner import MAX_ATTEMPTS, stopping, take
from annotations.models import Job
from tests.jobs.probes.handlers import results

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def make(make_job, no_redis):
    return make_job


def after(job):
    perform(job.pk)
    job.refresh_from_db()
    return job


def undone(job):
    return list(job.project.stored_files.values_list("name", flat=True))


def test_a_job_is_done(make):
    job = after(make("count", total=3))
    assert (job.state, job.result, job.done, job.total, job.error) == (Job.State.DONE, {"items": 3}, 3, 3, "")
    assert job.started_at and job.finished_at and job.lease_token is None
    assert results(job.pk) == [(0, 1), (1, 1), (2, 1)]


def test_a_second_push_does_nothing(make):
    job = make("count", total=3)
    perform(job.pk), perform(job.pk)
    assert len(results(job.pk)) == 3


def test_a_handler_may_finish_in_its_own_transaction(make):
    job = after(make("once"))
    assert (job.state, job.result, results(job.pk)) == (Job.State.DONE, {"once": True}, [(0, 1)])


def test_the_message_of_a_service_error_is_shown_unchanged(make):
    job = after(make("fails", error="service"))
    assert (job.state, job.error) == (Job.State.FAILED, "there is no label 'X'; there are: A, B")
    assert undone(job) == ["undone-failed"]


def test_an_error_is_named_without_its_text(make, caplog):
    job = make("fails", error="value")
    with caplog.at_level(logging.INFO):
        caplog.clear()
        after(job)
    assert job.state == Job.State.FAILED
    assert "ValueError" in job.error and "Mario" not in job.error
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("deidreview")]
    assert len(lines) == 1
    assert "ValueError" in lines[0] and "handlers.py" in lines[0] and "Mario" not in caplog.text


def test_a_database_error_is_retried_later(make):
    job = after(make("fails", error="database"))
    assert (job.state, job.attempt) == (Job.State.QUEUED, 1)
    assert job.pushed_at is not None, "the relay waits before it pushes the job again"
    assert undone(job) == []


def test_database_errors_are_not_retried_forever(make):
    job = make("fails", error="database")
    for _ in range(MAX_ATTEMPTS + 1):
        perform(job.pk)
    job.refresh_from_db()
    assert (job.state, undone(job)) == (Job.State.FAILED, ["undone-failed"])


def test_a_handler_can_t_catch_a_lost_lease(make):
    job = after(make("fails", error="swallow"))
    assert results(job.pk) == []
    assert job.state == Job.State.RUNNING, "only the worker with the lease may end the job"


def test_a_canceled_job_is_undone(make):
    job = make("count", total=3)
    Job.objects.filter(pk=job.pk).update(cancel_requested=True)
    after(job)
    assert (job.state, undone(job), job.error) == (Job.State.CANCELED, ["undone-canceled"], "")
    assert results(job.pk) == []


def test_a_failed_undo_is_reported(make, caplog):
    job = make("count", total=3, undo_fails=True)
    Job.objects.filter(pk=job.pk).update(cancel_requested=True)
    after(job)
    assert (job.state, undone(job)) == (Job.State.FAILED, [])
    assert "could not be undone" in job.error
    assert "Mario" not in caplog.text


def test_a_late_worker_undoes_nothing(make, monkeypatch):
    """The worker fails after another worker has claimed the job. It must not undo the work of the other one."""
    job = make("fails", error="value")

    def lose(claim):
        Job.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(seconds=1))
        assert take(job.pk)
        raise ValueError

    monkeypatch.setattr("tests.jobs.probes.handlers.fails", lose)
    after(job)
    assert (job.state, job.attempt, undone(job)) == (Job.State.RUNNING, 2, [])


def test_after_the_last_attempt_the_job_is_only_undone(make):
    job = make("count", total=3)
    Job.objects.filter(pk=job.pk).update(attempt=MAX_ATTEMPTS)
    after(job)
    assert (job.state, undone(job), results(job.pk)) == (Job.State.FAILED, ["undone-failed"], [])
    assert "lost 5 times" in job.error


def test_a_worker_that_must_end_puts_the_job_back(make, monkeypatch):
    monkeypatch.setattr(stopping._stop, "requested", True)
    job = after(make("count", total=3))
    assert (job.state, job.attempt, job.pushed_at) == (Job.State.QUEUED, 0, None)


def test_an_unknown_kind_fails_with_the_list_of_kinds(make):
    job = make("count")
    Job.objects.filter(pk=job.pk).update(kind="sing")
    after(job)
    assert job.state == Job.State.FAILED
    assert "“sing”" in job.error and "export" in job.error


@pytest.mark.parametrize("name", sorted(JOBS))
def test_every_kind_s_functions_can_be_imported(name):
    kind = kind_of(name)
    assert callable(load(kind.handler))
    assert not kind.undo or callable(load(kind.undo))
    assert kind.queue in Job.Queue.values
    assert len(name) <= 40
