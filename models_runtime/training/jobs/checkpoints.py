"""Checkpoints of trainings, from which a training continues after a kill.

They are stored on this machine only. A worker on another machine starts again, and gets the same model.
"""

import shutil
from functools import partial
from pathlib import Path

from django.conf import settings
from django.db import transaction

from annotations.models import Project
from models_runtime.core.gold_sources import models_elsewhere
from models_runtime.models import TrainedModel, TrainedModelState

FILE = "checkpoint"


def checkpoint_of(model_id: int) -> Path:
    """Return the checkpoint of a model in training, and make its folder, which only its owner can read.

    The folder is private because weights may contain text of notes.
    """
    folder = _home() / str(model_id)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Path(folder / FILE)


def forget(model_id: int) -> None:
    """Delete the checkpoint of a model. Safe to repeat."""
    shutil.rmtree(_home() / str(model_id), ignore_errors=True)


def forget_after_erasure(*, project: Project, **_erased: object) -> None:
    """Delete all checkpoints of models that learn from a project, once an erasure in it is committed.

    They may contain text of the patient's notes. Trainings under way end by themselves.
    """

    def forget_all() -> None:
        for model_id in _learning_from(project):
            forget(model_id)

    transaction.on_commit(forget_all)


def forget_with_project(project: Project) -> None:
    """Delete all checkpoints of models that learn from a project that is being deleted, once its rows are gone."""
    for model_id in _learning_from(project):
        transaction.on_commit(partial(forget, model_id))


def _learning_from(project: Project) -> list[int]:
    """List the ids of the project's models, and of the models of other projects that learned from its gold."""
    own = TrainedModel.objects.filter(project=project).values_list("pk", flat=True)
    return [*own, *(model.pk for model in models_elsewhere(project))]


def forget_stale() -> None:
    """Delete the checkpoints of models that are no longer in training: finished elsewhere, canceled or deleted."""
    home = _home()
    if not home.is_dir():
        return
    live = set(TrainedModel.objects.filter(state=TrainedModelState.TRAINING).values_list("pk", flat=True))
    for folder in home.iterdir():
        if not folder.name.isdecimal() or int(folder.name) not in live:
            shutil.rmtree(folder, ignore_errors=True)


def _home() -> Path:
    return Path(settings.DATA_DIR / "training")
