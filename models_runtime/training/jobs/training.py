"""Train a model on a frozen gold version in a separate process. One transaction stores its file, card and state.

If the worker is killed, the training continues from its last epoch. A kind without epochs (crfsuite) starts again
with the same notes in the same order, which gives the same model, byte for byte.
"""

import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext

from annotations.core.erasures import erasures_of, unerased
from annotations.core.errors import ServiceError
from annotations.core.stored_files import store_file
from annotations.domain.spans import Span
from annotations.jobs.registry import load
from annotations.jobs.runner import Claim
from annotations.models import GoldVersion, StoredFile, User
from annotations.scores.selectors import label_words
from models_runtime.backends import children, files
from models_runtime.backends.base import Backend, BackendError
from models_runtime.backends.learner import TrainingResult
from models_runtime.calibration.jobs import HeldOut, calibration_of, keep
from models_runtime.core import embeddings, weights
from models_runtime.core.gold_notes import Note, all_other_notes, language_of, languages_of, other_notes
from models_runtime.core.gold_sources import GoldSource, gold_sources, manages, versions_of
from models_runtime.core.model_files import cached
from models_runtime.core.registry import trainable_kind
from models_runtime.models import OF_MODEL, Calibration, TrainedModel
from models_runtime.models.cards import EpochFigures, FilledMask, ModelCard, OtherVersion
from models_runtime.training.jobs.checkpoints import checkpoint_of, forget, forget_stale
from models_runtime.training.jobs.holding_out import hold_out_scores
from models_runtime.training.jobs.kept_models import Kept, kept_models, store_kept

State = TrainedModel.State
# The number of steps to expect before the trainer reports the maximum.
STEPS = 100
# The losses are stored at most this often (seconds).
WRITE_EVERY = 0.5


def run(claim: Claim) -> dict[str, Any]:
    """Train, score on the hold-out, and store the model. Safe to repeat, because only the last transaction counts."""
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
    sources = gold_sources(row.project, versions, row.params.get("language", ""))
    watch = _Watch(claim, row, erased)
    with tempfile.TemporaryDirectory(prefix="deidreview-train-") as folder:
        path = Path(folder) / "model.zip"
        try:
            learned = _learn(row, sources, path, int(claim.params["newest"]), watch)
            scored, calibration = _scored(row, sources, path, watch)
            card: ModelCard = {
                **_card(row, sources, watch),
                **learned,
                **scored,
                "seconds": round(time.monotonic() - begun, 1),
                "date": timezone.now().isoformat(timespec="seconds"),
            }
            kept = kept_models(row, lambda: _held_out(sources), card, watch.scoring)
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


