"""How long work reports back without knowing the queue."""

from typing import Protocol


class Cancelled(Exception):
    """Somebody asked for the work to stop; raised out of a progress call."""


class Progress(Protocol):
    def __call__(self, done: int, total: int) -> None:
        """Say how far the work is. Raises Cancelled when it is to stop."""


def silent(done: int, total: int) -> None:
    """For callers that do not watch."""
