"""The backends as pages and commands show them: what each is, how it is, and what it last did."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Max
from django.utils.translation import gettext as _

from annotations.models import Project
from models_runtime.calibration.services import Standing, standing
from models_runtime.core.foreign import FOUND
from models_runtime.core.health import Health, State, Workers
from models_runtime.core.registry import (
    BACKENDS,
    ENSEMBLE,
    FOREIGN,
    LLM,
    LLM_KIND,
    BackendKind,
    backend_kind,
    trainable_kind,
)
from models_runtime.models import OF_MODEL, Run, TrainedModel
from models_runtime.runs.services.backends import ready_models
from models_runtime.runs.services.foreign import WHERE
from models_runtime.runs.services.llm import servers
from models_runtime.training.services.trained import trouble_of


@dataclass(frozen=True)
class BackendRow:
    """`key` is how commands name it. `revision` is that of its last run: a backend tells it once it is loaded."""

    key: str
    title: str
    description: str
    queue: str
    health: Health
    model: TrainedModel | None = None
    last_run: Run | None = None
    standing: Standing | None = None

    @property
    def revision(self) -> str:
        return self.last_run.revision if self.last_run else ""


def backend_rows(project: Project | None) -> list[BackendRow]:
    """The backends that are always there, then the project's models that are ready, by name."""
    workers = Workers()
    rows = [
        BackendRow(key, _(kind.title), _(kind.description), kind.queue, workers.health(key, kind, kind.queue))
        for key, kind in BACKENDS.items()
    ]
    rows.append(BackendRow(LLM, _(LLM_KIND.title), _(LLM_KIND.description), LLM_KIND.queue, _of_servers(workers)))
    if project is None:
        return rows
    rows.append(
        BackendRow(
            ENSEMBLE,
            _("Ensemble"),
            _("Backends, models and finished runs that vote; its members are chosen where a run is started."),
            "cpu",
            workers.health(ENSEMBLE, BackendKind("", "", ""), "cpu"),
        )
    )
    for key in FOREIGN:
        kind = backend_kind(key)
        rows.append(BackendRow(key, _(kind.title), _(kind.description), kind.queue, _of_others(key, kind, workers)))
    rows += [_of_model(model, workers) for model in ready_models(project)]
    return list(_with_runs(project, rows))


def _of_servers(workers: Workers) -> Health:
    """Without a server in the settings there is nothing to ask, whatever the workers have."""
    if servers():
        return workers.health(LLM, LLM_KIND, LLM_KIND.queue)
    return Health(State.NO_SERVER, _("No server is listed; the administrator names them in DEIDREVIEW_LLM_SERVERS."))


def _of_others(key: str, kind: BackendKind, workers: Workers) -> Health:
    """Without a model on this machine there is nothing to run, whatever the workers have."""
    if FOUND[key]():
        return workers.health(key, kind, kind.queue)
    return Health(State.WEIGHTS, _("There are none here: %(remedy)s.") % {"remedy": WHERE[key]()})


def _of_model(model: TrainedModel, workers: Workers) -> BackendRow:
    kind = trainable_kind(model.backend)
    health = workers.health(model.backend, kind, kind.queue)
    if trouble := trouble_of(model):
        health = Health(State.LABELS if model.stored_file_id else State.WEIGHTS, trouble)
    learned = (
        _("%(kind)s, trained on gold version %(n)d") % {"kind": _(kind.title), "n": model.gold_version.number}
        if model.gold_version
        else _("%(kind)s, brought in as a file") % {"kind": _(kind.title)}
    )
    return BackendRow(f"{OF_MODEL}{model.pk}", model.name, learned, kind.queue, health, model)


def _with_runs(project: Project, rows: list[BackendRow]) -> Iterator[BackendRow]:
    of_each = Run.objects.filter(project=project).exclude(revision="").values("backend").annotate(last=Max("pk"))
    last = {
        run.backend: run for run in Run.objects.filter(pk__in=[row["last"] for row in of_each]).select_related("author")
    }
    for row in rows:
        run = last.get(row.key)
        found = standing(project, row.key, run.revision if run else "")
        if found and not run:  # held out by its training: of the revision that the model is
            found = Standing(found.row, applies=found.row.held_out)
        yield BackendRow(row.key, row.title, row.description, row.queue, row.health, row.model, run, found)


def as_dict(row: BackendRow) -> dict[str, Any]:
    """What commands print of a backend."""
    calibration = None
    if row.standing:
        figures = row.standing.row.figures
        calibration = {
            "calibration": row.standing.row.word,
            "applies": row.standing.applies,
            "gold": row.standing.row.gold_number,
            "ece": {"before": figures["before"]["ece"], "after": figures["after"]["ece"]},
        }
    return {
        "backend": row.key,
        "title": row.title,
        "description": row.description,
        "queue": row.queue,
        "health": str(row.health.state),
        "words": row.health.words,
        "revision": row.revision or None,
        "last_run": row.last_run.author.name if row.last_run else None,
        "calibration": calibration,
    }
