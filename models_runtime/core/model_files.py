"""Load trained models for a worker: copy their files from the database to a cache and check their SHA-256."""

import os
import tempfile
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.utils.text import slugify
from django.utils.translation import gettext as _

from annotations.core.services import ServiceError, good_name
from annotations.core.stored_files import read_chunks, store_file
from annotations.jobs.registry import load as load_factory
from annotations.models import Project, StoredFile, StoredFileKind, User
from annotations.projects.selectors.labels import accepted_labels
from annotations.release.selectors.known import Finder, anything_known, content_digest, denied_terms, labels_by_kind
from models_runtime.backends.base import Backend, BackendError, load
from models_runtime.backends.files import digest
from models_runtime.core import external, registry
from models_runtime.core.external import external_model_named, factory_params
from models_runtime.models import TrainedModel, TrainedModelState

# The backend `known` for a project: its patient master, lists and labels.


def check_known(project: Project) -> None:
    """Raise ServiceError where the project has neither a patient master nor a deny list, or lacks labels for them."""
    if not anything_known(project):
        message = _("This project has no patient master and no deny list. Add one on the page “Known identifiers”.")
        raise ServiceError(message, code="known")
    labels_by_kind(project)
    missing = sorted({label for _text, label in denied_terms(project)} - accepted_labels(project)[0].keys())
    if missing:
        message = _(
            "Denied terms have labels that this project no longer has: %(labels)s. "
            "Add these terms again with other labels."
        )
        raise ServiceError(message % {"labels": ", ".join(missing)}, code="known")


def known_backend(project: Project) -> Backend:
    """Make the backend. It reads the master as it is needed. Raises ServiceError."""
    check_known(project)
    backend: Backend = load_factory(registry.backend_kind(registry.KNOWN).factory)(
        label_set=project.label_set.key,
        find=Finder(project).find,
        labels=labels_by_kind(project),
        denied={label for _text, label in denied_terms(project)},
        content=content_digest(project),
    )
    return backend


# Incomplete files of killed workers are deleted after this time (seconds).
LEFT = 3600
# The parameter of a run that names its external model.
NAMED_BY = {
    registry.PIPELINE: "pipeline",
    registry.TAGGER: "folder",
    registry.FLAIR: "folder",
    registry.GLINER: "folder",
    registry.REMOTE: "server",
}


def load_model(model: TrainedModel) -> Backend:
    """Load a trained model as a backend. Raises ServiceError if its project can't run it, and BackendError."""
    kind = registry.trainable_kind(model.backend)
    backend = load(kind.factory, **factory_params(kind, cached(model)))
    if missing := missing_labels(model, backend.labels):
        message = _("The model “%(name)s” has labels that this project doesn't have: %(missing)s.")
        raise ServiceError(message % {"name": model.name, "missing": missing}, code="labels")
    return backend


def load_backend(key: str, project: Project, params: dict[str, Any]) -> Backend:
    """Load a backend that needs no trained model of the project. Raises LookupError, ServiceError and BackendError."""
    if key == registry.KNOWN:
        return known_backend(project)
    if key == registry.REMOTE:
        return _remote(project, params)
    if key in registry.EXTERNAL:
        return _external(key, project, params)
    backend: Backend = load_factory(registry.backend_kind(key).factory)(label_set=project.label_set.key, **params)
    return backend


def _external(key: str, project: Project, params: dict[str, Any]) -> Backend:
    name = params[NAMED_BY[key]]
    found = external_model_named(key, name)
    if found is None:
        home = external.pipelines_home() if key == registry.PIPELINE else external.weights_home()
        raise BackendError(f"The worker's machine has no {NAMED_BY[key]} “{name}”. Copy it to {home} there.")
    labels, label_set = params["labels"], project.label_set.key
    return load(registry.backend_kind(key).factory, path=found.path, labels=labels, label_set=label_set)


def _remote(project: Project, params: dict[str, Any]) -> Backend:
    """Load a model on another server, anew for each run: its version may have changed."""
    name = params[NAMED_BY[registry.REMOTE]]
    server = settings.REMOTE_MODELS.get(name)
    if server is None:
        raise BackendError(f"This worker's DEIDREVIEW_REMOTE_MODELS has no server “{name}”. Add it.")
    backend: Backend = load_factory(registry.backend_kind(registry.REMOTE).factory)(
        server=server, labels=params["labels"], label_set=project.label_set.key
    )
    return backend


