"""A model learns from a frozen gold version, in a process of its own; its file, card and `ready` are one transaction.

A training whose worker was killed goes on from its last epoch, or begins again where its kind has none (crfsuite):
from the same notes in the same order, which gives the same model, byte for byte.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext

from annotations.core.erasures import erasures_of, unerased
from annotations.core.errors import ServiceError
from annotations.core.stored_files import store_file
from annotations.jobs.registry import load
from annotations.jobs.runner import Claim
from annotations.models import GoldVersion, StoredFile, User
from annotations.scores.selectors import label_words
from models_runtime.backends import children
from models_runtime.backends.base import Backend, BackendError
from models_runtime.calibration.jobs import HeldOut, calibration_of, keep
from models_runtime.core import weights
from models_runtime.core.gold_notes import Sides, gold_notes, language_of, other_notes, sides_of
from models_runtime.core.model_files import cached
from models_runtime.core.registry import trainable_kind
from models_runtime.models import OF_MODEL, Calibration, TrainedModel
from models_runtime.training.jobs.checkpoints import checkpoint_of, forget, forget_stale
from models_runtime.training.jobs.holding_out import hold_out_scores

State = TrainedModel.State
# How many steps to expect before the trainer has said how many there are at most.
STEPS = 100
# The losses so far are written at most this often (seconds).
WRITE_EVERY = 0.5


def run(claim: Claim) -> dict[str, Any]:
    """Train, score on what was held out, keep. Repeating is safe: nothing stands before the last transaction."""
    row = TrainedModel.objects.select_related("project__label_set", "gold_version").get(pk=claim.params["model_id"])
    version = row.gold_version
    if row.state != State.TRAINING or version is None:
        raise ServiceError(
            gettext("this model is not to be trained; it is: %(get_state_display)s")
            % {"get_state_display": row.get_state_display().lower()},
            code="state",
        )
    forget_stale()
    begun, erased = time.monotonic(), erasures_of(row.project_id)
    sides = sides_of(version, row.params.get("language", ""))
    watch = _Watch(claim, row, erased)
    with tempfile.TemporaryDirectory(prefix="deidreview-train-") as folder:
        path = Path(folder) / "model.zip"
        try:
            learned = _learn(row, version, sides, path, int(claim.params["newest"]), watch)
            backend: Backend = load(trainable_kind(row.backend).factory)(path=str(path))
        except BackendError as error:
            raise ServiceError(str(error), code="training") from error
        held_out = HeldOut(sides.hold_out)
        scores = hold_out_scores(
            backend,
            gold_notes(version, sides.hold_out),
            label_words(row.project),
            told=watch.scoring,
            heard=held_out,
        )
        card = (
            _card(row, version, sides, watch)
            | learned
            | {
                "labels": list(backend.labels),
                "scores": scores,
                "seconds": round(time.monotonic() - begun, 1),
                "date": timezone.now().isoformat(timespec="seconds"),
            }
        )
        calibration = _calibration(row, version, backend, held_out, len(sides.hold_out))
        _keep(claim, row, path, card, watch, erased, calibration)
    forget(row.pk)
    return _result(row, card)


def undo(params: dict[str, Any], state: str) -> dict[str, Any] | None:
    """A training that was stopped or failed leaves its row, to say so, and no file."""
    row = TrainedModel.objects.filter(pk=params["model_id"]).first()
    if row is None:
        return None
    if row.state == State.READY:
        return _result(row, row.card)
    TrainedModel.objects.filter(pk=row.pk, state=State.TRAINING).update(state=State.FAILED)
    forget(row.pk)
    return None


def redo(params: dict[str, Any]) -> None:
    """Train again, with the same settings. Raises ServiceError where another model has the name by now."""
    row = TrainedModel.objects.select_for_update().get(pk=params["model_id"])
    try:
        with transaction.atomic():
            TrainedModel.objects.filter(pk=row.pk, state=State.FAILED).update(
                state=State.TRAINING, losses=[], hold_out=[], card={}, enough=False
            )
    except IntegrityError as error:
        raise ServiceError(
            gettext("another model is called %(name)s by now; rename one of the two, then start again")
            % {"name": repr(row.name)},
            code="exists",
        ) from error


class _Watch:
    """Hears the trainer: keeps what it says, tells how far it is, ends it when the job is to stop or it is enough."""

    def __init__(self, claim: Claim, row: TrainedModel, erased: int) -> None:
        self.claim, self.row, self._erased = claim, row, erased
        self.losses: list[float] = []
        self.hold_out: list[float] = []
        self.adapted: list[float] = []
        self._adapt = int(row.params.get("adapt") or 0)
        self._most = int(row.params.get("iterations") or STEPS)
        self._written = float("-inf")
        self._say()

    def __call__(self, said: dict[str, Any] | None) -> bool:
        if said is not None and said["adapting"]:
            self.adapted.append(round(float(said["loss"]), 4))
        elif said is not None:
            self._most = int(said["most"])
            if said["iteration"]:
                self.losses.append(round(float(said["loss"]), 4))
                self.hold_out += [said["f1"]] if said["f1"] is not None else []
        if said is None or time.monotonic() - self._written < WRITE_EVERY:
            self._say()
        else:
            self._write()
        return TrainedModel.objects.filter(pk=self.row.pk, enough=True).exists()

    def _write(self) -> None:
        self._written = time.monotonic()
        with transaction.atomic():
            self._say()  # inside a transaction it is a fence
            unerased(self.row.project_id, self._erased)
            TrainedModel.objects.filter(pk=self.row.pk).update(
                losses=self.losses, hold_out=self.hold_out, card={"adapted": self.adapted} if self.adapted else {}
            )

    def scoring(self) -> None:
        """The last step: the notes held out."""
        most = self._adapt + self._most
        self.claim.progress(most, most + 1)

    def _say(self) -> None:
        self.claim.progress(len(self.adapted) + len(self.losses), self._adapt + self._most + 1)


def _learn(
    row: TrainedModel, version: GoldVersion, sides: Sides, path: Path, newest: int, watch: _Watch
) -> dict[str, Any]:
    kind = trainable_kind(row.backend)
    return children.train(
        kind.child,
        gold_notes(version, sides.train),
        path,
        options={
            "label_set": row.project.label_set.key,
            "algorithm": row.params["algorithm"],
            "iterations": row.params.get("iterations"),
            "language": row.params.get("language") or language_of(version),
            "base": str(base) if (base := _base(row)) else "",
            "adapt": row.params.get("adapt", 0),
            "grouping": row.params.get("grouping", 0),
            "checkpoint": str(checkpoint_of(row.pk)) if kind.by_epoch else None,
        },
        unlabelled=other_notes(version, newest),
        held_out=gold_notes(version, sides.hold_out) if kind.by_epoch else (),
        told=watch,
    )


def _base(row: TrainedModel) -> Path | None:
    """What it begins with, on this machine. Raises ServiceError where that is gone."""
    if pk := row.params.get("base_model"):
        model = TrainedModel.objects.select_related("stored_file").filter(project=row.project_id, pk=pk).first()
        if model is None:
            raise ServiceError(
                gettext("the model %(params)s to begin with is gone") % {"params": row.params["base"]}, code="base"
            )
        return cached(model)
    if name := row.params.get("base"):
        found = weights.weights_named(name)
        if found is None:
            raise ServiceError(
                gettext("this worker has no weights %(name)s: put them in %(value)s")
                % {"name": name, "value": weights.home() / name},
                code="base",
            )
        return found.path
    return None


def _card(row: TrainedModel, version: GoldVersion, sides: Sides, watch: _Watch) -> dict[str, Any]:
    spans = sum(len(spans) for _, spans in gold_notes(version, sides.train))
    return {
        "gold": version.number,
        "gold_hash": version.content_hash,
        "seed": sides.seed,
        "split_of_version": sides.of_version,
        "label_set": row.project.label_set.key,
        "algorithm": row.params["algorithm"],
        **{word: row.params[word] for word in ("base", "language") if word in row.params},
        **({"adapted": watch.adapted} if watch.adapted else {}),
        "iterations": len(watch.losses),
        "notes": len(sides.train),
        "held_out": len(sides.hold_out),
        "held_out_notes": sides.hold_out,
        "spans": spans,
    }


def _calibration(
    row: TrainedModel, version: GoldVersion, backend: Backend, held_out: HeldOut, notes: int
) -> Calibration | None:
    """How its confidences are to be read, by the notes held out; None where they are too few to say."""
    try:
        made = calibration_of(
            held_out.outcomes,
            version,
            backend=f"{OF_MODEL}{row.pk}",
            revision=backend.revision,
            model=row,
            notes=notes,
        )
    except ServiceError:
        return None
    made.held_out = True
    return made


def _keep(
    claim: Claim,
    row: TrainedModel,
    path: Path,
    card: dict[str, Any],
    watch: _Watch,
    erased: int,
    calibration: Calibration | None,
) -> None:
    """The model, unless a patient was erased since the training began: it may know by heart what is to be forgotten."""
    actor = User.objects.filter(pk=claim.actor_id).first() if claim.actor_id else None
    with transaction.atomic(), path.open("rb") as content:
        claim.fence()
        unerased(row.project_id, erased)
        name = f"{slugify(row.name) or row.backend}.zip"
        stored = store_file(project=row.project, kind=StoredFile.Kind.MODEL, name=name, content=content, actor=actor)
        TrainedModel.objects.filter(pk=row.pk).update(
            state=State.READY, card=card, losses=watch.losses, hold_out=watch.hold_out, stored_file=stored
        )
        if calibration is not None:
            keep(calibration, actor)
        claim.done = claim.total
        claim.finish(_result(row, card))


def _result(row: TrainedModel, card: dict[str, Any]) -> dict[str, Any]:
    return {"model_id": row.pk, "model": row.name, "notes": card["notes"], "held_out": card["held_out"]}