class _Watch:
    """Receives the trainer's reports: stores the losses, reports progress, and ends the training early on request."""

    def __init__(self, claim: Claim, row: TrainedModel, erased: Mapping[int, int]) -> None:
        self.claim, self.row, self._erased = claim, row, erased
        self.losses: list[float] = []
        self.hold_out: list[float] = []
        self.adapted: list[float] = []
        self.epochs: list[EpochFigures] = []
        self.adapted_held_out: list[float] = []
        self.held_out_losses: list[float] = []
        self.held_out_before: float | None = None
        self.probe: list[FilledMask] = []
        self.unlabeled = 0
        self._adapt = int(row.params.get("adapt") or 0)
        self._most = int(row.params.get("iterations") or STEPS)
        self._written = float("-inf")
        self._report()

    def __call__(self, report: dict[str, Any] | None) -> bool:
        """Receive a report; None is a sign of life. Return whether the training should end early."""
        if report is not None:
            self._language(report)
        if report is not None and report["adapting"]:
            self.adapted += [round(float(report["loss"]), 4)] if report["iteration"] else []
        elif report is not None:
            self._most = int(report["most"])
            if report["iteration"]:
                self.losses.append(round(float(report["loss"]), 4))
                self.hold_out += [report["f1"]] if report["f1"] is not None else []
                if report.get("tokens") is not None:
                    self.epochs.append({"f1": report["f1"], "tokens": report["tokens"], "pieces": report["pieces"]})
        if report is None or time.monotonic() - self._written < WRITE_EVERY:
            self._report()
        else:
            self._write()
        return TrainedModel.objects.filter(pk=self.row.pk, enough=True).exists()

    def _language(self, report: dict[str, Any]) -> None:
        """Keep what a step of a language model tells: its loss on held-out notes, and the words of its probe."""
        if (outside := report.get("held_out_loss")) is not None:
            loss = round(float(outside), 4)
            if not report["iteration"]:
                self.held_out_before = loss
            else:
                (self.adapted_held_out if report["adapting"] else self.held_out_losses).append(loss)
        for number, filled in enumerate(report.get("probe") or []):
            if number == len(self.probe):
                self.probe.append({"sentence": filled["sentence"], "before": filled["words"], "after": []})
            else:
                self.probe[number]["after"] = filled["words"]

    def _write(self) -> None:
        self._written = time.monotonic()
        with transaction.atomic():
            self._report()  # Inside a transaction, reporting progress also fences the job.
            _check_unerased(self._erased)
            TrainedModel.objects.filter(pk=self.row.pk).update(
                losses=self.losses, hold_out=self.hold_out, card=self.so_far()
            )

    def so_far(self) -> ModelCard:
        """Return the figures of the card that grow during the training."""
        card: ModelCard = {}
        if self.adapted:
            card["adapted"] = self.adapted
        if self.epochs:
            card["epochs"] = self.epochs
        if self.adapted_held_out:
            card["adapted_held_out"] = self.adapted_held_out
        if self.held_out_losses:
            card["held_out_losses"] = self.held_out_losses
        if self.held_out_before is not None:
            card["held_out_before"] = self.held_out_before
        if self.probe:
            card["probe"] = self.probe
        return card

    def counted(self, texts: Iterable[str]) -> Iterator[str]:
        """Yield the texts and count them."""
        for text in texts:
            self.unlabeled += 1
            yield text

    def scoring(self) -> None:
        """Report the last step, which scores the hold-out."""
        most = self._adapt + self._most
        self.claim.progress(most, most + 1)

    def _report(self) -> None:
        self.claim.progress(len(self.adapted) + len(self.losses), self._adapt + self._most + 1)


def _check_unerased(erased: Mapping[int, int]) -> None:
    """Check that no note was erased in any project of the training. The locks are taken by ascending project id."""
    for project_id, begun in sorted(erased.items()):
        unerased(project_id, begun)


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


def _learn(row: TrainedModel, sources: Sequence[GoldSource], path: Path, newest: int, watch: _Watch) -> TrainingResult:
    kind, version = trainable_kind(row.backend), sources[0].version
    train: Iterator[Note] = (note for source in sources for note in source.read(source.notes.train))
    held_out = _held_out(sources) if kind.by_epoch else iter(())
    unlabeled = other_notes(version, newest)
    if not kind.predicts:
        train, held_out = _without_spans(train), _without_spans(held_out)
    if not kind.predicts or (kind.reads_all and row.params.get("adapt")):
        language = row.params.get("language", "")
        unlabeled = watch.counted(all_other_notes(version, newest, language, streamed=kind.reads_all))
    return children.train(
        kind.child,
        train,
        path,
        options={
            "label_set": row.project.label_set.key,
            "algorithm": row.params["algorithm"],
            "iterations": row.params.get("iterations"),
            "language": row.params.get("language") or language_of(version),
            "base": str(base) if (base := _base(row)) else "",
            "adapt": row.params.get("adapt", 0),
            "grouping": row.params.get("grouping", 0),
            "settings": row.params.get("settings", {}),
            "embeddings": _embeddings(row),
            "embeddings_folder": str(embeddings.home()) if kind.stacked else "",
            "checkpoint": str(checkpoint_of(row.pk)) if kind.by_epoch else None,
        },
        unlabeled=unlabeled,
        held_out=held_out,
        on_step=watch,
    )


def _without_spans(notes: Iterable[Note]) -> Iterator[Note]:
    return ((text, []) for text, _ in notes)


