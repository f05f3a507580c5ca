"""Upload, download, rename and retire trained models, and check whether they can run."""

import io
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from django.conf import settings
from django.db import transaction
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.access import Access
from annotations.core.services import FILE_DOWNLOADED, ServiceError
from annotations.core.stored_files import CHUNK
from annotations.exchange.services.sources import megabytes
from annotations.jobs.services.queue import locked
from annotations.models import Project, StoredFile, User
from models_runtime.backends import children
from models_runtime.backends.base import BackendError
from models_runtime.backends.learner import Outline
from models_runtime.core.model_files import free_name, good_model_name, missing_labels, name_in_use, store_model
from models_runtime.core.registry import TRAINABLE, language_models
from models_runtime.models import OF_MODEL, TrainedModel, TrainedModelState
from models_runtime.models.cards import ModelCard, TrainingParams
from models_runtime.training.events import CALIBRATIONS_UPLOADED, MODEL_RENAMED, MODEL_RETIRED, MODEL_UPLOADED
from models_runtime.training.rules.carried import CarriedCalibration
from models_runtime.training.services.calibration import apart, content_of, keep_carried

State = TrainedModelState
ZIP = b"PK\x03\x04"


@dataclass(frozen=True)
class ModelRow:
    """A model in the list. `trouble` says why the model can't be run; empty if it can.

    `predicts` is False for a language model, which is never run.
    """

    model: TrainedModel
    trouble: str
    runs: int
    predicts: bool


def model_rows(models: Iterable[TrainedModel]) -> list[ModelRow]:
    unable = language_models()
    return [ModelRow(model, trouble_of(model), model.runs.count(), model.backend not in unable) for model in models]


def model_of(access: Access, pk: int) -> TrainedModel:
    """A model of the project. Raises Http404."""
    rows = TrainedModel.objects.select_related(
        "project", "gold_version", "stored_file", "job__created_by", "created_by"
    )
    return get_object_or_404(rows, project=access.project, pk=pk)


def trouble_of(model: TrainedModel) -> str:
    """Say why a ready model can't be run. Empty if it can, and for a model that isn't ready."""
    if model.state != State.READY:
        return ""
    if model.stored_file_id is None:
        return _("The weights of this model no longer exist. Train or upload the model again.")
    if missing := missing_labels(model, model.card.get("labels", [])):
        return _("This model has labels that the project doesn't have: %(labels)s.") % {"labels": missing}
    return ""


class UploadedModel(NamedTuple):
    """`new`: the project had no such model. `calibrations`: how many came with the file and were stored."""

    model: TrainedModel
    new: bool
    calibrations: int


def upload_model(*, project: Project, content: IO[bytes], actor: User | None, name: str = "") -> UploadedModel:
    """Upload a model file that deidreview wrote, with its calibrations.

    If a ready model has the same file, it gets the calibrations of revisions for which it had none.

    The file is first opened in a separate process, so that a file that crashes the process is refused. Raises
    ServiceError `name`, `exists`, `size` or `format`.
    """
    name = good_model_name(name) if name.strip() else ""
    size = content.seek(0, io.SEEK_END)
    content.seek(0)
    if size > settings.UPLOAD_MAX_BYTES:
        limit = megabytes(settings.UPLOAD_MAX_BYTES)
        message = _("The file is too large (%(size)s). The limit is %(limit)s.")
        raise ServiceError(message % {"size": megabytes(size), "limit": limit}, code="size")
    if content.read(len(ZIP)) != ZIP:
        message = _(
            "This is not a model file of deidreview. Choose a zip file with a card, a lexicon and weights. "
            "Pickles and other formats are never opened."
        )
        raise ServiceError(message, code="format")
    with apart(content) as (file, carried):
        try:
            with children.on_disk(iter(lambda: file.read(CHUNK), b"")) as path:
                card = children.check({kind.format: kind.learner for kind in TRAINABLE.values()}, path)
        except BackendError as error:
            raise ServiceError(str(error), code="format") from error
        file.seek(0)
        backend = next(key for key, kind in TRAINABLE.items() if kind.format == card["format"])
        return _store(project, backend, name, card, file, carried, actor)


