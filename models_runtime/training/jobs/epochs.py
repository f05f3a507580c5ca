"""Models of single epochs, kept on request: what the model was after each epoch but the last (Salierno et al. 2024)."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from django.utils import timezone
from django.utils.text import slugify

from annotations.core.stored_files import store_file
from annotations.jobs.registry import load
from annotations.models import GoldVersion, StoredFile, User
from annotations.scores.selectors import label_words
from models_runtime.backends.base import Backend
from models_runtime.backends.files import digest
from models_runtime.core.gold_notes import TrainingNotes, gold_notes
from models_runtime.core.model_names import name_of_epoch
from models_runtime.core.registry import trainable_kind
from models_runtime.models import TrainedModel
from models_runtime.models.cards import ModelCard
from models_runtime.training.jobs.checkpoints import checkpoint_of
from models_runtime.training.jobs.holding_out import hold_out_scores


@dataclass(frozen=True)
class Kept:
    """The model after an epoch: its file on this machine, and its card."""

    epoch: int
    path: Path
    card: ModelCard


def epoch_models(
    row: TrainedModel, version: GoldVersion, notes: TrainingNotes, card: ModelCard, tick: Callable[[], None]
) -> list[Kept]:
    """Score the models of the epochs before the last one on the hold-out. `card`: that of the whole training.

    Empty unless the training was asked to keep them. `tick` is called after each note.
    """
    if not row.params.get("settings", {}).get("checkpoints"):
        return []
    found = []
    for epoch in range(1, card["iterations"]):
        path = checkpoint_of(row.pk).with_name(f"epoch-{epoch}.zip")
        backend: Backend = load(trainable_kind(row.backend).factory)(path=str(path))
        scores = hold_out_scores(backend, gold_notes(version, notes.hold_out), label_words(row.project), tick=tick)
        own: ModelCard = {
            **card,
            "iterations": epoch,
            "epochs": card.get("epochs", [])[:epoch],
            "scores": scores,
            "sha256": digest(path),
            "epoch_of": row.pk,
            "date": timezone.now().isoformat(timespec="seconds"),
        }
        found.append(Kept(epoch, path, own))
    return found


def store_epoch_models(row: TrainedModel, kept: list[Kept], actor: User | None) -> None:
    """Store the models of epochs as models of their own, in the transaction that stores the training's model."""
    for each in kept:
        name = name_of_epoch(row.project, row.name, each.epoch)
        file = f"{slugify(name) or row.backend}.zip"
        with each.path.open("rb") as content:
            stored = store_file(
                project=row.project, kind=StoredFile.Kind.MODEL, name=file, content=content, actor=actor
            )
        TrainedModel.objects.create(
            project=row.project,
            name=name,
            backend=row.backend,
            state=TrainedModel.State.READY,
            params=row.params,
            card=each.card,
            gold_version=row.gold_version,
            stored_file=stored,
            created_by=row.created_by,
        )