def _scored(
    row: TrainedModel, sources: Sequence[GoldSource], path: Path, watch: _Watch
) -> tuple[ModelCard, Calibration | None]:
    """Score and calibrate the model on the hold-out. A language model was measured by its trainer instead."""
    kind, own = trainable_kind(row.backend), sources[0].notes.hold_out
    if not kind.predicts:
        return {"scores": None}, None
    backend: Backend = load(kind.factory)(**embeddings.factory_params(kind, path))
    held_out = HeldOut(own)

    def count(index: int, found: Sequence[Span], gold: Sequence[Span]) -> None:
        """Count a held-out note for the calibration, which is the project's: only its own notes, the first ones."""
        if index < len(own):
            held_out(index, found, gold)

    scores = hold_out_scores(backend, _held_out(sources), label_words(row.project), tick=watch.scoring, on_note=count)
    calibration = _calibration(row, sources[0].version, backend, held_out, len(own))
    found: ModelCard = {"labels": list(backend.labels), "scores": scores}
    if kind.stacked:
        found["embeddings"] = files.card_of(path)["embeddings"]
    return found, calibration


def _base(row: TrainedModel) -> Path | None:
    """Return the starting weights on this machine. Raises ServiceError `base` if they no longer exist."""
    if pk := row.params.get("base_model"):
        model = TrainedModel.objects.select_related("stored_file").filter(project=row.project_id, pk=pk).first()
        if model is None:
            raise ServiceError(
                gettext("The starting model “%(name)s” no longer exists. Start a new training from another model.")
                % {"name": row.params["base"]},
                code="base",
            )
        return cached(model)
    if name := row.params.get("base"):
        found = weights.weights_named(name)
        if found is None:
            raise ServiceError(
                gettext("This worker has no weights “%(name)s”. Copy them to %(folder)s.")
                % {"name": name, "folder": weights.home() / name},
                code="base",
            )
        return found.path
    return None


def _embeddings(row: TrainedModel) -> list[tuple[str, str, str]]:
    """Return kind, name and path of each embedding on this machine. Raises ServiceError `embeddings`."""
    found = []
    for wanted in row.params.get("embeddings", []):
        if "model" in wanted:
            model = TrainedModel.objects.select_related("stored_file").filter(
                project=row.project_id, pk=wanted["model"]
            )
            if not (language := model.first()):
                raise ServiceError(
                    gettext("The language model “%(name)s” no longer exists. Start a new training without it.")
                    % {"name": wanted["name"]},
                    code="embeddings",
                )
            found.append(("characters", wanted["name"], str(cached(language))))
        elif path := embeddings.path_of(wanted["name"]):
            found.append(("words", wanted["name"], str(path)))
        else:
            raise ServiceError(
                gettext("This worker has no word vectors “%(name)s”. Copy the file to %(folder)s.")
                % {"name": wanted["name"], "folder": embeddings.home()},
                code="embeddings",
            )
    return found


def _card(row: TrainedModel, sources: Sequence[GoldSource], watch: _Watch) -> ModelCard:
    version, notes = sources[0].version, sources[0].notes
    held_out = [pk for source in sources for pk in source.notes.hold_out]
    predicts = trainable_kind(row.backend).predicts
    spans = [_spans(source) if predicts else 0 for source in sources]
    card: ModelCard = {
        **watch.so_far(),
        "gold": version.number,
        "gold_hash": version.content_hash,
        "seed": notes.seed,
        "split_of_version": notes.of_version,
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
    if "language" in row.params:
        card["language"] = row.params["language"]
    return card


def _spans(source: GoldSource) -> int:
    return sum(len(spans) for _, spans in source.read(source.notes.train))


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


def _calibration(
    row: TrainedModel, version: GoldVersion, backend: Backend, held_out: HeldOut, notes: int
) -> Calibration | None:
    """Calibrate the model on its hold-out. Return None if the hold-out has too few spans."""
    try:
        made = calibration_of(
            held_out.outcomes,
            version,
            backend=f"{OF_MODEL}{row.pk}",
            revision=backend.revision,
            model=row,
            notes=notes,
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
    watch: _Watch,
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
        _check_unerased(erased)
        name = f"{slugify(row.name) or row.backend}.zip"
        stored = store_file(project=row.project, kind=StoredFile.Kind.MODEL, name=name, content=content, actor=actor)
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
    return {"model_id": row.pk, "model": row.name, "notes": card["notes"], "held_out": card["held_out"]}
