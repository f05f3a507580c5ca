"""A training whose worker is killed resumes by itself and gives the same model, byte for byte."""

from functools import partial

import pytest

from annotations.models import Job
from models_runtime.models import TrainedModel
from models_runtime.training.jobs.checkpoints import checkpoint_of
from models_runtime.training.services.training import start_training
from tests.waiting import wait_for
from tests.worlds.queue import state_of

pytestmark = [pytest.mark.queue, pytest.mark.once, pytest.mark.processes]


# Passes of the perceptron, which runs all of them: long enough to be killed in the middle on any machine.
PASSES = 4000


def trained(world, key):
    return start_training(project=world.project, gold=1, actor=None, key=key, algorithm="ap", iterations=PASSES)


def finished(model, steps=PASSES):
    wait_for(lambda: state_of(model.job) == Job.State.DONE, timeout=240, what="the training to end")
    model.refresh_from_db()
    assert (model.state, len(model.losses)) == (TrainedModel.State.READY, steps)
    return model.card["sha256"]


def test_a_killed_training_of_epochs_continues_and_gives_the_same_model(world, redis_server, processes):
    """It continues from its checkpoint: models_runtime.backends.spacy_ner.checkpoint."""
    processes("relay")
    worker = processes("work")
    start = partial(start_training, project=world.project, gold=1, actor=None, backend="spacy", iterations=6)
    model = start(key="killed")

    def two_epochs():
        model.refresh_from_db()
        return len(model.losses) > 1

    wait_for(two_epochs, timeout=120, what="the first epochs")
    worker.kill9()
    kept = checkpoint_of(model.pk)
    assert kept.is_file()
    processes("work")
    killed = finished(model, steps=6)
    assert Job.objects.get(pk=model.job_id).attempt == 2
    wait_for(lambda: not kept.parent.exists(), what="the checkpoint to go")
    assert finished(start(key="whole"), steps=6) == killed


@pytest.mark.both_databases
def test_a_killed_training_starts_again_and_gives_the_same_model(world, redis_server, processes, monkeypatch):
    monkeypatch.setattr("models_runtime.training.services.training.MOST_ITERATIONS", PASSES)
    processes("relay")
    worker = processes("work")
    model = trained(world, "killed")

    def begun():
        model.refresh_from_db()
        return model.losses

    wait_for(begun, what="the first steps")
    worker.kill9()
    model.refresh_from_db()
    assert (model.state, model.stored_file) == (TrainedModel.State.TRAINING, None)
    processes("work")
    killed = finished(model)
    assert Job.objects.get(pk=model.job_id).attempt == 2
    assert finished(trained(world, "whole")) == killed
