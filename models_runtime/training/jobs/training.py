"""Train a model on a frozen gold version in a separate process. One transaction stores its file, card and state.

If the worker is killed, the training continues from its last epoch. A kind without epochs (crfsuite) starts again
with the same notes in the same order, which gives the same model, byte for byte.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, cast

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext

from annotations.core.services import ServiceError, erasures_of
from annotations.jobs.runner import Claim
from annotations.models import GoldVersion, User
from annotations.scores.selectors import label_words
from annotations.text.spans import Span
from models_runtime.backends import children, files
from models_runtime.backends.base import Backend, BackendError
from models_runtime.backends.learner import TrainingResult
from models_runtime.backends.marginals import WEIGHT, GivesMarginals, SelfLabeled, labeled_by
from models_runtime.core.combining import models_behind
from models_runtime.core.gold_sources import GoldSource, Note, gold_sources, languages_of, manages, versions_of
from models_runtime.core.model_files import store_model
from models_runtime.core.registry import trainable_kind
from models_runtime.core.silver import SILVER, read_silver, silver_notes
from models_runtime.core.stages import SELF_TRAINING, check_hold_out, check_unseen, labels_of, notes_without_gold
from models_runtime.models import OF_MODEL, Calibration, Run, TrainedModel, TrainedModelState
from models_runtime.models.cards import ModelCard, OtherVersion, Refit, SelfTraining
from models_runtime.training.jobs import kept_models as jobs_options
from models_runtime.training.jobs.calibration import HeldOut, calibration_of, keep
from models_runtime.training.jobs.kept_models import KeptModel, hold_out_scores, kept_models, rules_f1, store_kept
from models_runtime.training.jobs.watching import Watch, check_unerased

State = TrainedModelState
# Settings that keep models besides the training's own. A refit makes only its own.
KEEPING = ("checkpoints", "keep_language")


def run(claim: Claim) -> dict[str, Any]:
    """Train, score on the hold-out, refit on all notes if asked to, and store the model.

    Safe to repeat, because only the last transaction counts.
    """
    row = TrainedModel.objects.select_related("project__label_set", "gold_version").get(pk=claim.params["model_id"])
    if row.state != State.TRAINING or row.gold_version is None:
        message = gettext("This model can't be trained because its state is “%(state)s”.")
        raise ServiceError(message % {"state": row.get_state_display()}, code="state")
    jobs_options.forget_stale()
    with tempfile.TemporaryDirectory(prefix="deidreview-train-") as folder:
        training = _TrainingJob(claim, row, Path(folder))
        try:
            training.train()
        except BackendError as error:
            raise ServiceError(str(error), code="training") from error
        training.keep()
    jobs_options.forget(row.pk)
    return _result(row, row.card)


def undo(params: dict[str, Any], state: str) -> dict[str, Any] | None:
    """Mark a stopped or failed training as failed and delete its checkpoint."""
    row = TrainedModel.objects.filter(pk=params["model_id"]).first()
    if row is None:
        return None
    if row.state == State.READY:
        return _result(row, row.card)
    TrainedModel.objects.filter(pk=row.pk, state=State.TRAINING).update(state=State.FAILED)
    jobs_options.forget(row.pk)
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


def _versions(row: TrainedModel, actor: User | None) -> list[GoldVersion]:
    """Return the versions of the training, the own one first.

    Raises ServiceError `also` if one no longer exists, or if the person who started the job no longer manages its
    project.
    """
    versions = versions_of(row)
    lost = len(versions) < 1 + len(row.params.get("also", []))
    if lost or (actor and not all(manages(actor, one.project) for one in versions[1:])):
        message = gettext(
            "The gold of another project can't be used: it was deleted, or you no longer manage that project. "
            "Start a new training."
        )
        raise ServiceError(message, code="also")
    return versions


class _TrainingJob:
    """One training: its gold, what it reports, and the card of its model.

    With self-training, notes without gold are labeled in two rounds. First the labels are those of a run. A model
    learns from them and from the gold, and its labels are those of the second round, from which the training's model
    learns.
    """

    def __init__(self, claim: Claim, row: TrainedModel, folder: Path) -> None:
        self.claim, self.row, self.folder, self.kind = claim, row, folder, trainable_kind(row.backend)
        self.begun, self.newest = time.monotonic(), int(claim.params["newest"])
        self.actor = User.objects.filter(pk=claim.actor_id).first() if claim.actor_id else None
        versions = _versions(row, self.actor)
        self.erased = {one.project_id: erasures_of(one.project_id) for one in versions}
        self.sources = gold_sources(row.project, versions, row.params)
        self.version = versions[0]
        # Again, since an erasure or a new split may have changed the hold-out after the start.
        check_hold_out(row.project, row.params, versions)
        self.silver = row.params.get("silver")
        self.silver_notes = (
            silver_notes(row.project, self.silver["author"], versions, row.params, self.newest) if self.silver else []
        )
        if self.silver and not self.silver_notes:
            message = gettext("“%(name)s” has no note without gold to learn from any more. Start a new training.")
            raise ServiceError(message % {"name": self.silver["name"]}, code=SILVER)
        # Whether the training is repeated on all notes. Without a hold-out it has learned from all notes already.
        self.refits = bool(row.params.get("refit")) and any(source.notes.hold_out for source in self.sources)
        self.watch = Watch(claim, row, self.erased)
        self.labels: Sequence[SelfLabeled] = ()
        self.path = folder / "model.zip"
        self.card: ModelCard = {}
        self.kept: list[KeptModel] = []
        self.calibration: Calibration | None = None

    def train(self) -> None:
        """Make the model, its card, its calibration, and the models to keep besides it. Raises BackendError."""
        labeled = self._self_labels()
        learned = self._learn()
        backend = jobs_options.loaded(self.row, self.path)
        scored, outcomes = self._scored(backend)
        self.card = {**self._about_gold(), **learned, **scored, **labeled}
        self.kept = kept_models(self.row, self._held_out, self.card, self.watch.scoring)
        if self.refits:
            self.card |= self._refitted()
            backend = jobs_options.loaded(self.row, self.path)
        self.card["seconds"] = round(time.monotonic() - self.begun, 1)
        self.card["date"] = timezone.now().isoformat(timespec="seconds")
        if backend is not None:
            self.calibration = self._calibrated(backend, outcomes) if outcomes else None
            self.card["labels"] = list(backend.labels)
        if self.kind.stacked:
            self.card["embeddings"] = files.card_of(self.path)["embeddings"]

    def keep(self) -> None:
        """Store the model, and those that the training kept besides it.

        Raises ErasedMeanwhile if notes of its projects were erased since the training began: the weights may contain
        their text.
        """
        row, watch = self.row, self.watch
        with self.claim.fenced(), self.path.open("rb") as content:
            check_unerased(self.erased)
            stored = store_model(row.project, row.name, row.backend, content, self.actor)
            row.card, row.losses, row.hold_out = self.card, watch.losses, watch.hold_out
            TrainedModel.objects.filter(pk=row.pk).update(
                state=State.READY, card=row.card, losses=row.losses, hold_out=row.hold_out, stored_file=stored
            )
            if self.calibration is not None:
                keep(self.calibration, self.actor)
            store_kept(row, self.kept, self.actor)
            self.claim.done = self.claim.total
            self.claim.finish(_result(row, self.card))

    def _train_notes(self) -> Iterator[Note]:
        for source in self.sources:
            yield from source.read(source.notes.train)
        yield from self._silver()

    def _silver(self) -> Iterator[Note]:
        return read_silver(self.row.project, self.silver["author"], self.silver_notes) if self.silver else iter(())

    def _held_out(self) -> Iterator[Note]:
        return (note for source in self.sources for note in source.read(source.notes.hold_out))

    def _about_gold(self) -> ModelCard:
        """The card's part about what the model learned from."""
        row, version, notes = self.row, self.version, self.sources[0].notes
        held_out = [pk for source in self.sources for pk in source.notes.hold_out]
        spans = [_spans_of(source, source.notes.train) if self.kind.predicts else 0 for source in self.sources]
        card: ModelCard = {
            **self.watch.so_far(),
            "gold": version.number,
            "gold_hash": version.content_hash,
            "seed": notes.seed,
            "split_of_version": notes.of_version,
            "split": version.split_seed,
            "label_set": row.project.label_set.key,
            "algorithm": row.params["algorithm"],
            "iterations": len(self.watch.losses),
            "notes": sum(len(source.notes.train) for source in self.sources),
            "held_out": len(held_out),
            "held_out_notes": held_out,
            "spans": sum(spans),
            "languages": sorted({code for source in self.sources for code in languages_of(source.version)}),
            "erased": version.erased_count,
        }
        if len(self.sources) > 1:
            others = zip(self.sources[1:], spans[1:], strict=True)
            card["also"] = [_other_version(source, own) for source, own in others]
        if self.silver:
            spans_read = sum(len(found) for _text, found in self._silver())
            card["silver"] = {"author": self.silver["name"], "spans": spans_read, "documents": self.silver_notes}
        if self.watch.unlabeled or not self.kind.predicts:
            card["unlabeled"] = self.watch.unlabeled
        # The card has these keys of the parameters, too.
        kept = {key: row.params.get(key) for key in ("base", "random_split", "language") if key in row.params}
        return card | cast(ModelCard, kept)

    def _self_labels(self) -> ModelCard:
        """Label the notes of the run that the training names, and tell how. Empty if it names none.

        Deterministic, so that a repeated or continued training learns from the same labels. Raises ServiceError
        `self_training` if the run no longer exists or is sure of no span, and BackendError.
        """
        row, watch = self.row, self.watch
        wanted = row.params.get(SELF_TRAINING)
        if wanted is None:
            return {}
        run = Run.objects.select_related("author", "project", "model").filter(pk=wanted["run"], project=row.project_id)
        if (teacher := run.first()) is None:
            message = gettext("The run “%(name)s” no longer exists. Start a new training with another run.")
            raise ServiceError(message % {"name": wanted["name"]}, code=SELF_TRAINING)
        versions = [source.version for source in self.sources]
        check_unseen(teacher, versions, row.params)
        notes = notes_without_gold(teacher, versions, row.params, self.newest)
        texts: dict[int, str] = {}
        first: dict[int, SelfLabeled] = {}
        for pk, text, found in labels_of(teacher, notes):
            texts[pk] = text
            if found is not None:
                first[pk] = found
            watch.first_round(None)
        if not any(each.spans for each in first.values()):
            raise ServiceError(
                gettext("The run “%(name)s” has no confident span in a note without gold. Start a training without it.")
                % {"name": wanted["name"]},
                code=SELF_TRAINING,
            )
        model = self._first_model(list(first.values()))
        second: dict[int, SelfLabeled] = {}
        for pk, text in texts.items():
            if (found := labeled_by(model, text)) is not None:
                second[pk] = found
            watch.first_round(None)
        self.labels = list((second or first).values())
        told: SelfTraining = {
            "run": wanted["name"],
            "models": [each.name for each in models_behind(teacher)],
            "read": len(texts),
            "notes": [len(first), len(second)],
            "spans": sum(len(each.spans) for each in self.labels),
            "weight": WEIGHT,
            "documents": sorted({*first, *second}),
        }
        return {"self_training": told}

    def _first_model(self, labeled: Sequence[SelfLabeled]) -> GivesMarginals:
        """Train the model of the first round, without language pre-training. It is not kept."""
        path, own = self.folder / "round-1.zip", {"adapt": 0, "checkpoint": self._checkpoint("round-1")}
        self._taught(self._train_notes(), path, own, self.watch.first_round, self_labeled=labeled)
        backend = jobs_options.loaded(self.row, path)
        assert isinstance(backend, GivesMarginals)  # Kinds that learn from labels of models do.
        return backend

    def _checkpoint(self, name: str) -> str | None:
        """The checkpoint of another training of this job than the one of its own model."""
        return str(jobs_options.checkpoint_of(self.row.pk).with_name(name)) if self.kind.by_epoch else None

    def _taught(
        self, notes: Iterator[Note], path: Path, own: dict[str, Any], on_step: children.OnStep, **more: Any
    ) -> TrainingResult:
        """Learn from the notes in a child process, with these options of its own."""
        counting = self.watch if on_step is self.watch else None
        unlabeled = jobs_options.unlabeled_texts(self.row, self.version, self.newest, counting)
        options = jobs_options.options_of(self.row, self.version) | own
        return children.train(
            self.kind.learner, notes, path, options=options, unlabeled=unlabeled, on_step=on_step, **more
        )

    def _learn(self) -> TrainingResult:
        """Learn from the training notes. If a refit follows, the hold-out chooses the iterations."""
        train = self._train_notes()
        held_out = self._held_out() if self.kind.by_epoch or self.refits else iter(())
        if not self.kind.predicts:
            train, held_out = jobs_options.without_spans(train), jobs_options.without_spans(held_out)
        own = {"choose": self.refits}
        result = self._taught(train, self.path, own, self.watch, held_out=held_out, self_labeled=self.labels)
        if not self.refits:
            del result["iterations"]  # All that the watch counted.
        return result

    def _refitted(self) -> ModelCard:
        """Repeat the training on all notes but test notes, up to the iteration that the hold-out has chosen.

        Returns what changes in the card of the held-out model.
        """
        watch = self.watch
        most = self.card["iterations"] if self.kind.by_epoch else watch.chosen
        watch.begin_refit(most)
        given = self.row.params.get("settings", {})
        settings = {key: value for key, value in given.items() if key not in KEEPING}
        own = {"iterations": watch.most, "stop_after": most, "settings": settings}
        own |= {"refit": sum(len(source.notes.hold_out) for source in self.sources)}
        own |= {"checkpoint": self._checkpoint("refit")}
        notes = chain((note for source in self.sources for note in source.read(source.everything)), self._silver())
        self.path = self.folder / "refit.zip"
        result = self._taught(notes, self.path, own, watch.refit, self_labeled=self.labels)
        refit: Refit = {
            "notes": sum(len(source.everything) for source in self.sources),
            "spans": sum(_spans_of(source, source.everything) for source in self.sources),
            "iterations": result["iterations"],
            "held_out_sha256": self.card["sha256"],
        }
        return {**watch.so_far(), "sha256": result["sha256"], "refit": refit}

    def _scored(self, backend: Backend | None) -> tuple[ModelCard, HeldOut | None]:
        """Score the model on the hold-out, and count its outcomes there. Its trainer measured a language model."""
        own = self.sources[0].notes.hold_out
        if backend is None:
            return {"scores": None}, None
        held_out = HeldOut(own)

        def count(index: int, found: Sequence[Span], gold: Sequence[Span]) -> None:
            """Count a held-out note for the calibration, which is the project's: only its own notes, the first ones."""
            if index < len(own):
                held_out(index, found, gold)

        words, tick = label_words(self.row.project), self.watch.scoring
        scores = hold_out_scores(backend, self._held_out(), words, tick=tick, on_note=count)
        if scores is not None:
            scores["rules_f1"] = rules_f1(self.row.project.label_set.key, self._held_out(), words, tick=tick)
        return {"scores": scores}, held_out

    def _calibrated(self, backend: Backend, held_out: HeldOut) -> Calibration | None:
        """Calibrate the model on its hold-out, a refitted one on the outcomes of the held-out model.

        Return None if the hold-out has too few spans.
        """
        of_model = {"backend": f"{OF_MODEL}{self.row.pk}", "revision": backend.revision, "model": self.row}
        own = {"notes": len(self.sources[0].notes.hold_out), "held_out": True}
        try:
            return calibration_of(held_out.outcomes, held_out.added, self.version, **of_model, **own)
        except ServiceError:
            return None


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


def _spans_of(source: GoldSource, documents: Sequence[int]) -> int:
    """Count the gold spans of these notes, in labels of the training project."""
    return sum(len(spans) for _, spans in source.read(documents))


def _result(row: TrainedModel, card: ModelCard) -> dict[str, Any]:
    result = {"model_id": row.pk, "model": row.name, "notes": card["notes"], "held_out": card["held_out"]}
    return result | ({"refit": card["refit"]["notes"]} if "refit" in card else {})
