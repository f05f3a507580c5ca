"""Models that a training makes on the way to its own and keeps on request (Salierno et al. 2024).

They are the state after each epoch but the last, and the weights after language pre-training.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from django.utils import timezone
from django.utils.text import slugify

from annotations.core.stored_files import store_file
from annotations.jobs.registry import load
from annotations.models import Project, StoredFileKind, User
from annotations.scores.selectors import label_words
from models_runtime.backends.base import Backend
from models_runtime.backends.files import digest
from models_runtime.core.gold_sources import Note
from models_runtime.core.model_names import name_with
from models_runtime.core.registry import trainable_kind
from models_runtime.models import TrainedModel, TrainedModelState
from models_runtime.models.cards import ModelCard, TrainingParams
from models_runtime.training.jobs.checkpoints import checkpoint_of
from models_runtime.training.jobs.holding_out import hold_out_scores

MASKED = "masked"


@dataclass(frozen=True)
class Kept:
    """A model: the end of its name, its kind, its file on this machine, and its card."""

    ending: str
    backend: str
    path: Path
    card: ModelCard


def kept_models(
    row: TrainedModel, held_out: Callable[[], Iterable[Note]], card: ModelCard, tick: Callable[[], None]
) -> list[Kept]:
    """List the models that the training was asked to keep. Those of epochs are scored on the notes of `held_out`.

    `card`: that of the whole training. `tick` is called after each note. Raises BackendError.
    """
    settings = row.params.get("settings", {})
    found = []
    if settings.get("keep_language") and card.get("adapted"):
        found.append(_language(row, card))
    if settings.get("checkpoints"):
        found += [_epoch(row, held_out(), card, epoch, tick) for epoch in range(1, card["iterations"])]
    return found


def _language(row: TrainedModel, card: ModelCard) -> Kept:
    path = checkpoint_of(row.pk).with_name("language.zip")
    learned = card.copy()
    learned.pop("adapted", None)
    learned.pop("adapted_held_out", None)
    learned.pop("epochs", None)
    learned.pop("labels", None)
    own: ModelCard = {
        **_shared(row, learned, path),
        "iterations": len(card["adapted"]),
        "held_out_losses": card.get("adapted_held_out", []),
        "unlabeled": card.get("unlabeled", 0),
        "scores": None,
    }
    return Kept("-language", MASKED, path, own)


def _epoch(row: TrainedModel, held_out: Iterable[Note], card: ModelCard, epoch: int, tick: Callable[[], None]) -> Kept:
    path = checkpoint_of(row.pk).with_name(f"epoch-{epoch}.zip")
    backend: Backend = load(trainable_kind(row.backend).factory)(path=str(path))
    scores = hold_out_scores(backend, held_out, label_words(row.project), tick=tick)
    own: ModelCard = {
        **_shared(row, card, path),
        "iterations": epoch,
        "epochs": card.get("epochs", [])[:epoch],
        "scores": scores,
        "epoch": epoch,
    }
    return Kept(f"-epoch-{epoch}", row.backend, path, own)


def _shared(row: TrainedModel, card: ModelCard, path: Path) -> ModelCard:
    return {
        **card,
        "sha256": digest(path),
        "made_with": row.pk,
        "date": timezone.now().isoformat(timespec="seconds"),
    }


def store_kept(row: TrainedModel, kept: list[Kept], actor: User | None) -> None:
    """Store models as models of their own, in the transaction that has just stored the training's model, `row`."""
    if kept:
        Project.objects.select_for_update().get(pk=row.project_id)  # Nobody takes one of the names meanwhile.
    for each in kept:
        ours, done = each.backend == row.backend, each.card["iterations"]
        name = name_with(row.project, row.name, each.ending)
        file = f"{slugify(name) or each.backend}.zip"
        with each.path.open("rb") as content:
            stored = store_file(project=row.project, kind=StoredFileKind.MODEL, name=file, content=content, actor=actor)
        TrainedModel.objects.create(
            project=row.project,
            name=name,
            backend=each.backend,
            state=TrainedModelState.READY,
            params=row.params if ours else _of_language(row),
            card=each.card,
            losses=row.losses[:done] if ours else row.card["adapted"],
            hold_out=row.hold_out[:done] if ours else [],
            gold_version=row.gold_version,
            stored_file=stored,
            created_by=row.created_by,
        )


def _of_language(row: TrainedModel) -> TrainingParams:
    """The parameters of a training whose only stage is the language pre-training of `row`."""
    params: TrainingParams = {"algorithm": MASKED, "iterations": len(row.card["adapted"])}
    if "base" in row.params:
        params["base"] = row.params["base"]
    if "base_model" in row.params:
        params["base_model"] = row.params["base_model"]
    if "language" in row.params:
        params["language"] = row.params["language"]
    if "also" in row.params:  # An erasure in these projects lists this model, too.
        params["also"] = row.params["also"]
    return params
