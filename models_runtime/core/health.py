"""Whether a backend can run now: whether a worker of its queue is alive and has the library and the weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.utils.translation import gettext as _

from annotations.jobs.services.doorbell import RedisError
from annotations.jobs.services.status import missing
from models_runtime.core.abilities import WEIGHTS, Lacks, lacking, remedy, reports
from models_runtime.core.registry import BackendKind, TrainableKind


class ModelHealth(StrEnum):
    READY = "ready"
    LIBRARY = "library"
    WEIGHTS = "weights"
    LABELS = "labels"
    NO_SERVER = "no server"
    NO_WORKER = "no worker"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Health:
    """The state of a backend. `message` says what is missing and what to do; empty if the backend is ready."""

    state: ModelHealth
    message: str = ""

    @property
    def name(self) -> str:
        """The name of the state."""
        return {
            ModelHealth.READY: _("Ready"),
            ModelHealth.LIBRARY: _("Library missing"),
            ModelHealth.WEIGHTS: _("Weights missing"),
            ModelHealth.LABELS: _("Labels missing"),
            ModelHealth.NO_SERVER: _("No server"),
            ModelHealth.NO_WORKER: _("No worker"),
            ModelHealth.UNKNOWN: _("Unknown"),
        }[self.state]


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
