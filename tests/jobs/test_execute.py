"""One attempt at a job: the state of its row and its messages."""

import logging
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from annotations.jobs.registry import JOBS, kind_of, load
from annotations.jobs.runner import MAX_ATTEMPTS, claims, take
from annotations.jobs.services.worker import perform
from annotations.models import Job, JobState
from tests.jobs.probes.handlers import results

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def make(make_job, no_redis):
    def job(kind, *, row=None, **params):
        made = make_job(kind, **params)
        Job.objects.filter(pk=made.pk).update(**(row or {}))
        return made

    return job


def after(job):
    perform(job.pk)
    job.refresh_from_db()
    return job


def undone(job):
    return list(job.project.stored_files.values_list("name", flat=True))


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
