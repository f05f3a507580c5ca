"""The card of a model that was just trained: what it learned from."""

from collections.abc import Sequence

from models_runtime.core.gold_notes import languages_of
from models_runtime.core.gold_sources import GoldSource
from models_runtime.core.registry import trainable_kind
from models_runtime.models import TrainedModel
from models_runtime.models.cards import ModelCard, OtherVersion
from models_runtime.training.jobs.watching import Watch


def card_of(row: TrainedModel, sources: Sequence[GoldSource], watch: Watch) -> ModelCard:
    version, notes = sources[0].version, sources[0].notes
    held_out = [pk for source in sources for pk in source.notes.hold_out]
    predicts = trainable_kind(row.backend).predicts
    spans = [spans_of(source, source.notes.train) if predicts else 0 for source in sources]
    card: ModelCard = {
        **watch.so_far(),
        "gold": version.number,
        "gold_hash": version.content_hash,
        "seed": notes.seed,
        "split_of_version": notes.of_version,
        "split": version.split_seed,
        "label_set": row.project.label_set.key,
        "algorithm": row.params["algorithm"],
        "iterations": len(watch.losses),
        "notes": sum(len(source.notes.train) for source in sources),
        "held_out": len(held_out),
        "held_out_notes": held_out,
        "spans": sum(spans),
        "languages": sorted({code for source in sources for code in languages_of(source.version)}),
        "erased": version.erased_count,
    }
    if len(sources) > 1:
        card["also"] = [_other_version(source, own) for source, own in zip(sources[1:], spans[1:], strict=True)]
    if watch.unlabeled or not predicts:
        card["unlabeled"] = watch.unlabeled
    if "base" in row.params:
        card["base"] = row.params["base"]
    if "random_split" in row.params:
        card["random_split"] = row.params["random_split"]
    if "language" in row.params:
        card["language"] = row.params["language"]
    return card


def _other_version(source: GoldSource, spans: int) -> OtherVersion:
    return {
        "project": source.version.project_id,
        "gold": source.version.number,
        "gold_hash": source.version.content_hash,
        "notes": len(source.notes.train),
        "spans": spans,
        "held_out": len(source.notes.hold_out),
        "left_out": source.left_out,
        "no_label": source.without_label(),
        "erased": source.version.erased_count,
    }


def spans_of(source: GoldSource, documents: Sequence[int]) -> int:
    """Count the gold spans of these notes, in labels of the training project."""
    return sum(len(spans) for _, spans in source.read(documents))