def missing_labels(model: TrainedModel, labels: tuple[str, ...] | list[str]) -> str:
    """List the labels that the model's project doesn't have, separated by commas. Empty if it has all."""
    accepted = accepted_labels(model.project)[0]
    return ", ".join(label for label in labels if label not in accepted)


def cached(model: TrainedModel) -> Path:
    """Return the model's file on this machine, copied from the database if necessary.

    Raises ServiceError `model` if the model is not ready or its file is damaged.
    """
    stored = model.stored_file
    if model.state != TrainedModelState.READY or stored is None:
        message = _("The model “%(name)s” can't be run. Its state is: %(state)s.")
        raise ServiceError(message % {"name": model.name, "state": model.get_state_display().lower()}, code="model")
    folder = settings.DATA_DIR / "models"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _prune(folder)
    path = Path(folder / f"{stored.sha256}.zip")
    if path.is_file() and digest(path) == stored.sha256:
        return path
    handle, name = tempfile.mkstemp(prefix="part-", dir=folder)
    written = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            for data in read_chunks(stored):
                file.write(data)
        if digest(written) != stored.sha256:
            message = _("The stored file of the model “%(name)s” is damaged. Train the model again.")
            raise ServiceError(message % {"name": model.name}, code="model")
        written.replace(path)
    finally:
        written.unlink(missing_ok=True)
    return path


def _prune(folder: Path) -> None:
    """Delete incomplete files, and files of models that are no longer ready, from the cache."""
    ready = TrainedModel.objects.filter(state=TrainedModelState.READY)
    kept = set(ready.values_list("stored_file__sha256", flat=True))
    for path in folder.iterdir():
        with suppress(OSError):
            incomplete = path.name.startswith("part-") and path.stat().st_mtime < time.time() - LEFT
            if incomplete or (path.suffix == ".zip" and path.stem not in kept):
                path.unlink()


# Names of trained models.


LONGEST = 80


def with_weights(project: Project, *backends: str) -> list[TrainedModel]:
    """List the project's ready models of these kinds that have a file, by name."""
    rows = TrainedModel.objects.filter(project=project, backend__in=backends, state=TrainedModelState.READY)
    return list(rows.exclude(stored_file=None).order_by("name"))


def store_model(project: Project, name: str, backend: str, content: IO[bytes], actor: User | None) -> StoredFile:
    """Store the file of a model, which has the model's name."""
    file = f"{slugify(name) or backend}.zip"
    return store_file(project=project, kind=StoredFileKind.MODEL, name=file, content=content, actor=actor)


def good_model_name(name: str) -> str:
    """Return the name without surrounding white space. Raises ServiceError if it is invalid or reserved."""
    name = good_name(name)
    if not name or len(name) > LONGEST:
        message = _("The name of a model must have 1 to %(longest)s characters.")
        raise ServiceError(message % {"longest": LONGEST}, code="name")
    if name in (*registry.BACKENDS, registry.ENSEMBLE, *registry.SET_UP) or name.startswith(("model:", "run:")):
        message = _("“%(name)s” is reserved for a backend or a run. Choose another name.")
        raise ServiceError(message % {"name": name}, code="name")
    return name


def free_name(project: Project, stem: str) -> str:
    """Return `stem-1`, or `stem` with the next number that no model of the project has, retired models included."""
    used = set(TrainedModel.objects.filter(project=project).values_list("name", flat=True))
    return next(name for number in count(1) if (name := f"{stem}-{number}") not in used)


def name_with(project: Project, name: str, ending: str) -> str:
    """Return the name with an ending such as `-epoch-2`, and with a number if another model has that name."""
    room = LONGEST - len(ending) - len("-9999")
    wanted = name[:room] + ending
    used = TrainedModel.objects.filter(project=project, name=wanted).exists()
    return free_name(project, wanted) if used else wanted


def name_in_use(name: str) -> str:
    """The sentence about a name in use."""
    return _("A model with the name “%(name)s” already exists. Choose another name.") % {"name": name}
