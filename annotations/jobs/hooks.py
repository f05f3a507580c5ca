"""What the queue offers to those above it. They register in their AppConfig.ready()."""

from collections.abc import Callable
from typing import Any, Protocol


class Report(Protocol):
    """Writes what a worker says of its machine. `redis` is a connection or a pipeline."""

    def __call__(self, redis: Any, worker_key: str, *, seconds: int) -> None: ...


# Called by the relay every ten minutes: what has expired goes.
TIDIERS: list[Callable[[], object]] = []
# Called with a worker's every heartbeat.
REPORTS: list[Report] = []
