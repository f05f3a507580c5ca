"""Trained models as files for a worker: out of the database into a cache, checked by their sha256, and loaded."""

import hashlib
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext

from annotations.core.errors import ServiceError
from annotations.core.stored_files import read_chunks
from annotations.jobs.registry import load as load_factory
from annotations.models import Project
from annotations.projects.selectors.labels import accepted_labels
from models_runtime.backends.base import Backend, BackendError, load
from models_runtime.core import pipelines, weights
from models_runtime.core.foreign import foreign_named
from models_runtime.core.registry import FOREIGN, PIPELINE, TAGGER, backend_kind, trainable_kind
from models_runtime.models import TrainedModel

# What a killed worker left half-written goes after this long (seconds).
LEFT = 3600
# In a run's params: which of the models of others it is.
NAMED_BY = {PIPELINE: "pipeline", TAGGER: "folder"}
HOMES = {PIPELINE: lambda: pipelines.home(), TAGGER: lambda: weights.home()}


def load_model(model: TrainedModel) -> Backend:
    """The backend that a ready model is. Raises ServiceError where it can't run in its project, and BackendError."""
    backend = load(trainable_kind(model.backend).factory, path=str(cached(model)))
    if missing := missing_labels(model, backend.labels):
        raise ServiceError(
            gettext("the model %(name)s has labels that this project lacks: %(missing)s")
            % {"name": model.name, "missing": missing},
            code="labels",
        )
    return backend


def load_backend(key: str, project: Project, params: dict[str, Any]) -> Backend:
    """A backend that needs no model of the project's. Raises LookupError, BackendError."""
    if key in FOREIGN:
        return _foreign(key, project, params)
    backend: Backend = load_factory(backend_kind(key).factory)(label_set=project.label_set.key, **params)
    return backend


def _foreign(key: str, project: Project, params: dict[str, Any]) -> Backend:
    name = params[NAMED_BY[key]]
    found = foreign_named(key, name)
    if found is None:
        home = HOMES[key]()
        raise BackendError(f"this worker's machine has no {NAMED_BY[key]} {name}; put it in {home}", permanent=True)
    labels, label_set = params["labels"], project.label_set.key
    return load(backend_kind(key).factory, path=found.path, labels=labels, label_set=label_set)


def missing_labels(model: TrainedModel, labels: tuple[str, ...] | list[str]) -> str:
    """The model's labels that its project lacks, in words; empty where it lacks none."""
    accepted, _ = accepted_labels(model.project)
    return ", ".join(label for label in labels if label not in accepted)


def cached(model: TrainedModel) -> Path:
    """The model's file on this machine. Raises ServiceError where there is none any more."""
    stored = model.stored_file
    if model.state != TrainedModel.State.READY or stored is None:
        raise ServiceError(
            gettext("the model %(name)s can't be run; it is: %(get_state_display)s")
            % {"name": model.name, "get_state_display": model.get_state_display().lower()},
            code="model",
        )
    folder = settings.DATA_DIR / "models"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _prune(folder)
    path = Path(folder / f"{stored.sha256}.zip")
    if path.is_file() and _sha256(path) == stored.sha256:
        return path
    handle, name = tempfile.mkstemp(prefix="part-", dir=folder)
    written = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            for data in read_chunks(stored):
                file.write(data)
        if _sha256(written) != stored.sha256:
            raise ServiceError(
                gettext("the stored file of the model %(name)s is damaged") % {"name": model.name}, code="model"
            )
        written.replace(path)
    finally:
        written.unlink(missing_ok=True)
    return path


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _prune(folder: Path) -> None:
    """Weights of retired models go from here too."""
    ready = TrainedModel.objects.filter(state=TrainedModel.State.READY)
    kept = set(ready.values_list("stored_file__sha256", flat=True))
    for path in folder.iterdir():
        with suppress(OSError):
            left = path.name.startswith("part-") and path.stat().st_mtime < time.time() - LEFT
            if left or (path.suffix == ".zip" and path.stem not in kept):
                path.unlink()
