"""A training whose worker is killed resumes by itself and gives the same model, byte for byte."""

from functools import partial

import pytest

from annotations.jobs.runner import run as work
from annotations.models import Job
from models_runtime.models import TrainedModel
from models_runtime.training.jobs.checkpoints import checkpoint_of
from models_runtime.training.services.training import start_training
from tests.waiting import wait_for

pytestmark = [pytest.mark.queue, pytest.mark.processes]


# Passes of the perceptron, which runs all of them: long enough to be killed in the middle on any machine.
PASSES = 4000
# Seconds without any report.
QUIET = 120


def trained(world, key):
    return start_training(project=world.project, gold=1, actor=None, key=key, algorithm="ap", iterations=PASSES)


def progress_of(model):
    """Return a function for `wait_for`. Loading libraries and scoring the model take long and report nothing."""

    def progress():
        model.refresh_from_db()
        model.job.refresh_from_db()
        return model.state, len(model.losses), model.job.state, model.job.attempt, model.job.done

    return progress


def finished(model, steps=PASSES):
    wait_for(lambda: model.job.state == Job.State.DONE, QUIET, "the training to end", progress_of(model))
    model.refresh_from_db()
    assert (model.state, len(model.losses)) == (TrainedModel.State.READY, steps)
    return model.card["sha256"]


def test_a_killed_training_of_epochs_continues_and_gives_the_same_model(world, redis_server, processes):
    """It continues from its checkpoint: models_runtime.backends.spacy_ner.checkpoint."""
    start = partial(start_training, project=world.project, gold=1, actor=None, backend="spacy", iterations=3)
    whole = start(key="whole")
    work(whole.job_id)
    processes("relay")
    worker = processes("work")
    model = start(key="killed")

    wait_for(lambda: len(model.losses) > 1, QUIET, "the first epochs", progress_of(model))
    worker.kill9()
    kept = checkpoint_of(model.pk)
    assert kept.is_file()
    processes("work")
    killed = finished(model, steps=3)
    assert Job.objects.get(pk=model.job_id).attempt == 2
    wait_for(lambda: not kept.parent.exists(), what="the checkpoint to go")
    assert finished(whole, steps=3) == killed


@pytest.mark.nightly
def test_a_killed_training_starts_again_and_gives_the_same_model(world, redis_server, processes, monkeypatch):
    monkeypatch.setattr("models_runtime.training.services.training.MOST_ITERATIONS", PASSES)
    processes("relay")
    worker = processes("work")
    model = trained(world, "killed")

    wait_for(lambda: model.losses, QUIET, "the first steps", progress_of(model))
    worker.kill9()
    model.refresh_from_db()
    assert (model.state, model.stored_file) == (TrainedModel.State.TRAINING, None)
    processes("work")
    killed = finished(model)
    assert Job.objects.get(pk=model.job_id).attempt == 2
    assert finished(trained(world, "whole")) == killed
