"""Train a model on a frozen gold version in a separate process. One transaction stores its file, card and state.

If the worker is killed, the training continues from its last epoch. A kind without epochs (crfsuite) starts again
with the same notes in the same order, which gives the same model, byte for byte.
"""

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext

from annotations.core.errors import ServiceError
from annotations.core.locks import erasures_of
from annotations.core.stored_files import store_file
from annotations.jobs.runner import Claim
from annotations.models import GoldVersion, StoredFileKind, User
from annotations.scores.selectors import label_words
from annotations.text.spans import Span
from models_runtime.backends import children, files
from models_runtime.backends.base import Backend, BackendError
from models_runtime.backends.learner import TrainingResult
from models_runtime.backends.marginals import WEIGHT, GivesMarginals, SelfLabeled, labeled_by
from models_runtime.core.combining import models_behind
from models_runtime.core.gold_sources import GoldSource, Note, gold_sources, languages_of, manages, versions_of
from models_runtime.core.registry import trainable_kind
from models_runtime.core.self_training import SELF_TRAINING, check_unseen, labels_of, notes_without_gold
from models_runtime.core.stages import check_hold_out
from models_runtime.models import OF_MODEL, Calibration, Run, TrainedModel, TrainedModelState
from models_runtime.models.cards import ModelCard, OtherVersion, Refit, SelfTraining
from models_runtime.training.jobs.calibration import HeldOut, calibration_of, keep
from models_runtime.training.jobs.checkpoints import checkpoint_of, forget, forget_stale
from models_runtime.training.jobs.holding_out import hold_out_scores, rules_f1
from models_runtime.training.jobs.kept_models import Kept, kept_models, store_kept
from models_runtime.training.jobs.options import loaded, options_of, unlabeled_texts, without_spans
from models_runtime.training.jobs.watching import Watch, check_unerased

# The card of a model that was just trained: what it learned from.


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


# Label notes without gold for a training, in two rounds.
#
# First the labels are those of a run. A model learns from them and from the gold, and its labels are those of the
# second round, from which the training's model learns.


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
        kind.learner,
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


State = TrainedModelState
# Settings that keep models besides the training's own. A refit makes only its own.
KEEPING = ("checkpoints", "keep_language")


def run(claim: Claim) -> dict[str, Any]:
    """Train, score on the hold-out, refit on all notes if asked to, and store the model.

    Safe to repeat, because only the last transaction counts.
    """
    row = TrainedModel.objects.select_related("project__label_set", "gold_version").get(pk=claim.params["model_id"])
    version = row.gold_version
    if row.state != State.TRAINING or version is None:
        raise ServiceError(
            gettext("This model can't be trained because its state is “%(state)s”.")
            % {"state": row.get_state_display()},
            code="state",
        )
    forget_stale()
    begun = time.monotonic()
    versions = _versions(row, claim)
    erased = {one.project_id: erasures_of(one.project_id) for one in versions}
    sources = gold_sources(row.project, versions, row.params)
    # Again, since an erasure or a new split may have changed the hold-out after the start.
    check_hold_out(row.project, row.params, versions)
    watch = Watch(claim, row, erased)
    with tempfile.TemporaryDirectory(prefix="deidreview-train-") as folder:
        path, newest = Path(folder) / "model.zip", int(claim.params["newest"])
        try:
            labels = self_labels(row, sources, Path(folder), newest, watch)
            learned = _learn(row, sources, path, newest, watch, labels)
            backend = loaded(row, path)
            scored, outcomes = _scored(row, sources, backend, watch)
            card: ModelCard = {**card_of(row, sources, watch), **learned, **scored}
            if labels.card is not None:
                card["self_training"] = labels.card
            kept = kept_models(row, lambda: _held_out(sources), card, watch.scoring)
            if _refits(row, sources):
                path = path.with_name("refit.zip")
                card |= _refitted(row, sources, path, newest, watch, card, labels)
                backend = loaded(row, path)
            card["seconds"] = round(time.monotonic() - begun, 1)
            card["date"] = timezone.now().isoformat(timespec="seconds")
            calibration = _calibration(row, sources[0], backend, outcomes) if backend and outcomes else None
            card |= _described(row, path, backend)
        except BackendError as error:
            raise ServiceError(str(error), code="training") from error
        _keep(claim, row, path, card, watch, erased, calibration, kept)
    forget(row.pk)
    return _result(row, card)


