"""A training whose worker is killed in the middle begins again by itself, and gives the same model byte for byte."""

import pytest

from models_runtime.models import Job, TrainedModel
from models_runtime.services.training import start_training
from tests.runtime.conftest import state_of, wait_for

pytestmark = pytest.mark.processes


def trained(world, key):
    # The perceptron makes all the passes that it is told to: long enough to be killed in the middle.
    return start_training(project=world.project, gold=1, actor=None, key=key, algorithm="ap", iterations=1000)


def finished(model, steps=1000):
    wait_for(lambda: state_of(model.job) == Job.State.DONE, timeout=90, what="the training to end")
    model.refresh_from_db()
    assert (model.state, len(model.losses)) == (TrainedModel.State.READY, steps)
    return model.card["sha256"]


def test_a_killed_training_begins_again_and_gives_the_same_model(world, redis_server, processes):
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
