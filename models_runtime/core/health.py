"""Whether a backend could read a note now: a worker alive on its queue, with the library and the weights it takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.utils.translation import gettext as _

from annotations.jobs.services.doorbell import RedisError
from annotations.jobs.services.status import missing
from models_runtime.core.abilities import WEIGHTS, Lacks, lacking, remedy, reports
from models_runtime.core.registry import BackendKind, TrainableKind


class State(StrEnum):
    READY = "ready"
    LIBRARY = "library"
    WEIGHTS = "weights"
    LABELS = "labels"
    NO_SERVER = "no server"
    NO_WORKER = "no worker"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Health:
    """`words` say what is missing and what to do; empty where it is ready."""

    state: State
    words: str = ""

    @property
    def name(self) -> str:
        """The state in a word or two."""
        return {
            State.READY: _("Ready"),
            State.LIBRARY: _("Library missing"),
            State.WEIGHTS: _("Weights missing"),
            State.LABELS: _("Labels missing"),
            State.NO_SERVER: _("No server"),
            State.NO_WORKER: _("No worker"),
            State.UNKNOWN: _("Not known"),
        }[self.state]


class Workers:
    """The workers of each queue, asked once for a page or a command."""

    def __init__(self) -> None:
        self._known: dict[str, list[Lacks] | None] = {}

    def of(self, queue: str) -> Sequence[Lacks] | None:
        """What each living worker lacks; None where Redis does not answer."""
        if queue not in self._known:
            try:
                self._known[queue] = reports(queue)
            except RedisError:
                self._known[queue] = None
        return self._known[queue]

    def health(self, key: str, kind: BackendKind | TrainableKind, queue: str) -> Health:
        """Of the backend or trainable kind `key`. One worker that has all of it is enough."""
        alive = self.of(queue)
        here = lacking(kind)
        if alive is None:
            words = _("The queue (Redis) does not answer, so it is not known whether a worker could run it.")
            return Health(State.UNKNOWN, _joined(words, remedy(kind, here) if here else ""))
        if not alive:
            return Health(State.NO_WORKER, _joined(missing(queue), remedy(kind, here) if here else ""))
        lacks = [said.get(key, "") for said in alive]
        if "" in lacks:
            return Health(State.READY)
        words = _("A worker sees it when it starts again.")
        return Health(State.WEIGHTS if WEIGHTS in lacks else State.LIBRARY, _joined(remedy(kind, lacks[0]), words))


def _joined(*sentences: str) -> str:
    return " ".join(sentence if sentence.endswith(".") else f"{sentence}." for sentence in sentences if sentence)
