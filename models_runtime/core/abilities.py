"""What a machine lacks for a backend. Workers say it with every heartbeat: they may have what the web process lacks.

It is looked for, never loaded: no library is imported, no weights are opened.
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
"""What is lacking, by a backend's or a trainable kind's key: LIBRARY or WEIGHTS."""


def lacking(kind: BackendKind | TrainableKind) -> str:
    """LIBRARY, WEIGHTS, or empty where this machine has all of it."""
    if not installed(kind):
        return LIBRARY
    if isinstance(kind, BackendKind) and kind.weights:
        folder = settings.DATA_DIR / "weights" / kind.weights
        if not folder.is_dir() or not any(folder.iterdir()):
            return WEIGHTS
    return ""


def lacks_here() -> Lacks:
    """Of every kind that lacks something on this machine."""
    kinds: dict[str, BackendKind | TrainableKind] = {**BACKENDS, **SET_UP, **TRAINABLE}
    return {key: lack for key, kind in kinds.items() if (lack := lacking(kind))}


@cache
def _at_start() -> str:
    return json.dumps(lacks_here())


def report(redis: Any, worker_key: str, *, seconds: int) -> None:
    """For a worker's heartbeat: what its machine lacked when it started. `redis` is a connection or a pipeline."""
    redis.set(_name(worker_key), _at_start(), ex=seconds)


def reports(queue: str) -> list[Lacks]:
    """What the living workers of a queue lack, one entry each. Raises RedisError."""
    keys = [_name(key) for key in worker_keys(queue)]
    found: list[Any] = list(connection().mget(keys)) if keys else []
    return [json.loads(said) for said in found if said]


def _name(worker_key: str) -> str:
    return f"deidreview:lacks:{worker_key}"


def remedy(kind: BackendKind | TrainableKind, lack: str) -> str:
    """What to do about it, in plain words."""
    if lack == WEIGHTS and isinstance(kind, BackendKind):
        return _("Weights missing: put them in %(folder)s") % {"folder": settings.DATA_DIR / "weights" / kind.weights}
    return _("It needs the library %(name)s: make setup-models") % {"name": kind.needs}
