"""Several workers share one run: who joins, which notes each holds, and that no result is doubled, lost or late."""

import threading
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now

from annotations.jobs.runner import HandBack, LostLease, claims, take, take_share, writing_share
from annotations.jobs.runner import run as work
from annotations.jobs.services.relay import sweep, waiting
from annotations.models import AnnotationSet, Job, JobState, Share
from models_runtime.models import Run, RunItem
from models_runtime.runs import jobs
from models_runtime.runs.services import runs
from tests.runs.conftest import project_of
from tests.waiting import HANGS, wait_for

pytestmark = pytest.mark.django_db(transaction=True)
NOTES = 12


@pytest.fixture
def run(no_redis, fake, settings):
    settings.JOB_JOIN_SECONDS = 0
    project = project_of(NOTES)
    return runs.start_run(project=project, backend="fake", actor=None, key="k", params={"notes": 3})


@pytest.fixture
def at_work(run):
    """The run, its worker, which holds the first three notes, and a helper that has just joined."""
    lead = take(run.job_id)
    Run.objects.update(revision="1")
    pick(lead, run)
    return run, lead, claims.join(run.job_id)


def ids(run):
    return list(RunItem.objects.filter(run=run).order_by("id").values_list("id", flat=True))


def pick(claim, run, count=3):
    return list(take_share(claim, lambda held: _free(run, held)[:count]))


def _free(run, held):
    return [pk for pk in ids(run) if not any(first <= pk <= last for first, last in held)]


def expire(**which):
    Share.objects.filter(**which).update(lease_until=Now() - timedelta(seconds=1))


def job_of(run):
    return Job.objects.get(pk=run.job_id)


def check_complete(run, notes=NOTES):
    job = job_of(run)
    assert (job.state, job.done, job.total) == (JobState.DONE, notes, notes)
    assert AnnotationSet.objects.filter(author=run.author).count() == notes
    assert set(RunItem.objects.filter(run=run).values_list("state", "attempt")) == {("done", 1)}
    assert not Share.objects.exists()


# ── Held notes ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_two_workers_never_have_the_same_note_in_hand(at_work):
    run, lead, helper = at_work
    assert pick(helper, run) == ids(run)[3:6]
    assert pick(lead, run) == ids(run)[:3], "a worker keeps the notes whose results it has not written"
    held = {(share.token, share.last - share.first) for share in Share.objects.all()}
    assert held == {(lead.token, 2), (helper.token, 2)}


def test_what_is_written_counts_at_once_and_the_rate_is_that_of_all(at_work):
    run, lead, helper = at_work
    before = job_of(run).claimed_at
    pick(helper, run)
    assert job_of(run).claimed_at > before, "the rate is measured anew when another worker joins"
    for claim in (helper, lead):
        with writing_share(claim, 3):
            pass
    job = job_of(run)
    assert (job.done, job.claimed_done) == (6, 0)


def test_what_a_dead_worker_had_comes_back_and_its_late_result_is_refused(at_work):
    run, lead, helper = at_work
    pick(helper, run)
    expire(token=helper.token)
    with writing_share(lead, 3):
        RunItem.objects.filter(pk__in=ids(run)[:3]).update(state="done")
    assert pick(lead, run, 6) == ids(run)[:6]
    with pytest.raises(LostLease), writing_share(helper, 3):
        raise AssertionError("nothing may be written without a valid share")
    assert job_of(run).done == 3


def test_a_helper_writes_also_while_the_job_waits_for_another_worker(at_work):
    run, lead, helper = at_work
    pick(helper, run)
    lead.give_back()
    assert Share.objects.get().token == helper.token, "the notes of the other worker are free"
    with writing_share(helper, 3):
        pass
    assert job_of(run).done == 3
    with pytest.raises(HandBack):
        helper.check()


def test_the_relay_frees_what_a_lost_worker_had(at_work):
    run, _, helper = at_work
    pick(helper, run)
    Job.objects.update(lease_until=Now() - timedelta(seconds=1))
    assert sweep().put_back == [run.job_id] and Share.objects.get().token == helper.token


def test_a_worker_that_is_writing_is_not_waited_for(at_work):
    """A worker skips a share whose row is locked, so that workers can't wait for each other in a circle."""
    run, lead, helper = at_work
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer")
    pick(helper, run)
    expire(token=helper.token)
    inside, go_on = threading.Event(), threading.Event()

    def write():
        with writing_share(helper, 3):
            inside.set()
            go_on.wait(HANGS)
        connection.close()

    thread = threading.Thread(target=write)
    thread.start()
    inside.wait(HANGS)
    with writing_share(lead, 3):
        RunItem.objects.filter(pk__in=ids(run)[:3]).update(state="done")
    assert pick(lead, run, 3) == ids(run)[:3], "the helper keeps its notes"
    assert Share.objects.count() == 2
    go_on.set()
    thread.join()
    assert job_of(run).done == 6


# ── Joining and leaving ──────────────────────────────────────────────────────────────────────────────────────────────
def test_when_somebody_joins(run, settings):
    """Not before the worker that has the run began, and not for a rest that is done sooner than joined."""
    assert claims.join(run.job_id) is None
    lead = take(run.job_id)
    assert claims.join(run.job_id) is None
    pick(lead, run)
    assert claims.join(run.job_id) is not None
    settings.JOB_JOIN_SECONDS = 1000
    Job.objects.update(claimed_at=Now() - timedelta(seconds=600), done=6, claimed_done=0)
    assert claims.join(run.job_id) is None, "at one note in 100 seconds, the rest takes only 600 seconds"
    Job.objects.update(done=2)
    assert claims.join(run.job_id) is not None


