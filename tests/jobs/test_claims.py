"""The claim on a job: its lease, fence, progress and last state, on both databases."""

from types import SimpleNamespace

import pytest
from django.db import OperationalError, transaction
from django.utils import timezone

from annotations.core.services import Canceled
from annotations.jobs.runner import HandBack, LostLease, claims, take
from annotations.jobs.runner.execute import heartbeat
from annotations.models import JobState
from tests.factories import reread
from tests.waiting import crowding, wait_for
from tests.worlds.queue import change, end_lease


@pytest.fixture
def job(make_job, no_redis):
    return make_job("count", total=3)


def test_a_claim_takes_the_job_for_one_lease(job, settings):
    settings.JOB_LEASE_SECONDS = 40
    claim = take(job.pk)
    assert (reread(job).state, job.attempt, job.lease_token) == (JobState.RUNNING, 1, claim.token)
    assert 38 < (job.lease_until - job.claimed_at).total_seconds() < 42
    assert (claim.params, claim.project_id, claim.attempt) == (job.params, job.project_id, 1)
    end_lease(job)
    assert claim.beat() and take(job.pk) is None, "a lease that ran out is extended if nobody claimed the job"
    claim.give_back()  # which does not count as an attempt
    assert (reread(job).state, job.attempt, job.lease_token, job.finished_at) == (JobState.QUEUED, 0, None, None)


@pytest.mark.both_databases
def test_only_a_waiting_job_is_claimed(job):
    for state in ("done", "failed", "canceled", "paused"):
        change(job, state=state)
        assert take(job.pk) is None
    change(job, state="queued")
    assert take(job.pk) is not None and take(job.pk) is None and take(987654) is None


@pytest.mark.both_databases
def test_a_job_with_an_expired_lease_can_be_claimed(job):
    first = take(job.pk)
    end_lease(job)
    second = take(job.pk)
    assert second.attempt == 2
    with pytest.raises(LostLease):
        first.progress(1, 3)
    with pytest.raises(LostLease):
        first.finish({"late": True})
    second.finish({"in time": True})
    assert (reread(job).state, job.result) == (JobState.DONE, {"in time": True})


@pytest.mark.django_db(transaction=True)
def test_exactly_one_of_many_workers_claims_a_job(make_job, no_redis, at_once):
    for _ in range(5):
        job = make_job("count")
        won = [claim.token for claim in at_once(*[lambda job=job: take(job.pk)] * 4) if claim]
        job.refresh_from_db()
        assert (won, job.attempt) == ([job.lease_token], 1)
    end_lease(job)
    assert at_once(*[lambda: take(job.pk)] * 2).count(None) == 1


@pytest.mark.django_db(transaction=True)
def test_progress_is_written_at_most_twice_a_second(job, django_assert_num_queries, monkeypatch):
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(claims, "time", clock)
    claim = take(job.pk)
    claim.progress(0, 100)
    with django_assert_num_queries(0):
        for done in range(1, 50):
            clock.now = done / 100
            claim.progress(done, 100)
    clock.now = 0.5
    claim.progress(50, 100)
    assert (reread(job).done, job.total) == (50, 100)
    claim.finish({})
    assert (reread(job).done, job.total) == (50, 100)


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_data_and_fence_commit_together_or_not_at_all(job):
    late = take(job.pk)
    with pytest.raises(RuntimeError, match="inside the transaction"):
        late.fence()
    end_lease(job)
    take(job.pk)
    with pytest.raises(LostLease), transaction.atomic():
        job.project.stored_files.create(kind="export", name="late", expires_at="2030-01-01T00:00Z")
        late.fence()
    assert not job.project.stored_files.exists()


@pytest.mark.django_db(transaction=True)
def test_progress_inside_a_transaction_always_writes(job):
    claim = take(job.pk)
    claim.progress(0, 3)
    with transaction.atomic():
        claim.progress(1, 3)
    assert reread(job).done == 1


def test_progress_raises_after_a_request_to_end_or_pause_except_at_the_end(job, monkeypatch):
    claim = take(job.pk)
    change(job, pause_requested=True)
    claim.progress(3, 3)
    with pytest.raises(HandBack) as order:
        claim.progress(1, 3)
    assert order.value.paused
    change(job, pause_requested=False)
    monkeypatch.setattr(claims._stop, "requested", True)
    claim.progress(3, 3)
    with pytest.raises(HandBack):
        claim.progress(2, 3)
    monkeypatch.undo()
    change(job, cancel_requested=True)
    with pytest.raises(Canceled):
        claim.progress(1, 3)


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_the_heartbeat_keeps_the_lease(job, settings):
    settings.JOB_LEASE_SECONDS = 2 * crowding()
    claim = take(job.pk)
    job.refresh_from_db()
    with heartbeat(claim):
        wait_for(lambda: timezone.now() > job.lease_until, what="the first lease to run out")
        assert take(job.pk) is None
    assert not claim.lost


@pytest.mark.django_db(transaction=True)
def test_the_heartbeat_notices_a_lost_lease(job):
    claim = take(job.pk)
    end_lease(job)
    take(job.pk)
    with heartbeat(claim, every=0.05):
        wait_for(lambda: claim.lost, what="the heartbeat")
    with pytest.raises(LostLease):
        claim.progress(0, 3)


@pytest.mark.django_db(transaction=True)
def test_the_heartbeat_survives_an_outage_of_the_database(job, monkeypatch):
    claim, beats = take(job.pk), []

    def beat():
        beats.append(1)
        if len(beats) == 1:
            raise OperationalError("gone")
        return True

    monkeypatch.setattr(claim, "beat", beat)
    with heartbeat(claim, every=0.05):
        wait_for(lambda: len(beats) > 2, what="more heartbeats")
