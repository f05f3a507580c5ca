"""The plain fields of a training's task, the texts without labels that it reads, and the model that it wrote."""

import shutil
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext

from annotations.core.services import ServiceError
from annotations.jobs.registry import load
from annotations.models import GoldVersion, Project
from models_runtime.backends.base import Backend
from models_runtime.core import external
from models_runtime.core.gold_sources import Note, all_other_notes, language_of, models_elsewhere, other_notes
from models_runtime.core.model_files import cached
from models_runtime.core.registry import trainable_kind
from models_runtime.models import TrainedModel, TrainedModelState
from models_runtime.training.jobs.watching import Watch

# Checkpoints of trainings, from which a training continues after a kill.
#
# They are stored on this machine only. A worker on another machine starts again, and gets the same model.


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


def options_of(row: TrainedModel, version: GoldVersion) -> dict[str, Any]:
    """The plain fields of the TrainingTask."""
    kind = trainable_kind(row.backend)
    return {
        "label_set": row.project.label_set.key,
        "algorithm": row.params["algorithm"],
        "iterations": row.params.get("iterations"),
        "language": row.params.get("language") or language_of(version),
        "base": str(base) if (base := _base(row)) else "",
        "adapt": row.params.get("adapt", 0),
        "grouping": row.params.get("grouping", 0),
        "settings": row.params.get("settings", {}),
        "embeddings": _embeddings(row),
        "embeddings_folder": str(external.embeddings_home()) if kind.stacked else "",
        "checkpoint": str(checkpoint_of(row.pk)) if kind.by_epoch else None,
    }


def unlabeled_texts(row: TrainedModel, version: GoldVersion, newest: int, watch: Watch | None) -> Iterator[str]:
    """The notes without labels that the training reads. `watch` counts those that a language is learned from."""
    kind = trainable_kind(row.backend)
    if kind.predicts and not (kind.reads_all and row.params.get("adapt")):
        return other_notes(version, newest)
    texts = all_other_notes(version, newest, row.params.get("language", ""), streamed=kind.reads_all)
    return watch.counted(texts) if watch is not None else texts


def without_spans(notes: Iterable[Note]) -> Iterator[Note]:
    return ((text, []) for text, _ in notes)


def _base(row: TrainedModel) -> Path | None:
    """Return the starting weights on this machine. Raises ServiceError `base` if they no longer exist."""
    if pk := row.params.get("base_model"):
        model = TrainedModel.objects.select_related("stored_file").filter(project=row.project_id, pk=pk).first()
        if model is None:
            raise ServiceError(
                gettext("The starting model “%(name)s” no longer exists. Start a new training from another model.")
                % {"name": row.params["base"]},
                code="base",
            )
        return cached(model)
    if name := row.params.get("base"):
        found = external.weights_named(name)
        if found is None:
            message = gettext("This worker has no weights “%(name)s”. Copy them to %(folder)s.")
            raise ServiceError(message % {"name": name, "folder": external.weights_home() / name}, code="base")
        return found.path
    return None


def _embeddings(row: TrainedModel) -> list[tuple[str, str, str]]:
    """Return kind, name and path of each embedding on this machine. Raises ServiceError `embeddings`."""
    found = []
    for wanted in row.params.get("embeddings", []):
        if "model" in wanted:
            model = TrainedModel.objects.select_related("stored_file").filter(
                project=row.project_id, pk=wanted["model"]
            )
            if not (language := model.first()):
                message = gettext("The language model “%(name)s” no longer exists. Start a new training without it.")
                raise ServiceError(message % {"name": wanted["name"]}, code="embeddings")
            found.append(("characters", wanted["name"], str(cached(language))))
        elif path := external.path_of(wanted["name"]):
            found.append(("words", wanted["name"], str(path)))
        else:
            raise ServiceError(
                gettext("This worker has no word vectors “%(name)s”. Copy the file to %(folder)s.")
                % {"name": wanted["name"], "folder": external.embeddings_home()},
                code="embeddings",
            )
    return found


def loaded(row: TrainedModel, path: Path) -> Backend | None:
    """Load the model; None for a language model, which suggests no spans."""
    kind = trainable_kind(row.backend)
    return load(kind.factory)(**external.factory_params(kind, path)) if kind.predicts else None
