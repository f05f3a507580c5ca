"""Whether a backend can run now: whether a worker of its queue is alive and has the library and the weights."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.conf import settings
from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy
from redis.exceptions import RedisError

from annotations.jobs.services.relay import redis_connection as connection
from annotations.jobs.services.relay import worker_keys
from annotations.jobs.services.status import missing
from models_runtime.core.registry import BACKENDS, SET_UP, TRAINABLE, BackendKind, TrainableKind, installed

# The libraries and weights that a machine lacks for a backend. No library is imported, and no weights are opened.
#
# Workers report this with every heartbeat, because their machines may have other libraries than the web process.


LIBRARY, WEIGHTS = "library", "weights"
Lacks = dict[str, str]
"""LIBRARY or WEIGHTS by the key of a backend or trainable kind."""


def lacking(kind: BackendKind | TrainableKind) -> str:
    """Return LIBRARY or WEIGHTS, or an empty string if this machine has both."""
    if not installed(kind):
        return LIBRARY
    if isinstance(kind, BackendKind) and kind.weights:
        folder = settings.DATA_DIR / "weights" / kind.weights
        if not folder.is_dir() or not any(folder.iterdir()):
            return WEIGHTS
    return ""


def lacks_here() -> Lacks:
    """Return what this machine lacks, for every kind that lacks something."""
    kinds: dict[str, BackendKind | TrainableKind] = {**BACKENDS, **SET_UP, **TRAINABLE}
    return {key: lack for key, kind in kinds.items() if (lack := lacking(kind))}


@cache
def _at_start() -> str:
    return json.dumps(lacks_here())


def report(redis: Any, worker_key: str, *, seconds: int) -> None:
    """Report with a worker's heartbeat what its machine lacked at the start. `redis` is a connection or a pipeline."""
    redis.set(_name(worker_key), _at_start(), ex=seconds)


def reports(queue: str) -> list[Lacks]:
    """Return what each living worker of a queue lacks. Raises RedisError."""
    keys = [_name(key) for key in worker_keys(queue)]
    found: list[Any] = list(connection().mget(keys)) if keys else []
    return [json.loads(text) for text in found if text]


def _name(worker_key: str) -> str:
    return f"deidreview:lacks:{worker_key}"


def remedy(kind: BackendKind | TrainableKind, lack: str) -> str:
    """Say what is missing and what to do."""
    if lack == WEIGHTS and isinstance(kind, BackendKind):
        folder = settings.DATA_DIR / "weights" / kind.weights
        return _("The weights are missing. Copy them to %(folder)s.") % {"folder": folder}
    return _("The library %(name)s is missing. Install it with “make setup-models”.") % {"name": kind.needs}


class ModelHealth(TextChoices):
    READY = "ready", _lazy("Ready")
    LIBRARY = "library", _lazy("Library missing")
    WEIGHTS = "weights", _lazy("Weights missing")
    LABELS = "labels", _lazy("Labels missing")
    NO_SERVER = "no server", _lazy("No server")
    NO_WORKER = "no worker", _lazy("No worker")
    UNKNOWN = "unknown", _lazy("Unknown")


@dataclass(frozen=True)
class Health:
    """The state of a backend. `message` says what is missing and what to do; empty if the backend is ready."""

    state: ModelHealth
    message: str = ""


class Workers:
    """The workers of each queue, queried once for a page or a command."""

    def __init__(self) -> None:
        self._known: dict[str, list[Lacks] | None] = {}

    def of(self, queue: str) -> Sequence[Lacks] | None:
        """Return what each living worker lacks, or None if Redis doesn't answer."""
        if queue not in self._known:
            try:
                self._known[queue] = reports(queue)
            except RedisError:
                self._known[queue] = None
        return self._known[queue]

    def health(self, key: str, kind: BackendKind | TrainableKind, queue: str) -> Health:
        """Return the state of the backend or trainable kind `key`. One worker that has everything is enough."""
        alive = self.of(queue)
        here = lacking(kind)
        if alive is None:
            unknown = _("The queue (Redis) does not answer, so it is unknown whether a worker can run this backend.")
            return Health(ModelHealth.UNKNOWN, _joined(unknown, remedy(kind, here) if here else ""))
        if not alive:
            return Health(ModelHealth.NO_WORKER, _joined(missing(queue), remedy(kind, here) if here else ""))
        lacks = [report.get(key, "") for report in alive]
        if "" in lacks:
            return Health(ModelHealth.READY)
        restart = _("Then restart the worker.")
        return Health(
            ModelHealth.WEIGHTS if WEIGHTS in lacks else ModelHealth.LIBRARY, _joined(remedy(kind, lacks[0]), restart)
        )


def _joined(*sentences: str) -> str:
    return " ".join(sentence if sentence.endswith(".") else f"{sentence}." for sentence in sentences if sentence)
