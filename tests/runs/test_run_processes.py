"""A run over 250 notes survives real crashes: it ends by itself with 250 results and without duplicates."""

import time

import pytest

from annotations.jobs.services.doorbell import idle_workers
from annotations.jobs.services.queue import pause, resume
from annotations.models import AnnotationSet, Document, Job, Share, Span
from models_runtime.core.registry import BACKENDS
from models_runtime.models import RunItem
from models_runtime.runs.services.runs import start_run
from tests.factories import make_project
from tests.jobs.probes.kinds import FAKE
from tests.waiting import wait_for
from tests.worlds.queue import LEASE, state_of

pytestmark = [pytest.mark.queue, pytest.mark.processes, pytest.mark.django_db(transaction=True)]
NOTES = 250


@pytest.fixture
def start(monkeypatch):
    """`start(slow=0.1)`: start a run. The keywords are parameters of the backend."""
    monkeypatch.setitem(BACKENDS, "fake", FAKE)

    def start(**params):
        project = make_project()
        Document.objects.bulk_create(
            Document(project=project, name=f"n{n:03}", sha256=f"{n:064}", length=13, text=f"Mario Rossi {n}")
            for n in range(NOTES)
        )
        return start_run(project=project, backend="fake", actor=None, key="gate", params=params)

    return start


def in_the_middle(run):
    wait_for(lambda: done(run) > 0, what="the first results")
    assert done(run) < NOTES, "the run is in the middle"


@pytest.fixture
def run(start, processes):
    """A relay, a worker, and a run in progress."""
    run = start(slow=0.02)
    run.relay, run.worker = processes("relay"), processes("work")
    in_the_middle(run)
    return run


@pytest.fixture
def shared(start, processes):
    """A relay, and a run shared by four workers: `worker` claimed it, and the `helpers` joined later."""
    workers = [processes("work") for _ in range(4)]
    wait_for(lambda: idle_workers("cpu") == 4, what="four workers")
    run = start(slow=0.1, notes=4)
    in_the_middle(run)
    (run.worker,) = (worker for worker in workers if len(worker.tree) > 1)
    run.helpers = [worker for worker in workers if worker is not run.worker]
    processes("relay")
    wait_for(lambda: Share.objects.count() == 4, what="three helpers")
    return run


def done(run):
    return RunItem.objects.filter(run=run, state=RunItem.State.DONE).count()


def check_complete(run):
    wait_for(lambda: state_of(run.job) == Job.State.DONE, timeout=90, what="the run to end")
    sets = AnnotationSet.objects.filter(author=run.author)
    assert done(run) == sets.count() == sets.values("document").distinct().count() == NOTES
    # Each note has two capital letters, so duplicate results would also change the number of spans.
    assert Span.objects.filter(annotation_set__author=run.author).count() == 2 * NOTES
    assert set(RunItem.objects.filter(run=run).values_list("attempt", flat=True)) == {1}


def test_the_worker_is_killed_and_redis_emptied(run, processes, redis_server):
    run.worker.kill9()
    redis_server.client().flushall()
    processes("work")
    check_complete(run)


def test_the_relay_is_killed(run, processes):
    run.relay.kill9()
    check_complete(run)


def test_worker_and_relay_are_killed_and_come_back(run, processes):
    run.relay.kill9()
    run.worker.kill9()
    processes("work")
    processes("relay")
    check_complete(run)


def test_redis_restarts(run, redis_server):
    redis_server.restart(away=1.0)
    check_complete(run)


def test_a_worker_frozen_past_its_lease_is_refused(run, processes):
    run.worker.freeze()
    time.sleep(LEASE + 0.5)
    processes("work")
    wait_for(lambda: Job.objects.get(pk=run.job_id).attempt == 2, what="another worker to take over")
    run.worker.thaw()
    check_complete(run)


# ── Four workers at one run ──────────────────────────────────────────────────────────────────────────────────────────
def test_a_helper_is_killed_another_frozen_and_redis_emptied(shared, redis_server):
    killed, frozen, _ = shared.helpers
    killed.kill9()
    redis_server.client().flushall()
    frozen.freeze()
    wait_for(lambda: Share.objects.count() <= 2, what="their notes to be free again")
    frozen.thaw()
    check_complete(shared)


def test_the_worker_that_has_the_run_is_killed_and_its_helpers_are_paused(shared, redis_server):
    shared.worker.kill9()
    redis_server.client().flushall()
    wait_for(lambda: Job.objects.get(pk=shared.job_id).attempt >= 2, what="one of the others to take the run")
    pause(shared.job)
    wait_for(lambda: state_of(shared.job) == Job.State.PAUSED and not Share.objects.exists(), what="all to stop")
    so_far = done(shared)
    assert so_far < NOTES
    shared.job.refresh_from_db()
    assert shared.job.done == so_far, "the count is right although three workers wrote"
    resume(shared.job)
    check_complete(shared)
