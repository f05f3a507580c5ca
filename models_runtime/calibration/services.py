"""Calibrations: asked for, found, described, taken out of use. The work itself is models_runtime.calibration.jobs."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.events import record
from annotations.core.progress import Progress, silent
from annotations.domain.calibration import Curve
from annotations.jobs.services.starting import once
from annotations.models import Author, GoldVersion, Job, Project, User, Verb
from annotations.scores.services.scoring import asked
from models_runtime.calibration.jobs import calibration_by, keep
from models_runtime.models import Calibration, Run

# A curve as points: from so many raw confidences.
POINTS = 21


def calibration_wish(
    project: Project, *, gold: int, author_id: int | None = None, name: str = ""
) -> tuple[Run, GoldVersion]:
    """The run (by its author, or by its name) and the version. Raises ServiceError with the choices."""
    wish = asked(project, version=gold, author_id=author_id, author=f"{Author.Kind.RUN}:{name}" if name else "")
    run = Run.objects.filter(author=wish.author).select_related("project", "author", "model").first()
    if run is None:
        raise ServiceError(
            _("%(name)s was not read by a backend here, so there is nothing to calibrate") % {"name": wish.author.name},
            code="run",
        )
    if not run.revision:
        raise ServiceError(_("the run %(name)s has not read a note yet") % {"name": run.author.name}, code="run")
    if wish.reference.version is None:
        raise ServiceError(_("confidences are calibrated by a frozen gold version: name its number"), code="version")
    return run, wish.reference.version


def calibrate(*, project: Project, run: str, gold: int, actor: User | None, progress: Progress = silent) -> Calibration:
    """Calibrate here and now. Raises ServiceError, where there are too few spans as well."""
    row, version = calibration_wish(project, gold=gold, name=run)
    made = calibration_by(row, version, progress=progress)
    with transaction.atomic():
        keep(made, actor)
    return made


@dataclass(frozen=True)
class Standing:
    """A backend's calibration in use; `applies`: it is of this very revision, so that the next run goes by it."""

    row: Calibration
    applies: bool


def standing(project: Project, backend: str, revision: str) -> Standing | None:
    """The calibration for this revision; else the newest of another one, which isn't applied; None without any."""
    rows = Calibration.objects.filter(project=project, backend=backend, withdrawn_at=None).select_related("run__author")
    row = rows.filter(revision=revision).order_by("-pk").first() or rows.order_by("-pk").first()
    return Standing(row, row.revision == revision) if row else None


def withdraw(*, calibration: Calibration, actor: User | None) -> None:
    """Take it out of use: the one before it, or none, is gone by. Runs that went by it keep their confidences."""
    with transaction.atomic():
        changed = Calibration.objects.filter(pk=calibration.pk, withdrawn_at=None).update(withdrawn_at=timezone.now())
        if changed:
            record(
                verb=Verb.CALIBRATION_WITHDRAWN,
                actor=actor,
                project_id=calibration.project_id,
                data={"backend": calibration.backend, "calibration": calibration.pk},
            )


def summary(row: Calibration) -> dict[str, Any]:
    """What commands print of a calibration."""
    before, after = row.figures["before"], row.figures["after"]
    curves = {"": row.curves["pool"]} | row.curves["labels"]
    return {
        "calibration": row.word,
        "calibration_id": row.pk,
        "backend": row.backend,
        "revision": row.revision,
        "run": row.run.author.name if row.run else None,
        "held_out": row.held_out,
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
    """The curve of these parameters as [raw, calibrated]; that of all labels stands under the empty name."""
    curve, steps = Curve(*values), POINTS - 1
    return [[at / steps, round(curve(at / steps), 4)] for at in range(POINTS)]


def start_calibration(*, project: Project, author_id: int, gold: int, actor: User, token: str = "") -> Job:
    """Start calibrating a backend by a run of it and a gold version. Raises ServiceError."""
    run, version = calibration_wish(project, gold=gold, author_id=author_id)
    return once("calibrate", project, {"run_id": run.pk, "gold": version.number}, actor, token)
