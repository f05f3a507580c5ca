"""Values of a trained model's card for pages and commands."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotations.gold import selectors as gold
from annotations.models import Document, GoldVersion, Project, User
from annotations.scores.rules.intervals import FEW_NOTES, FewNotes
from annotations.scores.rules.rates import RatesData
from models_runtime.core.gold_sources import versions_of
from models_runtime.core.registry import language_models, trainable_kind
from models_runtime.core.stages import stages, without_gold_of
from models_runtime.models import TrainedModel, TrainedModelState
from models_runtime.models.cards import ModelCard
from models_runtime.training.services.trained import trouble_of

# Of a model that was trained before its card held the interval.
NO_INTERVAL = "This model was trained before intervals were computed."
GRANULARITY = {"subcategory": "label", "category": "category", "binary": "binary"}


def is_by_one_person(model: TrainedModel) -> bool:
    """Whether the notes of the gold version that a model learned from are the work of one person."""
    found = GoldVersion.objects.filter(project_id=model.project_id, number=model.card.get("gold") or 0).first()
    return found is not None and gold.is_by_one_person(found)


def self_trained(card: ModelCard) -> dict[str, Any] | None:
    """Return what a model learned from notes without gold, as in `cards.SelfTraining`; `notes`: how many in all."""
    if (own := card.get("self_training")) is None:
        return None
    told = {key: value for key, value in own.items() if key != "documents"}
    return told | {"notes": len(own["documents"])}


def silver(card: ModelCard) -> dict[str, Any] | None:
    """Return what a model learned from silver data, as in `cards.Silver`; `notes`: how many."""
    own = card.get("silver")
    return {"author": own["author"], "spans": own["spans"], "notes": len(own["documents"])} if own else None


def headline(card: ModelCard) -> RatesData | None:
    """Return precision, recall, F1 and counts of exact spans by label on the hold-out, or None without a score."""
    scores = card.get("scores")
    return scores["levels"][0]["micro"] if scores else None


def better_rules(card: ModelCard) -> float | None:
    """Return the F1 of the built-in rules on the hold-out if the model's is lower, else None."""
    scores, own = card.get("scores"), headline(card)
    rules = scores.get("rules_f1") if scores else None
    return rules if rules is not None and own is not None and (own["f1"] or 0.0) < rules else None


LOSS_HELP = gettext_lazy("Remaining error on the training notes. It doesn't measure performance on other notes.")


@dataclass(frozen=True)
class TrainingCurve:
    """How a training went, step by step. `best` says which of the values is the best: highest, lowest, or neither."""

    key: str
    values: "Sequence[float] | Sequence[tuple[float, float]]"
    title: str
    across: str
    up: str
    help: str
    best: str = ""


def curve_of(model: TrainedModel) -> TrainingCurve | None:
    """Return the curve that says most: of held-out notes if there is one, else the loss. None before a second step."""
    card, epoch = model.card, _("Epoch")
    losses = card.get("held_out_losses", [])
    if len(losses) > 1 and not trainable_kind(model.backend).predicts:
        return TrainingCurve(
            "language", losses, _("Loss on held-out notes by epoch"), epoch, _("Loss"), "", best="lowest"
        )
    if len(model.hold_out) > 1:
        title = _("F1 on held-out notes by epoch")
        return TrainingCurve("hold-out", model.hold_out, title, epoch, "F1", _hold_out_help(model), best="highest")
    if len(masking := card.get("hold_out_masking", [])) > 1:
        title = _("Masking of held-out notes by iteration")
        return TrainingCurve("masking", masking, title, _("Iteration"), _("Share"), masking_help(model))
    if len(model.losses) > 1:
        return TrainingCurve("loss", model.losses, _("Loss by iteration"), _("Iteration"), _("Loss"), str(LOSS_HELP))
    return None


def chose_epoch(model: TrainedModel) -> bool:
    """Whether the held-out notes choose the epoch that is kept."""
    return bool(model.params.get("refit") and (model.card.get("held_out") or not model.card.get("sha256")))


def _hold_out_help(model: TrainedModel) -> str:
    if model.state == TrainedModelState.FAILED:
        return _("Exact spans by label.")
    if chose_epoch(model):
        return _("Exact spans by label. The best epoch was kept, so its value may be slightly too good.")
    if model.params.get("settings", {}).get("anneal") == "held-out":
        return _(
            "Exact spans by label. The loss on these notes decided when training ended, so the last value may be too "
            "good."
        )
    return _("Exact spans by label. No epoch is selected by this figure, so the last value is unbiased.")


def masking_help(model: TrainedModel) -> str:
    """Say what the curve of masking counts, and which of its iterations was chosen."""
    by_epoch = trainable_kind(model.backend).by_epoch
    told = [
        _("Share of marked characters, regardless of their labels.")
        if by_epoch
        else _("Share of marked tokens, regardless of their labels.")
    ]
    if chose_epoch(model):
        told.append(_("Chosen: the best recall with a precision of 90% or more, else the best F1."))
        if not by_epoch:
            told.append(_("The last iteration is chosen if it is worse by half a point at most."))
    return " ".join(told)


