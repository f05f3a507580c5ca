"""The list of backends for pages and commands, with health, last run and calibration."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

from django.db.models import Max
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotations.models import Project
from models_runtime.core import registry
from models_runtime.core.external import FOUND
from models_runtime.core.health import Health, ModelHealth, Workers
from models_runtime.models import OF_MODEL, Run, TrainedModel
from models_runtime.runs.services.backends import ready_models
from models_runtime.runs.services.external import how_to_install
from models_runtime.runs.services.llm import servers
from models_runtime.training.services.calibration import CalibrationInUse, calibration_in_use
from models_runtime.training.services.trained import trouble_of

VOTE = registry.BackendKind(
    gettext_noop("Ensemble"), "",
    gettext_noop("Backends, models and finished runs that vote. You choose the members when you start a run."),
)  # fmt: skip


@dataclass(frozen=True)
class BackendRow:
    """A backend in the list. `key` is its name in commands.

    `revision` is the revision of its last run, because a backend knows its revision only after it was loaded.
    """

    key: str
    title: str
    description: str
    queue: str
    health: Health
    model: TrainedModel | None = None
    last_run: Run | None = None
    calibration: CalibrationInUse | None = None

    @property
    def revision(self) -> str:
        return self.last_run.revision if self.last_run else ""


def backend_rows(project: Project | None) -> list[BackendRow]:
    """List the built-in backends, then the project's ready models by name."""
    workers = Workers()
    rows = [_row(key, kind, workers.health(key, kind, kind.queue)) for key, kind in registry.BACKENDS.items()]
    llm = registry.backend_kind(registry.LLM)
    rows.append(_row(registry.LLM, llm, _of_servers(workers, llm)))
    if project is None:
        return rows
    rows.append(_row(registry.ENSEMBLE, VOTE, workers.health(registry.ENSEMBLE, VOTE, VOTE.queue)))
    for key in registry.EXTERNAL:
        kind = registry.backend_kind(key)
        rows.append(_row(key, kind, _of_external(key, kind, workers)))
    rows += [_of_model(model, workers) for model in ready_models(project)]
    return list(_with_runs(project, rows))


def _row(key: str, kind: registry.BackendKind, health: Health) -> BackendRow:
    return BackendRow(key, _(kind.title), _(kind.description), kind.queue, health)


def _of_servers(workers: Workers, llm: registry.BackendKind) -> Health:
    """Return the health of the language model: no server in the settings counts before missing workers."""
    if servers():
        return workers.health(registry.LLM, llm, llm.queue)
    message = _("No server is configured. Ask the administrator to list servers in DEIDREVIEW_LLM_SERVERS.")
    return Health(ModelHealth.NO_SERVER, message)


def _of_external(key: str, kind: registry.BackendKind, workers: Workers) -> Health:
    """Return the health of a backend for external models: no model at hand counts before missing workers."""
    if FOUND[key]():
        return workers.health(key, kind, kind.queue)
    return Health(ModelHealth.NO_SERVER if key == registry.REMOTE else ModelHealth.WEIGHTS, how_to_install(key))


def _of_model(model: TrainedModel, workers: Workers) -> BackendRow:
    kind = registry.trainable_kind(model.backend)
    health = workers.health(model.backend, kind, kind.queue)
    if trouble := trouble_of(model):
        health = Health(ModelHealth.LABELS if model.stored_file_id else ModelHealth.WEIGHTS, trouble)
    description = (
        _("%(kind)s, trained on gold version %(n)d") % {"kind": _(kind.title), "n": model.gold_version.number}
        if model.gold_version
        else _("%(kind)s, uploaded") % {"kind": _(kind.title)}
    )
    return BackendRow(f"{OF_MODEL}{model.pk}", model.name, description, kind.queue, health, model)


def _with_runs(project: Project, rows: list[BackendRow]) -> Iterator[BackendRow]:
    of_each = Run.objects.filter(project=project).exclude(revision="").values("backend").annotate(last=Max("pk"))
    last = {
        run.backend: run for run in Run.objects.filter(pk__in=[row["last"] for row in of_each]).select_related("author")
    }
    for row in rows:
        run = last.get(row.key)
        found = calibration_in_use(project, row.key, run.revision if run else "")
        if found and not run:
            # A calibration by the training here is of the model's revision. An uploaded one may be of another, because
            # a revision also names the versions of deidreview and of the rules.
            found = CalibrationInUse(found.row, applies=None if found.row.uploaded else found.row.held_out)
        yield replace(row, last_run=run, calibration=found)


@dataclass(frozen=True)
class BackendItem:
    """A backend, or a trained model as a backend. `health` is a state and `message` a sentence.

    `calibration` is the newest one. `applies`: it is of the revision of the last run, so new runs use it; null for an
    `uploaded` one before the first run, because the revision is not known yet.
    """

    backend: str
    title: str
    description: str
    queue: str
    health: str
    message: str
    revision: str | None
    last_run: str | None
    calibration: dict[str, Any] | None

    @classmethod
    def of(cls, row: BackendRow) -> Self:
        calibration = None
        if row.calibration:
            used, figures = row.calibration.row, row.calibration.row.figures
            calibration = {
                "calibration": used.word,
                "applies": row.calibration.applies,
                "uploaded": used.uploaded,
                "gold": used.gold_number,
                "ece": {"before": figures["before"]["ece"], "after": figures["after"]["ece"]},
            }
        last_run = row.last_run.author.name if row.last_run else None
        health, message = str(row.health.state), row.health.message
        about = (row.key, row.title, row.description, row.queue, health, message)
        return cls(*about, revision=row.revision or None, last_run=last_run, calibration=calibration)
