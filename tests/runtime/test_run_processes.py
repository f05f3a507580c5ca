"""A run over 250 notes against real crashes: it still ends by itself with 250 results, none doubled."""

import time

import pytest

from annotations.models import AnnotationSet, Document, Span
from models_runtime.models import Job, RunItem
from models_runtime.registry import BACKENDS
from models_runtime.services.runs import start_run
from tests.factories import make_project
from tests.runtime.conftest import LEASE, state_of, wait_for
from tests.runtime.probes.kinds import FAKE

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]
NOTES = 250


@pytest.fixture
def run(processes, monkeypatch):
    """A relay, a worker, and a run that the worker is in the middle of."""
    monkeypatch.setitem(BACKENDS, "fake", FAKE)
    project = make_project()
    Document.objects.bulk_create(
        Document(project=project, name=f"n{n:03}", sha256=f"{n:064}", length=13, text=f"Mario Rossi {n}")
        for n in range(NOTES)
    )
    begun = start_run(project=project, backend="fake", actor=None, key="gate", params={"slow": 0.02})
    begun.relay, begun.worker = processes("relay"), processes("work")
    wait_for(lambda: done(begun) > 0, what="the first results")
    assert done(begun) < NOTES, "the run is in the middle"
    return begun


def done(run):
    return RunItem.objects.filter(run=run, state=RunItem.State.DONE).count()


def ends_whole(run):
    wait_for(lambda: state_of(run.job) == Job.State.DONE, timeout=90, what="the run to end")
    sets = AnnotationSet.objects.filter(author=run.author)
    assert done(run) == sets.count() == sets.values("document").distinct().count() == NOTES
    # Two capitals in each note: a doubled result would show here as well.
    assert Span.objects.filter(annotation_set__author=run.author).count() == 2 * NOTES
    assert set(RunItem.objects.filter(run=run).values_list("attempt", flat=True)) == {1}


def test_the_worker_is_killed_and_redis_emptied(run, processes, redis_server):
    run.worker.kill9()
    redis_server.client().flushall()
    processes("work")
    ends_whole(run)


def test_the_relay_is_killed(run, processes):
    run.relay.kill9()
    ends_whole(run)


def test_worker_and_relay_are_killed_and_come_back(run, processes):
    run.relay.kill9()
    run.worker.kill9()
    processes("work")
    processes("relay")
    ends_whole(run)


def test_redis_restarts(run, redis_server):
    redis_server.restart(away=1.0)
    ends_whole(run)


def test_a_worker_frozen_past_its_lease_is_refused(run, processes):
    run.worker.freeze()
    time.sleep(LEASE + 0.5)
    processes("work")
    wait_for(lambda: Job.objects.get(pk=run.job_id).attempt == 2, what="another worker to take over")
    run.worker.thaw()
    ends_whole(run)