def perplexity(card: ModelCard) -> float | None:
    """Return a language model's perplexity on held-out notes: e to the power of its last loss. None without one."""
    losses = card.get("held_out_losses")
    return math.exp(losses[-1]) if losses else None


def held_out_losses(card: ModelCard) -> list[float]:
    """Return the losses on held-out notes after each epoch: of a language model, or of language pre-training."""
    return card.get("held_out_losses") or card.get("adapted_held_out", [])


def held_out_share(card: ModelCard) -> float | None:
    """Return the share of the hold-out in the notes that the training read, in percent; None without a hold-out."""
    held_out = card.get("held_out")
    return 100 * held_out / (card["notes"] + held_out) if held_out else None


def kept_with(model: TrainedModel) -> "QuerySet[TrainedModel]":
    """Return the models that the training of this one kept besides it."""
    return TrainedModel.objects.filter(project=model.project_id, card__made_with=model.pk).order_by("pk")


def made_with(model: TrainedModel) -> TrainedModel | None:
    """Return the model whose training kept this one besides it."""
    return TrainedModel.objects.filter(project=model.project_id, pk=model.card.get("made_with", 0)).first()


def few_notes_of(card: ModelCard) -> FewNotes | None:
    """Return the interval of the headline's F1 on few notes; None for a hold-out of FEW_NOTES notes or more."""
    scores = card.get("scores")
    if not scores or scores["notes"] >= FEW_NOTES:
        return None
    return scores.get("few_notes") or {"low": None, "high": None, "no_interval": NO_INTERVAL}


def other_versions(model: TrainedModel, person: User) -> list[dict[str, Any]]:
    """List the versions of other projects from which a model learned (`of`), as the person may see them.

    `project` is None if the person is not a member there.
    """
    also = model.card.get("also", [])
    ids = [of["project"] for of in also]
    rows = Project.objects.filter(pk__in=ids, memberships__user=person, memberships__active=True)
    seen = {project.pk: project for project in rows} if also else {}
    return [{"project": seen.get(of["project"]), "of": of} for of in also]


def erased_since(model: TrainedModel) -> bool:
    """Whether notes from which the model or an earlier stage learned were erased or deleted since its training.

    These are the notes of its gold versions, and those without gold of a self-training or of silver data.

    Its weights may still contain words of these notes. Unknown, so False, for models whose card lacks the counts.
    """
    return model.state == TrainedModelState.READY and any(map(_erased_since, stages(model)))


def _erased_since(model: TrainedModel) -> bool:
    card = model.card
    documents = without_gold_of(card)
    there = sum(
        Document.objects.filter(project=model.project_id, pk__in=documents[at : at + 500]).count()
        for at in range(0, len(documents), 500)
    )
    if there < len(documents):
        return True
    counts = {one.content_hash: one.erased_count for one in versions_of(model)}
    known = [(of["gold_hash"], of["erased"]) for of in card.get("also", [])]
    known += [(card["gold_hash"], card["erased"])] if "erased" in card else []
    return any(counts.get(gold_hash) != erased for gold_hash, erased in known)


def summary(model: TrainedModel) -> dict[str, Any]:
    """A model as commands print it and programs read it.

    Scores are None for an uploaded model and for one without a hold-out. `notes`, `held_out` and all figures are those
    of the held-out model, also where `refit` tells of a later one. Notes of a `self_training` and of `silver` data are
    not counted in `notes`. `random_split`: the seed of a hold-out that was drawn for this training; None for that of
    its gold version. `refit_elsewhere`: of an uploaded model, how many of its notes had chosen its iterations.
    `thresholds`: figures of the held-out notes at each masking threshold, empty for a model that gives no
    probabilities. `better_rules`: the F1 of the built-in rules on the hold-out, if the model's is lower.
    """
    card, scores = model.card, model.card.get("scores")
    levels = {GRANULARITY[level["granularity"]]: level["micro"] for level in scores["levels"]} if scores else {}
    known = ("gold", "gold_hash", "notes", "held_out", "refit", "refit_elsewhere", "sha256", "seconds")
    return {
        "model": model.name,
        "model_id": model.pk,
        "backend": model.backend,
        "state": model.state,
        "trouble": trouble_of(model),
        **{name: card.get(name) for name in known},
        "also": card.get("also", []),
        "algorithm": card.get("algorithm") or model.params.get("algorithm"),
        "random_split": card.get("random_split", model.params.get("random_split")),
        "self_training": self_trained(card),
        "silver": silver(card),
        "f1": levels["label"]["f1"] if scores else None,
        "better_rules": better_rules(card),
        "few_notes": few_notes_of(card),
        "character_recall": scores["characters"]["recall"] if scores else None,
        "perplexity": perplexity(card) if model.backend in language_models() else None,
        "epochs": card.get("epochs", []),
        "held_out_before": card.get("held_out_before"),
        "held_out_losses": held_out_losses(card),
        "kept": list(kept_with(model).values_list("name", flat=True)),
        "levels": levels,
        "labels": scores["labels"] if scores else [],
        "thresholds": scores.get("thresholds", []) if scores else [],
    }
