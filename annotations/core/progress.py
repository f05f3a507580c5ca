"""Progress reports of long work, independent of the job queue."""

from typing import Protocol


class Canceled(Exception):
    """Somebody asked the work to stop. Raised by a progress call."""


class Progress(Protocol):
    def __call__(self, done: int, total: int) -> None:
        """Report how much is done. Raises Canceled when the work must stop."""


def silent(done: int, total: int) -> None:
    """Ignore progress, for callers that don't need it."""
