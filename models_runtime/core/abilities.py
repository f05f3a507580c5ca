"""The libraries and weights that a machine lacks for a backend. No library is imported, and no weights are opened.

Workers report this with every heartbeat, because their machines may have other libraries than the web process.
"""

import json
from functools import cache
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from annotations.jobs.services.doorbell import connection, worker_keys
from models_runtime.core.registry import BACKENDS, SET_UP, TRAINABLE, BackendKind, TrainableKind, installed

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
