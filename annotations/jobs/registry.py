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


JOBS: dict[str, JobKind] = {
    "import": JobKind(
        title=_("Import"),
        handler="annotations.transfer.jobs.importing.run",
        right=Can.MANAGE,
        undo="annotations.transfer.jobs.importing.undo",
        can_pause=True,
        # Taking an import back deletes its upload as well.
        can_retry=False,
    ),
    "export": JobKind(title=_("Export"), handler="annotations.transfer.jobs.exporting.run", right=Can.EXPORT),
    "run": JobKind(
        title=_("Model run"),
        handler="models_runtime.runs.jobs.running.run",
        right=Can.MANAGE,
        can_pause=True,
        shared=True,
    ),
    "agreement": JobKind(title=_("Agreement"), handler="annotations.agreement.jobs.run", right=Can.READ_NOTES),
    "score": JobKind(title=_("Score"), handler="annotations.scores.jobs.scoring.run", right=Can.READ_NOTES),
    "compare": JobKind(title=_("Comparison"), handler="annotations.scores.jobs.comparing.run", right=Can.READ_NOTES),
    "judge": JobKind(
        title=_("Judges"),
        handler="models_runtime.judging.jobs.run",
        right=Can.MANAGE,
        unit=_("answers"),
        queue="llm",
        redo="models_runtime.judging.jobs.ready_again",
        can_pause=True,
    ),
    "calibrate": JobKind(
        title=_("Calibration"), handler="models_runtime.calibration.jobs.run", right=Can.MANAGE, can_retry=True
    ),
    "train": JobKind(
        title=_("Training"),
        handler="models_runtime.training.jobs.training.run",
        right=Can.MANAGE,
        unit=_("steps"),
        undo="models_runtime.training.jobs.training.undo",
        redo="models_runtime.training.jobs.training.redo",
    ),
    "bulk": JobKind(
        title=_("Bulk review"),
        handler="annotations.review.jobs.run",
        right=Can.MAKE_GOLD,
        unit=_("proposals"),
        can_pause=True,
    ),
    "bulk_undo": JobKind(
        title=_("Taking a bulk review back"),
        handler="annotations.review.jobs.take_back",
        right=Can.MAKE_GOLD,
        unit=_("proposals"),
        can_pause=True,
    ),
    "gold": JobKind(title=_("Make gold"), handler="annotations.gold.jobs.run", right=Can.MAKE_GOLD, can_pause=True),
}


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
