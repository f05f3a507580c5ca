"""Runs of models that others made: what their labels are called in a project, all of them decided."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext

from annotations.core.errors import ServiceError
from annotations.models import Project, User
from annotations.projects.selectors.labels import accepted_labels
from models_runtime.backends.base import BackendError
from models_runtime.backends.rules.labels import HOME, mapping_from_home
from models_runtime.core import pipelines, weights
from models_runtime.core.foreign import FOUND, foreign_named
from models_runtime.core.foreign_model import Foreign
from models_runtime.core.model_files import NAMED_BY
from models_runtime.core.registry import PIPELINE, TAGGER
from models_runtime.models import Run
from models_runtime.runs.services.backends import Chosen
from models_runtime.runs.services.runs import started

USUAL = Path(settings.FIXTURES_DIR / "pipeline_labels.json")


WHERE = {
    PIPELINE: lambda: f"install a package, or put a folder in {pipelines.home()}",
    TAGGER: lambda: f"put a folder of weights that label tokens, here and where its workers are, in {weights.home()}",
}


@dataclass(frozen=True)
class Choice:
    """A model's label: what it becomes here as far as is known, empty for nothing, None where nobody has said."""

    label: str
    ours: str | None


def find_foreign(backend: str, name: str) -> Foreign:
    """Raises ServiceError naming the choices."""
    found, word = foreign_named(backend, name), NAMED_BY[backend]
    if found is None:
        choices = ", ".join(row.name for row in FOUND[backend]()) or f"none: {WHERE[backend]()}"
        raise ServiceError(
            gettext("there is no %(word)s %(name)s; there are: %(choices)s")
            % {"word": word, "name": repr(name), "choices": choices},
            code=word,
        )
    if not found.labels:
        raise ServiceError(
            gettext("the %(word)s %(name)s marks nothing: it has no entity or span labels")
            % {"word": word, "name": name},
            code=word,
        )
    return found


def choices_of(project: Project, model: Foreign) -> list[Choice]:
    """As its last run here had them; else as such labels are usually read, or as they are called here; else open."""
    named = {f"params__{NAMED_BY[model.backend]}": model.name}
    last = Run.objects.filter(project=project, backend=model.backend, **named).order_by("-pk").first()
    accepted, _ = accepted_labels(project)
    known = last.params["labels"] if last else {label: label for label in accepted} | usual_labels(project)
    return [Choice(label, _still_there(known, label, accepted)) for label in model.labels]


def _still_there(known: Mapping[str, str | None], label: str, accepted: Mapping[str, str]) -> str | None:
    if label not in known:
        return None
    ours = known[label]
    return accepted.get(ours) if ours else ""


def usual_labels(project: Project) -> dict[str, str | None]:
    """Labels that spaCy's own pipelines have, in the project's label set; through i2b2-2014, as the rules' are."""
    rows: dict[str, str | None] = json.loads(USUAL.read_text(encoding="utf-8"))
    key = project.label_set.key
    if key == HOME:
        return rows
    try:
        through = mapping_from_home(key)
    except BackendError:  # a label set of the project's own
        return {label: home for label, home in rows.items() if not home}
    return {label: through[home] if home else None for label, home in rows.items()}


def start_foreign(
    *,
    project: Project,
    backend: str,
    model: str,
    labels: Mapping[str, str],
    actor: User | None,
    name: str = "",
    key: str,
) -> Run:
    """A run of a model that others made. `labels`: what each of its labels becomes, empty for nothing.

    The map is total: a label that nobody decided on is an error here, never a silent loss later. Raises ServiceError.
    """
    there = Run.objects.filter(job__key=f"run-{key}").first()
    if there is not None:
        return there
    found = find_foreign(backend, model)
    params: dict[str, Any] = {NAMED_BY[backend]: found.name, "labels": _decided(project, found, labels)}
    choice = Chosen(backend, None, found.name.rpartition("/")[2])
    return started(project=project, choice=choice, actor=actor, name=name, params=params, key=key)


def _decided(project: Project, model: Foreign, labels: Mapping[str, str]) -> dict[str, str | None]:
    if open_ones := [label for label in model.labels if label not in labels]:
        raise ServiceError(
            gettext("say what becomes of %(choices)s: a label of this project, or nothing")
            % {"choices": ", ".join(open_ones)},
            code="map",
        )
    if strange := sorted(set(labels) - set(model.labels)):
        raise ServiceError(
            gettext("this model has no label %(choices)s; it has %(choices2)s")
            % {"choices": ", ".join(strange), "choices2": ", ".join(model.labels)},
            code="map",
        )
    accepted, _ = accepted_labels(project)
    if unknown := sorted({ours for ours in labels.values() if ours and ours not in accepted}):
        raise ServiceError(
            gettext("this project has no label %(choices)s") % {"choices": ", ".join(unknown)}, code="map"
        )
    decided = {label: accepted[labels[label]] if labels[label] else None for label in model.labels}
    if not any(decided.values()):
        raise ServiceError(gettext("with every label becoming nothing there is nothing to run for"), code="map")
    return decided
