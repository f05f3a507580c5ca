"""Runs in real workers: one over 250 notes survives crashes, and ends by itself with 250 results, none twice."""

from pathlib import Path

import pytest
from django.conf import settings

from annotations.jobs.services.queue import pause, resume
from annotations.jobs.services.relay import idle_workers
from annotations.models import AnnotationSet, Job, JobState, Share, Span
from models_runtime.core.registry import BACKENDS
from models_runtime.models import Run, RunItem, RunItemState
from models_runtime.runs.services.external import start_external
from models_runtime.runs.services.runs import start_run
from tests.backends.made import made_notes
from tests.backends.made_weights import tiny_bert
from tests.factories import make_note, make_project, reread
from tests.jobs.probes.kinds import FAKE
from tests.runs.conftest import project_of
from tests.waiting import wait_for
from tests.worlds.queue import end_lease, state_of, wait_for_state

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]
NOTES = 250
# Until a test has acted, no worker gets further than to this note.
HALF = NOTES // 2


@pytest.fixture
def start(monkeypatch, gate):
    """`start(slow=0.1)`: start a run. The keywords are parameters of the backend."""
    gate.let(HALF)
    monkeypatch.setitem(BACKENDS, "fake", FAKE)

    def start(**params):
        params["gate"] = str(gate.file)
        return start_run(project=project_of(NOTES), backend="fake", actor=None, key="gate", params=params)

    return start


def in_the_middle(run):
    wait_for(lambda: done(run) > 0, what="the first results")
    assert done(run) <= HALF, "the run is in the middle"


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
    wait_for(lambda: Share.objects.count() == 4, what="three helpers", progress=lambda: progress(run))
    return run


def took_over(run):
    return Job.objects.get(pk=run.job_id).attempt >= 2


def progress(run):
    return done(run), Share.objects.count(), Job.objects.values_list("state", "attempt").get(pk=run.job_id)


def done(run):
    return RunItem.objects.filter(run=run, state=RunItemState.DONE).count()


def check_complete(run, gate):
    gate.open()
    wait_for(lambda: state_of(run.job) == JobState.DONE, what="the run to end", progress=lambda: progress(run))
    sets = AnnotationSet.objects.filter(author=run.author)
    assert done(run) == sets.count() == sets.values("document").distinct().count() == NOTES
    # Each note has two capital letters, so duplicate results would also change the number of spans.
    assert Span.objects.filter(annotation_set__author=run.author).count() == 2 * NOTES
    assert set(RunItem.objects.filter(run=run).values_list("attempt", flat=True)) == {1}


def test_the_worker_is_killed_and_redis_emptied(run, processes, redis_server, gate):
    run.worker.kill9()
    redis_server.client().flushall()
    processes("work")
    check_complete(run, gate)


@pytest.mark.nightly
def test_worker_and_relay_are_killed_and_come_back(run, processes, gate):
    run.relay.kill9()
    run.worker.kill9()
    processes("work")
    processes("relay")
    check_complete(run, gate)


@pytest.mark.nightly
def test_a_worker_frozen_past_its_lease_is_refused(run, processes, gate):
    run.worker.freeze()
    end_lease(run.job)
    processes("work")
    wait_for(lambda: took_over(run), what="another worker to take over")
    run.worker.thaw()
    check_complete(run, gate)


# ── Four workers at one run ──────────────────────────────────────────────────────────────────────────────────────────
def test_a_helper_is_killed_another_frozen_and_redis_emptied(shared, redis_server, gate):
    killed, frozen, _ = shared.helpers
    killed.kill9()
    redis_server.client().flushall()
    frozen.freeze()
    gate.open()  # The other workers look for free notes between two shares.
    wait_for(lambda: Share.objects.count() <= 2, what="their notes to be free again", progress=lambda: progress(shared))
    frozen.thaw()
    check_complete(shared, gate)


def test_the_worker_that_has_the_run_is_killed_and_its_helpers_are_paused(shared, redis_server, gate):
    shared.worker.kill9()
    redis_server.client().flushall()
    # The others leave their shares when the run waits for a worker again, and one of them takes the run.
    wait_for(lambda: took_over(shared) or state_of(shared.job) == JobState.QUEUED, what="the lease to run out")
    gate.let(NOTES - 50)
    wait_for(lambda: took_over(shared), what="one of the others to take the run", progress=lambda: progress(shared))
    pause(shared.job)
    gate.open()
    wait_for_state(shared.job, JobState.PAUSED, "the run to stop")
    wait_for(lambda: not Share.objects.exists(), what="all to stop", progress=lambda: progress(shared))
    so_far = done(shared)
    assert so_far < NOTES
    assert reread(shared.job).done == so_far, "the count is right although three workers wrote"
    resume(shared.job)
    check_complete(shared, gate)


# ── The libraries of a model ─────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.nightly
def test_the_process_that_computed_is_gone_and_its_parent_never_loaded_torch(processes):
    """A waiting worker holds no GPU: CUDA does not survive a fork, so only the forked process may initialize it."""
    pytest.importorskip("torch")
    project, texts = make_project(), [text for text, _ in made_notes(3)]
    for text in texts:
        make_note(project, text)
    tiny_bert(settings.DATA_DIR / "weights" / "for-a-worker", texts, ["O", "B-PER", "I-PER"])
    worker = processes("work")
    run = start_external(
        project=project, backend="token-classification", model="for-a-worker", labels={"PER": "PATIENT"}, actor=None,
        key="k",
    )  # fmt: skip
    wait_for_state(run.job, JobState.DONE, "the run to end", timeout=90)
    assert Run.objects.get().params["memory"] > 0
    wait_for(lambda: len(worker.tree) == 1, what="the work process to end")
    libraries = Path(f"/proc/{worker.pid}/maps").read_text()
    assert "libtorch" not in libraries and "python" in libraries