def _store(
    project: Project, backend: str, name: str, card: Outline, content: IO[bytes], carried: list[CarriedCalibration],
    actor: User | None,
) -> UploadedModel:  # fmt: skip
    with locked(project, name_in_use(name)):
        name = name or free_name(project, backend)
        stored = store_model(project, name, backend, content, actor)
        existing = TrainedModel.objects.filter(
            project=project, state=State.READY, stored_file__sha256=stored.sha256
        ).first()
        if existing is not None:
            stored.delete()
            if kept := keep_carried(existing, carried, actor):
                CALIBRATIONS_UPLOADED.record(
                    actor=actor, project_id=project.pk, data={"model": existing.pk, "calibrations": kept}
                )
            return UploadedModel(existing, new=False, calibrations=kept)
        own = {key: value for key, value in card.items() if key not in ("refit", "rules")}
        own |= {"refit_elsewhere": card["refit"]} if "refit" in card else {}
        own |= {"uploaded": True, "sha256": stored.sha256, "date": timezone.now().isoformat(timespec="seconds")}
        params: TrainingParams = {"settings": {"rules": False}} if card.get("rules") is False else {}
        row = TrainedModel.objects.create(
            project=project,
            name=name,
            backend=backend,
            state=State.READY,
            card=cast(ModelCard, own),
            params=params,
            stored_file=stored,
            created_by=actor,
        )
        kept = keep_carried(row, carried, actor)
        MODEL_UPLOADED.record(
            actor=actor,
            project_id=project.pk,
            data={"model": row.pk, "sha256": stored.sha256, "size": stored.size, "calibrations": kept},
        )
    return UploadedModel(row, new=True, calibrations=kept)


def model_named(project: Project, spec: str) -> TrainedModel:
    """Return the model with this name or `model:ID`: the one in use, else the newest.

    Raises ServiceError, with the choices in its message.
    """
    rows = list(TrainedModel.objects.filter(project=project).select_related("project", "stored_file").order_by("-pk"))
    found = [row for row in rows if spec in (row.name, f"{OF_MODEL}{row.pk}")]
    if not found:
        choices = ", ".join(dict.fromkeys(row.name for row in rows)) or _("none yet")
        message = _("There is no model “%(name)s”. Existing models: %(choices)s.")
        raise ServiceError(message % {"name": spec, "choices": choices}, code="model")
    return next((row for row in found if row.state in TrainedModel.LIVE), found[0])


def names_of_models(*, project: Project) -> dict[str, Mapping[Any, str]]:
    """Names for the audit log, by id and by the backend that stands for the model."""
    names = dict(TrainedModel.objects.filter(project=project).order_by().values_list("pk", "name"))
    return {"model": names, "backend": {f"{OF_MODEL}{pk}": name for pk, name in names.items()}}


def write_model(*, model: TrainedModel, path: Path, actor: User | None) -> TrainedModel:
    """Write a model's file to disk, readable by its owner only, because it contains words of notes.

    Raises ServiceError `file`.
    """
    stored = model.stored_file
    if stored is None:
        message = _("The model “%(name)s” has no file because its state is “%(state)s”.")
        raise ServiceError(message % {"name": model.name, "state": model.state}, code="file")
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        message = _("%(path)s already exists. Nothing was written. Choose a new file name.")
        raise ServiceError(message % {"path": path}, code="file") from None
    except OSError as error:
        message = _("%(path)s can't be written (%(reason)s).")
        raise ServiceError(message % {"path": path, "reason": error.strerror}, code="file") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(content_of(model, stored).chunks)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    FILE_DOWNLOADED.record(
        actor=actor, project_id=model.project_id, data={"file": stored.pk, "size": stored.size, "kind": stored.kind}
    )
    return model


def rename_model(*, model: TrainedModel, name: str, actor: User | None) -> TrainedModel:
    """Rename a model; its runs keep their names. Raises ServiceError `name` or `exists`."""
    name = good_model_name(name)
    if name == model.name:
        return model
    with locked(model.project, name_in_use(name)):
        row = TrainedModel.objects.select_for_update().get(pk=model.pk)
        row.name = name
        row.save(update_fields=["name"])
        MODEL_RENAMED.record(actor=actor, project_id=row.project_id, data={"model": row.pk})
    return row


def retire_model(*, model: TrainedModel, actor: User | None) -> TrainedModel:
    """Retire a model and delete its weights; its card and its runs stay. Safe to repeat.

    Raises ServiceError `live` while the model is being trained.
    """
    with transaction.atomic():
        row = TrainedModel.objects.select_for_update().get(pk=model.pk)
        if row.state == State.RETIRED:
            return row
        if row.state == State.TRAINING:
            message = _("This model is still being trained. Cancel the training or wait until it ends.")
            raise ServiceError(message, code="live")
        if row.stored_file_id is not None:
            StoredFile.objects.filter(pk=row.stored_file_id).delete()
        row.state, row.retired_at, row.stored_file = State.RETIRED, timezone.now(), None
        row.save(update_fields=["state", "retired_at", "stored_file"])
        MODEL_RETIRED.record(actor=actor, project_id=row.project_id, data={"model": row.pk})
    return row