def test_who_helps_gives_way_to_a_job_that_finds_no_worker(at_work, make_job, monkeypatch):
    run, _, helper = at_work
    monkeypatch.setattr(claims, "UNTAKEN", timedelta(minutes=10))
    monkeypatch.setattr(claims, "_served", ["cpu"])
    other, long_ago = Job.objects.filter(pk=make_job("count").pk), Now() - timedelta(minutes=11)
    for state in ({"pushed_at": Now()}, {"pushed_at": long_ago, "queue": "gpu"}):
        other.update(**state)
        helper.check()
    other.update(queue="cpu")
    with pytest.raises(HandBack):
        helper.check()
    assert claims.join(run.job_id) is None


def test_a_kind_that_is_not_shared_has_one_worker(make_job, no_redis):
    job = make_job("count")
    take(job.pk)
    assert claims.join(job.pk) is None


def test_a_helper_s_own_trouble_is_not_the_run_s(at_work, monkeypatch):
    run, lead, _ = at_work

    def broken(row):
        raise ValueError("Mario Rossi")

    monkeypatch.setattr(jobs, "_backend", broken)
    work(run.job_id)
    job = job_of(run)
    assert (job.state, job.error, job.lease_token) == (JobState.RUNNING, "", lead.token)
    assert claims.join(run.job_id) is None, "no helper joins again at once"
    Job.objects.update(no_help_until=Now() - timedelta(seconds=1))
    assert claims.join(run.job_id) is not None


def test_a_helper_of_another_version_is_sent_away(at_work):
    run, _, _ = at_work
    Run.objects.update(revision="0")
    work(run.job_id)
    assert job_of(run).no_help_until is not None and not AnnotationSet.objects.exists()


# ── Messages of the relay ────────────────────────────────────────────────────────────────────────────────────────────
def idle(client, name, state="idle", queue="cpu"):
    client.sadd(f"rq:workers:{queue}", f"rq:worker:{name}")
    client.hset(f"rq:worker:{name}", mapping={"birth": "now", "state": state})


@pytest.fixture
def bell(at_work, redis_server):
    idle(redis_server.client(), "a"), idle(redis_server.client(), "b"), idle(redis_server.client(), "c", "busy")
    return at_work[0], redis_server.client()


def test_the_relay_rings_for_each_idle_worker_and_not_again_while_that_lies_there(bell):
    run, client = bell
    assert sweep().called == [run.job_id] and (waiting("cpu"), client.llen("rq:queue:cpu")) == ({run.job_id}, 2)
    assert sweep().called == []
    client.delete("rq:queue:cpu")
    assert sweep().called == [run.job_id]


def test_the_relay_does_not_ring_where_nobody_is_idle_or_nothing_is_left(bell):
    _, client = bell
    Job.objects.update(done=F("total"), claimed_done=0)
    assert sweep().called == [], "workers hold all remaining notes"
    Job.objects.update(done=0)
    client.delete("rq:worker:a", "rq:worker:b")
    assert sweep().called == [] and client.llen("rq:queue:cpu") == 0


# ── Whole runs ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_helpers_work_beside_the_worker_that_has_it_which_ends_it_once(run, monkeypatch):
    """Three workers run in three threads. Each waits until all hold notes."""
    all_in, predict, ended = threading.Barrier(3), jobs._predict, []
    waited = threading.local()

    def together(backend, items, claim):
        if not hasattr(waited, "once"):
            waited.once = all_in.wait(HANGS)
        return predict(backend, items, claim)

    finish = claims.Claim.finish

    def finish_once(claim, result):
        ended.append(claim.token)
        finish(claim, result)

    monkeypatch.setattr(jobs, "_predict", together)
    monkeypatch.setattr(claims.Claim, "finish", finish_once)

    def one():
        work(run.job_id)
        connection.close()

    threads = [threading.Thread(target=one) for _ in range(3)]
    for number, thread in enumerate(threads):
        # The third worker ends the waiting of all, so the shares can be counted only before it starts.
        wait_for(lambda number=number: Share.objects.count() == number, what="a share")
        thread.start()
    for thread in threads:
        thread.join(HANGS)
    check_complete(run)
    assert len(ended) == 1 and job_of(run).attempt == 1


def test_who_has_the_run_waits_for_what_a_helper_is_at_and_takes_it_when_that_is_dead(at_work, monkeypatch):
    run, lead, helper = at_work
    assert len(pick(helper, run)) == 3
    looked = []

    def look(seconds):
        looked.append(job_of(run).done)
        expire(token=helper.token)

    monkeypatch.setattr("models_runtime.runs.jobs.time", SimpleNamespace(sleep=look))
    result = jobs.run(lead)
    assert looked == [NOTES - 3], "the helper's notes are the last ones"
    lead.finish(result)
    check_complete(run)


def test_the_spans_left_out_are_counted_over_all_workers(run):
    Run.objects.update(params={"label": "PLANET", "notes": 3}, spans_without_label=4)
    work(run.job_id)
    assert job_of(run).result["spans_without_label"] == 2 * NOTES + 4
