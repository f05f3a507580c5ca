"""What kinds of long work there are. Each feature registers its own in its AppConfig.ready()."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils.module_loading import import_string
from django.utils.translation import gettext_noop as _

from annotations.core.access import Can


@dataclass(frozen=True)
class JobKind:
    """One kind of job. Paths are dotted, so that naming a kind costs no import.

    `handler(claim) -> dict` does the work and returns what the job's page shows. It may be started again after a crash,
    so it is either safe to repeat or picks up where its rows say it stopped.
    `undo(params, state)` takes back what an unfinished job wrote; `state` is "cancelled" or "failed". It runs in one
    transaction with the job's last state and must be safe to repeat. It returns None, or the result where the work
    turns out to be complete, so that nothing is left to take back.
    `redo(params)` makes ready what starting a failed or cancelled job again needs, in the same transaction. It raises
    ServiceError where that can't be.
    `shared`: several workers may be at one such job; its handler goes from share to share (runner.shares).
    `result`: the template that shows what `handler` returned, as `result`.
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
    result: str = "jobs/result.html"


JOBS: dict[str, JobKind] = {}


def register(kinds: dict[str, JobKind]) -> None:
    """Kinds of a feature, by their names. Called in its AppConfig.ready()."""
    JOBS.update(kinds)


def kind_of(name: str) -> JobKind:
    """The kind called `name`. Raises LookupError naming the choices."""
    try:
        return JOBS[name]
    except KeyError:
        raise LookupError(f"unknown kind of job {name!r}; there are: {', '.join(sorted(JOBS))}") from None


def load(path: str) -> Callable[..., Any]:
    """The function at a dotted path of this registry."""
    found: Callable[..., Any] = import_string(path)
    return found