def undo(params: dict[str, Any], state: str) -> dict[str, Any] | None:
    """Mark a stopped or failed training as failed and delete its checkpoint."""
    row = TrainedModel.objects.filter(pk=params["model_id"]).first()
    if row is None:
        return None
    if row.state == State.READY:
        return _result(row, row.card)
    TrainedModel.objects.filter(pk=row.pk, state=State.TRAINING).update(state=State.FAILED)
    forget(row.pk)
    return None


def redo(params: dict[str, Any]) -> None:
    """Train again with the same settings. Raises ServiceError `exists` if another model has the name now."""
    row = TrainedModel.objects.select_for_update().get(pk=params["model_id"])
    try:
        with transaction.atomic():
            TrainedModel.objects.filter(pk=row.pk, state=State.FAILED).update(
                state=State.TRAINING, losses=[], hold_out=[], card={}, enough=False
            )
    except IntegrityError as error:
        raise ServiceError(
            gettext("Another model is now named “%(name)s”. Rename one of the two, then start the training again.")
            % {"name": row.name},
            code="exists",
        ) from error


def _versions(row: TrainedModel, claim: Claim) -> list[GoldVersion]:
    """Return the versions of the training, the own one first.

    Raises ServiceError `also` if one no longer exists, or if the person who started the job no longer manages its
    project.
    """
    actor = User.objects.filter(pk=claim.actor_id).first() if claim.actor_id else None
    versions = versions_of(row)
    lost = len(versions) < 1 + len(row.params.get("also", []))
    if lost or (actor and not all(manages(actor, one.project) for one in versions[1:])):
        raise ServiceError(
            gettext(
                "The gold of another project can't be used: it was deleted, or you no longer manage that project. "
                "Start a new training."
            ),
            code="also",
        )
    return versions


def _held_out(sources: Sequence[GoldSource]) -> Iterator[Note]:
    return (note for source in sources for note in source.read(source.notes.hold_out))


def _refits(row: TrainedModel, sources: Sequence[GoldSource]) -> bool:
    """Whether the training is repeated on all notes. Without a hold-out it has learned from all notes already."""
    return bool(row.params.get("refit")) and any(source.notes.hold_out for source in sources)


def _learn(
    row: TrainedModel, sources: Sequence[GoldSource], path: Path, newest: int, watch: Watch, labels: SelfLabels
) -> TrainingResult:
    """Learn from the training notes. If a refit follows, the hold-out chooses the iterations."""
    kind, chooses = trainable_kind(row.backend), _refits(row, sources)
    train: Iterator[Note] = (note for source in sources for note in source.read(source.notes.train))
    held_out = _held_out(sources) if kind.by_epoch or chooses else iter(())
    if not kind.predicts:
        train, held_out = without_spans(train), without_spans(held_out)
    result = children.train(
        kind.learner,
        train,
        path,
        options=options_of(row, sources[0].version) | {"choose": chooses},
        unlabeled=unlabeled_texts(row, sources[0].version, newest, watch),
        held_out=held_out,
        on_step=watch,
        self_labeled=labels.notes,
    )
    if not chooses:
        del result["iterations"]  # All that the watch counted.
    return result


