"""A trained model's card in plain values, the same for pages and commands."""

from typing import Any

from models_runtime.models import TrainedModel
from models_runtime.training.services.trained import trouble_of

GRANULARITY = {"subcategory": "label", "category": "category", "binary": "binary"}


def headline(card: dict[str, Any]) -> dict[str, Any] | None:
    """Exact spans by label on the held-out notes: precision, recall, f1 and counts; None where it was not scored."""
    scores = card.get("scores")
    return scores["levels"][0]["micro"] if scores else None


def summary(model: TrainedModel) -> dict[str, Any]:
    """What commands print of a model. Scores are None where none are known (uploaded, or nothing was held out)."""
    scores = model.card.get("scores")
    levels = {GRANULARITY[level["granularity"]]: level["micro"] for level in scores["levels"]} if scores else {}
    return {
        "model": model.name,
        "model_id": model.pk,
        "backend": model.backend,
        "state": model.state,
        "trouble": trouble_of(model),
        "gold": model.card.get("gold"),
        "gold_hash": model.card.get("gold_hash"),
        "algorithm": model.card.get("algorithm") or model.params.get("algorithm"),
        "notes": model.card.get("notes"),
        "held_out": model.card.get("held_out"),
        "sha256": model.card.get("sha256"),
        "seconds": model.card.get("seconds"),
        "f1": levels["label"]["f1"] if scores else None,
        "character_recall": scores["characters"]["recall"] if scores else None,
        "levels": levels,
    }
