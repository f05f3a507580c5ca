"""The registry of job kinds. Each feature registers its own in its AppConfig.ready()."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils.module_loading import import_string
from django.utils.translation import gettext_noop as _

from annotations.core.access import Can


@dataclass(frozen=True)
class JobKind:
    """One kind of job. Functions are dotted paths, so that registering a kind imports nothing.

    `handler(claim) -> dict` does the work and returns the result for the job's page. It may run again after a crash, so
    it must be safe to repeat or continue from the rows that it has written.
    `undo(params, state)` removes what an unfinished job wrote; `state` is "canceled" or "failed". It runs in one
    transaction with the job's last state and must be safe to repeat. It returns None, or the result if the work turns
    out to be complete and is kept.
    `redo(params)` prepares the restart of a failed or canceled job, in the same transaction. It raises ServiceError
    where the job can't be restarted.
    `shared`: several workers may work on one such job; its handler works share by share (runner.shares).
    `alone`: it computes in Python alone, on one core, so a worker that has more starts processes that help (`shared`).
    `result`: the template that shows the result, which it gets as `result`.
    """

    title: str
    handler: str
    right: Can
    unit: str = _("notes")
    queue: str = "cpu"
    undo: str = ""
    redo: str = ""
    can_pause: bool = False
    can_retry: bool = True
    shared: bool = False
    alone: bool = False
    result: str = "jobs/result.html"


JOBS: dict[str, JobKind] = {}


def register(kinds: dict[str, JobKind]) -> None:
    """Register the kinds of a feature by name. Call it in AppConfig.ready()."""
    JOBS.update(kinds)


def kind_of(name: str) -> JobKind:
    """Return the kind with this name. Raises LookupError with a message that lists the kinds."""
    try:
        return JOBS[name]
    except KeyError:
        raise LookupError(f"Unknown kind of job “{name}”. Kinds: {', '.join(sorted(JOBS))}.") from None


load: Callable[[str], Callable[..., Any]] = import_string
"""Import the function at a dotted path of this registry."""
