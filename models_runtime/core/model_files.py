"""Load trained models for a worker: copy their files from the database to a cache and check their SHA-256."""

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
from models_runtime.core.embeddings import factory_params
from models_runtime.core.external import external_model_named
from models_runtime.core.known import known_backend
from models_runtime.core.registry import (
    EXTERNAL,
    FLAIR,
    GLINER,
    KNOWN,
    PIPELINE,
    REMOTE,
    TAGGER,
    backend_kind,
    trainable_kind,
)
from models_runtime.models import TrainedModel, TrainedModelState

# Incomplete files of killed workers are deleted after this time (seconds).
LEFT = 3600
# The parameter of a run that names its external model.
NAMED_BY = {PIPELINE: "pipeline", TAGGER: "folder", FLAIR: "folder", GLINER: "folder", REMOTE: "server"}
HOMES = {PIPELINE: lambda: pipelines.home(), **dict.fromkeys((TAGGER, FLAIR, GLINER), lambda: weights.home())}


def load_model(model: TrainedModel) -> Backend:
    """Load a trained model as a backend. Raises ServiceError if its project can't run it, and BackendError."""
    kind = trainable_kind(model.backend)
    backend = load(kind.factory, **factory_params(kind, cached(model)))
    if missing := missing_labels(model, backend.labels):
        raise ServiceError(
            gettext("The model “%(name)s” has labels that this project doesn't have: %(missing)s.")
            % {"name": model.name, "missing": missing},
            code="labels",
        )
    return backend


def load_backend(key: str, project: Project, params: dict[str, Any]) -> Backend:
    """Load a backend that needs no trained model of the project. Raises LookupError, ServiceError and BackendError."""
    if key == KNOWN:
        return known_backend(project)
    if key == REMOTE:
        return _remote(project, params)
    if key in EXTERNAL:
        return _external(key, project, params)
    backend: Backend = load_factory(backend_kind(key).factory)(label_set=project.label_set.key, **params)
    return backend


def _external(key: str, project: Project, params: dict[str, Any]) -> Backend:
    name = params[NAMED_BY[key]]
    found = external_model_named(key, name)
    if found is None:
        home = HOMES[key]()
        raise BackendError(
            f"The worker's machine has no {NAMED_BY[key]} “{name}”. Copy it to {home} there.", permanent=True
        )
    labels, label_set = params["labels"], project.label_set.key
    return load(backend_kind(key).factory, path=found.path, labels=labels, label_set=label_set)


def _remote(project: Project, params: dict[str, Any]) -> Backend:
    """Load a model on another server, anew for each run: its version may have changed."""
    name = params[NAMED_BY[REMOTE]]
    server = settings.REMOTE_MODELS.get(name)
    if server is None:
        raise BackendError(f"This worker's DEIDREVIEW_REMOTE_MODELS has no server “{name}”. Add it.", permanent=True)
    backend: Backend = load_factory(backend_kind(REMOTE).factory)(
        server=server, labels=params["labels"], label_set=project.label_set.key
    )
    return backend


def missing_labels(model: TrainedModel, labels: tuple[str, ...] | list[str]) -> str:
    """List the labels that the model's project doesn't have, separated by commas. Empty if it has all."""
    accepted, _ = accepted_labels(model.project)
    return ", ".join(label for label in labels if label not in accepted)


def cached(model: TrainedModel) -> Path:
    """Return the model's file on this machine, copied from the database if necessary.

    Raises ServiceError `model` if the model is not ready or its file is damaged.
    """
    stored = model.stored_file
    if model.state != TrainedModelState.READY or stored is None:
        raise ServiceError(
            gettext("The model “%(name)s” can't be run. Its state is: %(state)s.")
            % {"name": model.name, "state": model.get_state_display().lower()},
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
                gettext("The stored file of the model “%(name)s” is damaged. Train the model again.")
                % {"name": model.name},
                code="model",
            )
        written.replace(path)
    finally:
        written.unlink(missing_ok=True)
    return path


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _prune(folder: Path) -> None:
    """Delete incomplete files, and files of models that are no longer ready, from the cache."""
    ready = TrainedModel.objects.filter(state=TrainedModelState.READY)
    kept = set(ready.values_list("stored_file__sha256", flat=True))
    for path in folder.iterdir():
        with suppress(OSError):
            incomplete = path.name.startswith("part-") and path.stat().st_mtime < time.time() - LEFT
            if incomplete or (path.suffix == ".zip" and path.stem not in kept):
                path.unlink()
