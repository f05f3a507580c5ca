"""Start, find, describe and withdraw calibrations. The work itself is in models_runtime.training.jobs.calibration."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.progress import Progress, silent
from annotations.jobs.services.queue import once
from annotations.models import AuthorKind, GoldVersion, Job, Project, User
from annotations.scores.services.scoring import score_request
from models_runtime.backends.marginals import revision_without
from models_runtime.models import Calibration, Run
from models_runtime.training.events import CALIBRATION_WITHDRAWN
from models_runtime.training.jobs.calibration import calibration_by, keep, newest
from models_runtime.training.rules import Curve

# The number of points by which commands print a curve.
POINTS = 21


def run_and_gold(
    project: Project, *, gold: int, author_id: int | None = None, name: str = ""
) -> tuple[Run, GoldVersion]:
    """Find the run, by author or name, and the gold version. Raises ServiceError, with the choices in its message."""
    wanted = score_request(
        project, version=gold, author_id=author_id, author=f"{AuthorKind.RUN}:{name}" if name else ""
    )
    run = Run.objects.filter(author=wanted.author).select_related("project", "author", "model").first()
    if run is None:
        raise ServiceError(
            _("%(name)s is not a run of a backend in this project, so it can't be calibrated. Choose a run.")
            % {"name": wanted.author.name},
            code="run",
        )
    if not run.revision:
        raise ServiceError(
            _("The run “%(name)s” has not processed any note yet. Wait until it has.") % {"name": run.author.name},
            code="run",
        )
    if wanted.reference.version is None:
        raise ServiceError(_("Calibration needs a frozen gold version. Enter its number."), code="version")
    return run, wanted.reference.version


def calibrate(*, project: Project, run: str, gold: int, actor: User | None, progress: Progress = silent) -> Calibration:
    """Calibrate in this process. Raises ServiceError, also if there are too few spans."""
    row, version = run_and_gold(project, gold=gold, name=run)
    made = calibration_by(row, version, progress=progress)
    with transaction.atomic():
        keep(made, actor)
    return made


@dataclass(frozen=True)
class CalibrationInUse:
    """A backend's newest calibration. `applies` tells whether it is for the current revision, so that runs use it.

    None: the revision of the backend is not known yet.
    """

    row: Calibration
    applies: bool | None


def calibration_in_use(project: Project, backend: str, revision: str) -> CalibrationInUse | None:
    """Return the calibration for this revision, else the newest for another revision, which is not applied.

    Of the latter, calibrations made in this project come first.
    """
    rows = Calibration.objects.filter(project=project, backend=backend, withdrawn_at=None).select_related("run__author")
    row = (
        rows.filter(pk=used.pk).first()
        if (used := newest(project, backend, revision))
        else rows.order_by("uploaded", "-pk").first()
    )
    return CalibrationInUse(row, row.revision in (revision, revision_without(revision))) if row else None


def withdraw(*, calibration: Calibration, actor: User | None) -> None:
    """Withdraw a calibration. New runs use the previous one, if any. Existing runs keep their confidence."""
    with transaction.atomic():
        changed = Calibration.objects.filter(pk=calibration.pk, withdrawn_at=None).update(withdrawn_at=timezone.now())
        if changed:
            CALIBRATION_WITHDRAWN.record(
                actor=actor,
                project_id=calibration.project_id,
                data={"backend": calibration.backend, "calibration": calibration.pk},
            )


def summary(row: Calibration) -> dict[str, Any]:
    """Return a calibration as commands print it."""
    before, after = row.figures["before"], row.figures["after"]
    curves = {"": row.curves["pool"]} | row.curves["labels"]
    return {
        "calibration": row.word,
        "calibration_id": row.pk,
        "backend": row.backend,
        "revision": row.revision,
        "run": row.run.author.name if row.run else None,
        "held_out": row.held_out,
        "uploaded": row.uploaded,
        "gold": row.gold_number,
        "gold_hash": row.gold_hash,
        "date": row.created_at.isoformat(timespec="seconds"),
        "notes": row.notes,
        "spans": before["spans"],
        "own_gold_spans": row.own_spans,
        "left_out": row.left_out,
        "method": row.curves["method"],
        "ece": {"before": before["ece"], "after": after["ece"]},
        "brier": {"before": before["brier"], "after": after["brier"]},
        "groups": {"before": before["groups"], "after": after["groups"]},
        "labels": row.figures["labels"],
        "curves": {label: _points(values) for label, values in curves.items()},
    }


def _points(values: list[float]) -> list[list[float]]:
    """Return the curve with these parameters as points [raw, calibrated]."""
    curve, steps = Curve(*values), POINTS - 1
    return [[at / steps, round(curve(at / steps), 4)] for at in range(POINTS)]


def start_calibration(*, project: Project, author_id: int, gold: int, actor: User, token: str = "") -> Job:
    """Start the job that calibrates a backend with a run and a gold version. Raises ServiceError."""
    run, version = run_and_gold(project, gold=gold, author_id=author_id)
    return once("calibrate", project, {"run_id": run.pk, "gold": version.number}, actor, token)
