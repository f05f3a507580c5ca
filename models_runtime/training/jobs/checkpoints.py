"""Where trainings leave how far they are, for an attempt that goes on after a kill. On this machine only: a worker
elsewhere begins again, and comes to the same model."""

import shutil
from pathlib import Path

from django.conf import settings

from annotations.models import Project
from models_runtime.models import TrainedModel

FILE = "checkpoint"


def checkpoint_of(model_id: int) -> Path:
    """The file of a model in training; its folder is made, for nobody else to read: weights may know notes by heart."""
    folder = _home() / str(model_id)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Path(folder / FILE)


def forget(model_id: int) -> None:
    """Repeating is harmless."""
    shutil.rmtree(_home() / str(model_id), ignore_errors=True)


def forget_all(project: Project) -> None:
    """Those of a project's trainings: a patient was erased, whose notes they may know. What learns ends by itself."""
    for model_id in TrainedModel.objects.filter(project=project).values_list("pk", flat=True):
        forget(model_id)


def forget_stale() -> None:
    """Those of models that are not in training any more: ended elsewhere, cancelled, or erased with their project."""
    home = _home()
    if not home.is_dir():
        return
    live = set(TrainedModel.objects.filter(state=TrainedModel.State.TRAINING).values_list("pk", flat=True))
    for folder in home.iterdir():
        if not folder.name.isdecimal() or int(folder.name) not in live:
            shutil.rmtree(folder, ignore_errors=True)


def _home() -> Path:
    return Path(settings.DATA_DIR / "training")