def _refitted(
    row: TrainedModel,
    sources: Sequence[GoldSource],
    path: Path,
    newest: int,
    watch: Watch,
    card: ModelCard,
    labels: SelfLabels,
) -> ModelCard:
    """Repeat the training on all notes but test notes, up to the iteration that the hold-out has chosen.

    `card`: that of the held-out model. Returns what changes in it.
    """
    kind = trainable_kind(row.backend)
    most = card["iterations"] if kind.by_epoch else watch.chosen
    watch.begin_refit(most)
    options = options_of(row, sources[0].version)
    settings = {key: value for key, value in options["settings"].items() if key not in KEEPING}
    checkpoint = str(checkpoint_of(row.pk).with_name("refit")) if kind.by_epoch else None
    result = children.train(
        kind.learner,
        (note for source in sources for note in source.read(source.everything)),
        path,
        options=options
        | {"iterations": watch.most, "stop_after": most, "settings": settings, "checkpoint": checkpoint}
        | {"refit": sum(len(source.notes.hold_out) for source in sources)},
        unlabeled=unlabeled_texts(row, sources[0].version, newest, None),
        on_step=watch.refit,
        self_labeled=labels.notes,
    )
    refit: Refit = {
        "notes": sum(len(source.everything) for source in sources),
        "spans": sum(spans_of(source, source.everything) for source in sources),
        "iterations": result["iterations"],
        "held_out_sha256": card["sha256"],
    }
    return {**watch.so_far(), "sha256": result["sha256"], "refit": refit}


def _scored(
    row: TrainedModel, sources: Sequence[GoldSource], backend: Backend | None, watch: Watch
) -> tuple[ModelCard, HeldOut | None]:
    """Score the model on the hold-out, and count its outcomes there. A language model was measured by its trainer."""
    own = sources[0].notes.hold_out
    if backend is None:
        return {"scores": None}, None
    held_out = HeldOut(own)

    def count(index: int, found: Sequence[Span], gold: Sequence[Span]) -> None:
        """Count a held-out note for the calibration, which is the project's: only its own notes, the first ones."""
        if index < len(own):
            held_out(index, found, gold)

    words = label_words(row.project)
    scores = hold_out_scores(backend, _held_out(sources), words, tick=watch.scoring, on_note=count)
    if scores is not None:
        scores["rules_f1"] = rules_f1(row.project.label_set.key, _held_out(sources), words, tick=watch.scoring)
    return {"scores": scores}, held_out


def _described(row: TrainedModel, path: Path, backend: Backend | None) -> ModelCard:
    """Return what the model in the file is."""
    found: ModelCard = {"labels": list(backend.labels)} if backend is not None else {}
    if trainable_kind(row.backend).stacked:
        found["embeddings"] = files.card_of(path)["embeddings"]
    return found


def _calibration(row: TrainedModel, own: GoldSource, backend: Backend, held_out: HeldOut) -> Calibration | None:
    """Calibrate the model on its hold-out, a refitted one on the outcomes of the held-out model.

    Return None if the hold-out has too few spans.
    """
    try:
        made = calibration_of(
            held_out.outcomes,
            own.version,
            backend=f"{OF_MODEL}{row.pk}",
            revision=backend.revision,
            model=row,
            notes=len(own.notes.hold_out),
            added=held_out.added,
        )
    except ServiceError:
        return None
    made.held_out = True
    return made


def _keep(
    claim: Claim,
    row: TrainedModel,
    path: Path,
    card: ModelCard,
    watch: Watch,
    erased: Mapping[int, int],
    calibration: Calibration | None,
    kept: list[Kept],
) -> None:
    """Store the model, and those that the training kept besides it.

    Raises ErasedMeanwhile if notes of its projects were erased since the training began: the weights may contain their
    text.
    """
    actor = User.objects.filter(pk=claim.actor_id).first() if claim.actor_id else None
    with transaction.atomic(), path.open("rb") as content:
        claim.fence()
        check_unerased(erased)
        name = f"{slugify(row.name) or row.backend}.zip"
        stored = store_file(project=row.project, kind=StoredFileKind.MODEL, name=name, content=content, actor=actor)
        TrainedModel.objects.filter(pk=row.pk).update(
            state=State.READY, card=card, losses=watch.losses, hold_out=watch.hold_out, stored_file=stored
        )
        row.card, row.losses, row.hold_out = card, watch.losses, watch.hold_out
        if calibration is not None:
            keep(calibration, actor)
        store_kept(row, kept, actor)
        claim.done = claim.total
        claim.finish(_result(row, card))


def _result(row: TrainedModel, card: ModelCard) -> dict[str, Any]:
    result = {"model_id": row.pk, "model": row.name, "notes": card["notes"], "held_out": card["held_out"]}
    return result | ({"refit": card["refit"]["notes"]} if "refit" in card else {})
