"""Hooks of the queue for higher features, which register in their AppConfig.ready()."""

from collections.abc import Callable
from typing import Any, Protocol


class MachineReport(Protocol):
    """Writes a worker's report about its machine. `redis` is a connection or a pipeline."""

    def __call__(self, redis: Any, worker_key: str, *, seconds: int) -> None: ...


# The relay calls these every ten minutes to delete what has expired.
TIDIERS: list[Callable[[], object]] = []
# The relay calls these in each round, about once a second. A call that has something to do works for about a second.
STEPS: list[Callable[[], object]] = []
# A worker calls these with every heartbeat.
REPORTS: list[MachineReport] = []
# These are called with the id and the state of a job that is done or failed, in the transaction that writes the state.
ENDED: list[Callable[[int, str], object]] = []


def ended(job_id: int, state: str) -> None:
    """Call ENDED."""
    for hear in ENDED:
        hear(job_id, state)
