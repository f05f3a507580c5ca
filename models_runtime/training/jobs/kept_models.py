"""Models that a training makes on the way to its own and keeps on request (Salierno et al. 2024).

They are the state after each epoch but the last, and the weights after language pre-training.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from annotations.core.services import ServiceError
from annotations.jobs.registry import load
from annotations.models import GoldVersion, Project, User
from annotations.scores.rules import Rates, Scorer
from annotations.scores.rules.operating import OperatingCurve
from annotations.scores.rules.rates import covered_characters
from annotations.scores.selectors import LabelWords, label_words
from annotations.text.spans import Span
from models_runtime.backends.base import Backend, BackendError
from models_runtime.backends.files import digest
from models_runtime.backends.marginals import ABOVE, GivesMarginals, is_added, spans_above
from models_runtime.core import external
from models_runtime.core.gold_sources import Note, all_other_notes, language_of, models_elsewhere, other_notes
from models_runtime.core.model_files import cached, name_with, store_model
from models_runtime.core.registry import BACKENDS, trainable_kind
from models_runtime.models import TrainedModel, TrainedModelState
from models_runtime.models.cards import HeldOutLevel, HeldOutScores, ModelCard, TrainingParams
from models_runtime.training.jobs.watching import Watch

# The plain fields of a training's task, the texts without labels that it reads, and the model that it wrote.


# Checkpoints of trainings, from which a training continues after a kill.
#
# They are stored on this machine only. A worker on another machine starts again, and gets the same model.


FILE = "checkpoint"


def checkpoint_of(model_id: int) -> Path:
    """Return the checkpoint of a model in training, and make its folder, which only its owner can read.

    The folder is private because weights may contain text of notes.
    """
    folder = _home() / str(model_id)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Path(folder / FILE)


def forget(model_id: int) -> None:
    """Delete the checkpoint of a model. Safe to repeat."""
    shutil.rmtree(_home() / str(model_id), ignore_errors=True)


def forget_after_erasure(*, project: Project, **_erased: object) -> None:
    """Delete all checkpoints of models that learn from a project, once an erasure in it is committed.

    They may contain text of the patient's notes. Trainings under way end by themselves.
    """

    def forget_all() -> None:
        for model_id in _learning_from(project):
            forget(model_id)

    transaction.on_commit(forget_all)


def forget_with_project(project: Project) -> None:
    """Delete all checkpoints of models that learn from a project that is being deleted, once its rows are gone."""
    for model_id in _learning_from(project):
        transaction.on_commit(partial(forget, model_id))


def _learning_from(project: Project) -> list[int]:
    """List the ids of the project's models, and of the models of other projects that learned from its gold."""
    own = TrainedModel.objects.filter(project=project).values_list("pk", flat=True)
    return [*own, *(model.pk for model in models_elsewhere(project))]


def forget_stale() -> None:
    """Delete the checkpoints of models that are no longer in training: finished elsewhere, canceled or deleted."""
    home = _home()
    if not home.is_dir():
        return
    live = set(TrainedModel.objects.filter(state=TrainedModelState.TRAINING).values_list("pk", flat=True))
    for folder in home.iterdir():
        if not folder.name.isdecimal() or int(folder.name) not in live:
            shutil.rmtree(folder, ignore_errors=True)


def _home() -> Path:
    return Path(settings.DATA_DIR / "training")


def options_of(row: TrainedModel, version: GoldVersion) -> dict[str, Any]:
    """The plain fields of the TrainingTask."""
    kind = trainable_kind(row.backend)
    return {
        "label_set": row.project.label_set.key,
        "algorithm": row.params["algorithm"],
        "iterations": row.params.get("iterations"),
        "language": row.params.get("language") or language_of(version),
        "base": str(base) if (base := _base(row)) else "",
        "adapt": row.params.get("adapt", 0),
        "grouping": row.params.get("grouping", 0),
        "settings": row.params.get("settings", {}),
        "embeddings": _embeddings(row),
        "embeddings_folder": str(external.embeddings_home()) if kind.stacked else "",
        "checkpoint": str(checkpoint_of(row.pk)) if kind.by_epoch else None,
    }


def unlabeled_texts(row: TrainedModel, version: GoldVersion, newest: int, watch: Watch | None) -> Iterator[str]:
    """The notes without labels that the training reads. `watch` counts those that a language is learned from."""
    kind = trainable_kind(row.backend)
    if kind.predicts and not (kind.reads_all and row.params.get("adapt")):
        return other_notes(version, newest)
    texts = all_other_notes(version, newest, row.params.get("language", ""), streamed=kind.reads_all)
    return watch.counted(texts) if watch is not None else texts


def without_spans(notes: Iterable[Note]) -> Iterator[Note]:
    return ((text, []) for text, _ in notes)


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
        found = external.weights_named(name)
        if found is None:
            message = gettext("This worker has no weights “%(name)s”. Copy them to %(folder)s.")
            raise ServiceError(message % {"name": name, "folder": external.weights_home() / name}, code="base")
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
                message = gettext("The language model “%(name)s” no longer exists. Start a new training without it.")
                raise ServiceError(message % {"name": wanted["name"]}, code="embeddings")
            found.append(("characters", wanted["name"], str(cached(language))))
        elif path := external.path_of(wanted["name"]):
            found.append(("words", wanted["name"], str(path)))
        else:
            raise ServiceError(
                gettext("This worker has no word vectors “%(name)s”. Copy the file to %(folder)s.")
                % {"name": wanted["name"], "folder": external.embeddings_home()},
                code="embeddings",
            )
    return found


