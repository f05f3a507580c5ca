"""Label notes without gold for a training, in two rounds.

First the labels are those of a run. A model learns from them and from the gold, and its labels are those of the second
round, from which the training's model learns.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from django.utils.translation import gettext

from annotations.core.errors import ServiceError
from models_runtime.backends import children
from models_runtime.backends.marginals import GivesMarginals
from models_runtime.backends.self_labels import WEIGHT, SelfLabeled, labeled_by
from models_runtime.core.combining import models_behind
from models_runtime.core.gold_sources import GoldSource
from models_runtime.core.registry import trainable_kind
from models_runtime.core.self_training import SELF_TRAINING, check_unseen, labels_of, notes_without_gold
from models_runtime.models import Run, TrainedModel
from models_runtime.models.cards import SelfTraining
from models_runtime.training.jobs.options import loaded, options_of, unlabeled_texts
from models_runtime.training.jobs.watching import Watch


@dataclass(frozen=True)
class SelfLabels:
    """The notes with the labels of the last round, and what the card says of them; None without self-training."""

    notes: Sequence[SelfLabeled] = ()
    card: SelfTraining | None = field(default=None)


def self_labels(
    row: TrainedModel, sources: Sequence[GoldSource], folder: Path, newest: int, watch: Watch
) -> SelfLabels:
    """Label the notes of the run that the training names. Empty if it names none.

    Deterministic, so that a repeated or continued training learns from the same labels. Raises ServiceError
    `self_training` if the run no longer exists or is sure of no span, and BackendError.
    """
    wanted = row.params.get(SELF_TRAINING)
    if wanted is None:
        return SelfLabels()
    run = Run.objects.select_related("author", "project", "model").filter(pk=wanted["run"], project=row.project_id)
    if (teacher := run.first()) is None:
        raise ServiceError(
            gettext("The run “%(name)s” no longer exists. Start a new training with another run.")
            % {"name": wanted["name"]},
            code=SELF_TRAINING,
        )
    versions = [source.version for source in sources]
    check_unseen(teacher, versions, row.params)
    notes = notes_without_gold(teacher, versions, row.params, newest)
    texts: dict[int, str] = {}
    first: dict[int, SelfLabeled] = {}
    for pk, text, found in labels_of(teacher, notes):
        texts[pk] = text
        if found is not None:
            first[pk] = found
        watch.first_round(None)
    if not any(each.spans for each in first.values()):
        raise ServiceError(
            gettext("The run “%(name)s” is sure of no span in a note without gold. Start a training without it.")
            % {"name": wanted["name"]},
            code=SELF_TRAINING,
        )
    model = _first_model(row, sources, folder / "round-1.zip", newest, watch, list(first.values()))
    second: dict[int, SelfLabeled] = {}
    for pk, text in texts.items():
        if (found := labeled_by(model, text)) is not None:
            second[pk] = found
        watch.first_round(None)
    last = list((second or first).values())
    return SelfLabels(
        last,
        {
            "run": wanted["name"],
            "models": [each.name for each in models_behind(teacher)],
            "read": len(texts),
            "notes": [len(first), len(second)],
            "spans": sum(len(each.spans) for each in last),
            "weight": WEIGHT,
            "documents": sorted({*first, *second}),
        },
    )


def _first_model(
    row: TrainedModel,
    sources: Sequence[GoldSource],
    path: Path,
    newest: int,
    watch: Watch,
    labeled: Sequence[SelfLabeled],
) -> GivesMarginals:
    """Train the model of the first round, without language pre-training. It is not kept."""
    kind, options = trainable_kind(row.backend), options_of(row, sources[0].version)
    checkpoint = options["checkpoint"] and str(Path(options["checkpoint"]).with_name("round-1"))
    children.train(
        kind.child,
        (note for source in sources for note in source.read(source.notes.train)),
        path,
        options=options | {"adapt": 0, "checkpoint": checkpoint},
        unlabeled=unlabeled_texts(row, sources[0].version, newest, None),
        on_step=watch.first_round,
        self_labeled=labeled,
    )
    backend = loaded(row, path)
    assert isinstance(backend, GivesMarginals)  # Kinds that learn from labels of models do.
    return backend
