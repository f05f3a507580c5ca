"""Trainings that belong together: the same one with several seeds, or an ablation with parts left out.

Members of an ensemble differ more if each training also draws its own hold-out, so that it learns from other notes.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.services import ServiceError
from annotations.models import Project, User
from models_runtime.core.registry import TRAINABLE, trainable_kind
from models_runtime.models import TrainedModel
from models_runtime.training.services.training import MOST_GROUPED, start_training

MOST_RUNS = 10
# The seed of a training without one: that of the learners' defaults.
SEED = 7
COMPLETE = "complete"


@dataclass(frozen=True)
class Variant:
    """One row of a group: its name, and what it changes in the settings. `grouping`: 0 for no change."""

    name: str
    settings: Mapping[str, object] = field(default_factory=dict)
    grouping: int = 0


@dataclass(frozen=True)
class Figure:
    """Mean and sample standard deviation (n − 1) of an F1 over trainings; no deviation for one training."""

    mean: float
    deviation: float | None


@dataclass(frozen=True)
class VariantScores:
    """The trainings of a variant, and their F1 on the hold-out by level, such as `entity subcategory`."""

    name: str
    models: list[TrainedModel]
    figures: dict[str, Figure]

    @property
    def entities(self) -> list[Figure | None]:
        """The figures of exact spans by label, by category and by bounds only."""
        return [self.figures.get(f"entity {granularity}") for granularity in ("subcategory", "category", "binary")]

    @property
    def random_splits(self) -> bool:
        """Whether each training drew a hold-out of its own, so that the figures are of different notes."""
        return any("random_split" in model.params for model in self.models)

    def as_dict(self) -> dict[str, Any]:
        figures = {level: {"mean": each.mean, "deviation": each.deviation} for level, each in self.figures.items()}
        models = [model.name for model in self.models]
        return {"variant": self.name, "models": models, "random_splits": self.random_splits, "f1": figures}


def start_group(
    *,
    project: Project,
    gold: int,
    actor: User | None,
    key: str,
    name: str = "",
    runs: int = 1,
    variants: Sequence[Variant] = (Variant(COMPLETE),),
    random_splits: bool = False,
    **given: Any,
) -> list[TrainedModel]:
    """Start a training for each variant and seed, all or none. The seeds follow one another. `given`: the settings.

    `random_splits`: each training draws its hold-out with its seed. A repeated call with the same `key` returns the
    same models. Raises ServiceError as start_training does, `runs` for a number out of range or for several trainings
    that would all give the same model, and `random_splits` for an ablation, whose variants need the same hold-out.
    """
    if not 1 <= runs <= MOST_RUNS:
        message = _("The number of trainings with different seeds must be between 1 and %(most)s, not %(runs)s.")
        raise ServiceError(message % {"most": MOST_RUNS, "runs": runs}, code="runs")
    if random_splits and len(variants) > 1:
        message = _("The variants of an ablation are scored on the same hold-out. Turn off the random hold-outs.")
        raise ServiceError(message, code="random_splits")
    kind = _kind(given.get("backend", ""))
    seeded = any(setting.key == "seed" for setting in kind.settings)
    if runs > 1 and not seeded and not random_splits:
        able = ", ".join(_(each.title) for each in TRAINABLE.values() if any(s.key == "seed" for s in each.settings))
        raise ServiceError(
            _(
                "%(title)s has no seed, so several trainings would give the same model. Choose random hold-outs, or "
                "one of: %(able)s."
            )
            % {"title": _(kind.title), "able": able},
            code="runs",
        )
    settings = given.get("settings", {})
    first = _first_seed(settings)
    if runs == 1 and len(variants) == 1:
        if random_splits:
            given["random_split"] = first
        return [start_training(project=project, gold=gold, actor=actor, key=key, name=name, **given)]
    found: list[TrainedModel] = []
    with transaction.atomic():
        for variant in variants:
            for run in range(runs):
                changed: dict[str, object] = {**settings, **variant.settings}
                if runs > 1 and seeded:
                    changed["seed"] = first + run
                own = {**given, "settings": changed}
                if random_splits:
                    own["random_split"] = first + run
                if variant.grouping:
                    own["grouping"] = variant.grouping
                row = start_training(
                    project=project,
                    gold=gold,
                    actor=actor,
                    key=f"{key}-{len(found)}",
                    name=_name(name, variant, variants, run if runs > 1 else None),
                    **own,
                )
                found.append(row)
                row.params |= {"group": found[0].pk, "variant": variant.name}
                row.save(update_fields=["params"])
    return found


def _kind(backend: str) -> Any:
    try:
        return trainable_kind(backend or next(iter(TRAINABLE)))
    except LookupError as error:
        raise ServiceError(str(error), code="backend") from error


def _first_seed(settings: Mapping[str, object]) -> int:
    text = str(settings.get("seed") or SEED)
    return int(text) if text.isdecimal() and len(text) < 11 else SEED  # start_training refuses a wrong one


def _name(name: str, variant: Variant, variants: Sequence[Variant], run: int | None) -> str:
    if not name:
        return ""
    parts = [name, *([variant.name] if len(variants) > 1 else []), *([str(run + 1)] if run is not None else [])]
    return "-".join(part.replace(" ", "-") for part in parts)


def ablation(embeddings: Sequence[str], groupings: Sequence[int] = ()) -> list[Variant]:
    """Return the variants of Catelli 2021: figures 4.3 and 4.4 and table 4.18, and with `groupings` table 4.1."""
    variants = [Variant(COMPLETE)]
    if len(embeddings) > 1:
        variants += [
            Variant(f"without {name}", {"embeddings": ", ".join(each for each in embeddings if each != name)})
            for name in embeddings
        ]
    variants += [
        Variant("without CRF", {"crf": "no"}),
        Variant("without LSTM", {"lstm": "no"}),
        Variant("without LSTM and CRF", {"lstm": "no", "crf": "no"}),
    ]
    for grouping in groupings:
        if not 1 <= grouping <= MOST_GROUPED:
            message = _("Sentences per sequence must be between 1 and %(most_grouped)s, not %(grouping)s.")
            raise ServiceError(message % {"grouping": grouping, "most_grouped": MOST_GROUPED}, code="groupings")
        variants.append(Variant(f"SGF {grouping}", grouping=grouping))
    return variants


def group_of(model: TrainedModel) -> list[VariantScores]:
    """List the variants of the model's group with their figures, in the order of their start; empty without a group."""
    group = model.params.get("group")
    if group is None:
        return []
    rows = TrainedModel.objects.filter(project=model.project_id, params__group=group).order_by("pk")
    variants: dict[str, list[TrainedModel]] = {}
    for row in rows.defer("losses", "hold_out"):
        variants.setdefault(row.params.get("variant", COMPLETE), []).append(row)
    found = [VariantScores(name, models, _figures(models)) for name, models in variants.items()]
    return found if len(found) > 1 or len(found[0].models) > 1 else []


def _figures(models: Sequence[TrainedModel]) -> dict[str, Figure]:
    values: dict[str, list[float]] = {}
    for model in models:
        scores = model.card.get("scores")
        for unit, levels in (("entity", scores["levels"]), ("token", scores.get("tokens", []))) if scores else ():
            for level in levels:
                values.setdefault(f"{unit} {level['granularity']}", []).append(level["micro"]["f1"] or 0.0)
    return {
        level: Figure(statistics.mean(each), statistics.stdev(each) if len(each) > 1 else None)
        for level, each in values.items()
    }