def loaded(row: TrainedModel, path: Path) -> Backend | None:
    """Load the model; None for a language model, which suggests no spans."""
    kind = trainable_kind(row.backend)
    return load(kind.factory)(**external.factory_params(kind, path)) if kind.predicts else None


# Score a model on its hold-out.


OnNote = Callable[[int, Sequence[Span], Sequence[Span]], None]
"""Called for every note with its index, the predicted spans and the gold spans."""


def hold_out_scores(
    backend: Backend,
    notes: Iterable[tuple[str, Sequence[Span]]],
    words: LabelWords,
    *,
    tick: Callable[[], None] = lambda: None,
    on_note: OnNote = lambda index, found, gold: None,
) -> HeldOutScores | None:
    """Score exact spans by label, by category and by bounds only, each label, and characters; None without notes.

    Each label also has its fully masked notes. For a backend that gives probabilities, also recall, precision and
    leak-free notes at each masking threshold.
    `tick` is called after each note. `on_note` also gets the spans that only a threshold adds; is_added tells them.
    """
    scorer = Scorer(words.order, words.category_of)
    characters, count, curve = Rates(0, 0, 0, 0), 0, OperatingCurve()
    for text, gold in notes:
        found, added = _read(backend, text, gold, curve, words)
        scorer.add(text, gold, found)
        characters += covered_characters(gold, found)
        on_note(count, [*found, *added], gold)
        count += 1
        tick()
    if not count:
        return None
    table = scorer.table()
    levels: dict[str, list[HeldOutLevel]] = {"entity": [], "token": []}
    for level in table["levels"]:
        levels[level["unit"]].append({"granularity": level["granularity"], "micro": level["micro"]})
    scores: HeldOutScores = {
        "notes": count,
        "few_notes": table["few_notes"],
        "levels": levels["entity"],
        "tokens": levels["token"],
        "labels": [
            {"label": row["label"], "category": row["category"], **row["entity"], "fully_masked": row["fully_masked"]}
            for row in table["labels"]
        ],
        "characters": characters.as_dict(),
    }
    if isinstance(backend, GivesMarginals):
        scores["thresholds"] = curve.points()
    return scores


def rules_f1(
    label_set: str,
    notes: Iterable[tuple[str, Sequence[Span]]],
    words: LabelWords,
    *,
    tick: Callable[[], None] = lambda: None,
) -> float | None:
    """F1 of exact spans by label of the built-in rules on held-out notes; None for a label set that they don't know."""
    try:
        rules: Backend = load(BACKENDS["rules"].factory)(label_set=label_set)
    except BackendError:
        return None
    scores = hold_out_scores(rules, notes, words, tick=tick)
    return scores["levels"][0]["micro"]["f1"] if scores else None


def _read(
    backend: Backend, text: str, gold: Sequence[Span], curve: OperatingCurve, words: LabelWords
) -> tuple[list[Span], list[Span]]:
    """Return the spans of a note, and the distinct ones that thresholds add; count the note in the curve."""

    def known(spans: Sequence[Span]) -> list[Span]:
        return [span for span in spans if span.label in words.category_of]

    if not isinstance(backend, GivesMarginals):
        return known(backend.predict([text])[0]), []
    marked = backend.predict_marginals([text])[0]
    found = known(marked[0])
    at_each = [
        found if threshold is None else known(spans_above(text, marked, threshold, ABOVE))
        for threshold in curve.thresholds
    ]
    curve.add(gold, at_each)
    return found, sorted({span for spans in at_each for span in spans if is_added(span.source)})


MASKED = "masked"


@dataclass(frozen=True)
class KeptModel:
    """A model: the end of its name, its kind, its file on this machine, and its card."""

    ending: str
    backend: str
    path: Path
    card: ModelCard


def kept_models(
    row: TrainedModel, held_out: Callable[[], Iterable[Note]], card: ModelCard, tick: Callable[[], None]
) -> list[KeptModel]:
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


def _language(row: TrainedModel, card: ModelCard) -> KeptModel:
    path = checkpoint_of(row.pk).with_name("language.zip")
    dropped = ("adapted", "adapted_held_out", "epochs", "labels")
    learned = cast(ModelCard, {key: value for key, value in card.items() if key not in dropped})
    own: ModelCard = {
        **_shared(row, learned, path),
        "iterations": len(card["adapted"]),
        "held_out_losses": card.get("adapted_held_out", []),
        "unlabeled": card.get("unlabeled", 0),
        "scores": None,
    }
    return KeptModel("-language", MASKED, path, own)


def _epoch(
    row: TrainedModel, held_out: Iterable[Note], card: ModelCard, epoch: int, tick: Callable[[], None]
) -> KeptModel:
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
    return KeptModel(f"-epoch-{epoch}", row.backend, path, own)


def _shared(row: TrainedModel, card: ModelCard, path: Path) -> ModelCard:
    return {**card, "sha256": digest(path), "made_with": row.pk, "date": timezone.now().isoformat(timespec="seconds")}


def store_kept(row: TrainedModel, kept: list[KeptModel], actor: User | None) -> None:
    """Store models as models of their own, in the transaction that has just stored the training's model, `row`."""
    if kept:
        Project.objects.select_for_update().get(pk=row.project_id)  # Nobody takes one of the names meanwhile.
    for each in kept:
        ours, done = each.backend == row.backend, each.card["iterations"]
        name = name_with(row.project, row.name, each.ending)
        with each.path.open("rb") as content:
            stored = store_model(row.project, name, each.backend, content, actor)
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
    own: TrainingParams = {"algorithm": MASKED, "iterations": len(row.card["adapted"])}
    # With `also`, an erasure in these projects lists this model, too.
    kept = ("base", "base_model", "language", "also")
    return own | cast(TrainingParams, {key: row.params.get(key) for key in kept if key in row.params})
