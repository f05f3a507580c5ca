"""What the child process of a trainable backend does: train a model, and check an uploaded file."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NotRequired, TypedDict, TypeVar

from annotations.text.spans import Span
from models_runtime.backends import files
from models_runtime.backends.base import Backend, BackendError, Device
from models_runtime.backends.marginals import SelfLabeled

# Predicted with an uploaded model, so that weights that crash the backend do so in the child process.
SAMPLE: Final = "Name: Anna Bianchi\nNHC: 2748903. Ingreso: 12/03/2021.\nIl dott. Rossi, a Torino: 54 anni.\n" * 3

REVISION: Final = 2
"""Increase it when steps get other fields, so that checkpoints with older steps are no longer used."""

Note = tuple[str, Sequence[Span]]


class TrainingResult(TypedDict):
    """Result of a training: hash of the model file, description of the device, peak memory in bytes.

    `iterations`: after how many iterations the model in the file was taken.
    """

    sha256: str
    device: NotRequired[str]
    memory: NotRequired[int]
    iterations: NotRequired[int]


class EmbeddingData(TypedDict):
    """A part of a stack of embeddings: a file of words or a language model, its sha256 and its values per token."""

    name: str
    kind: str
    sha256: str
    dimensions: int


class Outline(TypedDict):
    """The fields of a model file's card that all formats share. `embeddings`: of a model with a stack of embeddings.

    `rules`: false for a model that was trained without the tags of the rules, in a format that otherwise has them.

    `refit`: of a refitted model, how many of its notes had chosen the iterations (see `TrainingTask.refit`).
    """

    label_set: str
    algorithm: str
    labels: list[str]
    notes: int
    iterations: int
    format: str
    embeddings: NotRequired[list[EmbeddingData]]
    refit: NotRequired[int]
    rules: NotRequired[bool]


class TokenFigures(TypedDict):
    """Accuracy over all tokens, and precision, recall and F1 of the labeled ones; None where undefined."""

    accuracy: float | None
    precision: float | None
    recall: float | None
    f1: float | None


class FilledSentence(TypedDict):
    """A sentence with one [MASK], and the likeliest words for it with their probabilities, best first."""

    sentence: str
    words: list[tuple[str, float]]


StepFigures = dict[str, Any]
"""Figures of an epoch that its loss doesn't tell: fields of Step."""


@dataclass(frozen=True, slots=True)
class Step:
    """One of `most` iterations: its loss, and the F1 of exact spans on the held-out notes, if it was computed.

    `recall`, `precision`: of the characters of held-out notes (of the CRF: tokens), whatever the labels.

    `held_out_loss`: the loss of a language model on the held-out notes, in nats per predicted unit (character, token,
    masked piece). `probe`: what a masked language model fills in. A step with the iteration 0 has both from before the
    training.
    `adapting`: an epoch of language pre-training, before any label is learned. These epochs are counted separately.
    `tokens`, `pieces`: figures of tokens and of sub-words on the held-out notes.
    """

    iteration: int
    most: int
    loss: float
    f1: float | None = None
    recall: float | None = None
    precision: float | None = None
    adapting: bool = False
    tokens: TokenFigures | None = None
    pieces: TokenFigures | None = None
    held_out_loss: float | None = None
    probe: list[FilledSentence] | None = None


Report = Callable[[Step], None]
"""Called with every step. An exception stops the training, and nothing is written."""


@dataclass(frozen=True)
class TrainingTask:
    """What to learn from, and how.

    `notes`: for a language model, without spans. `unlabeled`: the project's other notes, which may be too many for the
    memory; they can be read several times. `held_out`: notes that are only used for scoring. `checkpoint`: a file in
    which the learner keeps its progress; a later attempt at the same task continues from it. `should_stop()`: true as
    soon as somebody wants to end the training with what it has learned. `base`: starting weights: a model of the same
    format, or for some learners a folder of weights; empty for fresh ones. `adapt`: number of epochs of language pre-
    training, which also uses the unlabeled notes. `grouping`: number of sentences in one sequence, for learners that
    group sentences; 0 is the learner's default. `settings`: other settings of the learner, by key, with types and
    bounds already checked; a missing one has the algorithm's default. `embeddings`: what a stack of embeddings consists
    of: kind (`words` or `characters`), name and path of each. `embeddings_folder`: the folder of word vectors on this
    machine.

    `self_labeled`: notes without gold, with labels of models, for learners that can use them.

    `choose`: let the held-out notes choose the iteration (`best.chosen`). Its model is written by learners with
    epochs; the CRF writes the last one's, as all learners do without `choose`. `stop_after`: end after this many of
    the iterations, with the learning rates of the whole training; 0 for all. `refit`: how many of the `notes` had
    chosen that number in an earlier training; the file's card tells it.
    """

    notes: Sequence[Note]
    label_set: str
    algorithm: str = ""
    iterations: int | None = None
    language: str = ""
    base: str = ""
    adapt: int = 0
    grouping: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    embeddings: Sequence[Sequence[str]] = ()
    embeddings_folder: str = ""
    unlabeled: Iterable[str] = ()
    held_out: Sequence[Note] = ()
    checkpoint: Path | None = None
    self_labeled: Sequence[SelfLabeled] = ()
    choose: bool = False
    stop_after: int = 0
    refit: int = 0
    report: Report = field(default=lambda step: None)
    should_stop: Callable[[], bool] = field(default=lambda: False)


def model_beside(task: TrainingTask, path: Path, name: str) -> Path:
    """Where a learner writes a model that it makes on the way to the one at `path`, beside the task's checkpoint.

    `name`: `epoch-N` for the state after an epoch, `language` for the weights after language pre-training.
    """
    return (task.checkpoint or path).with_name(f"{name}.zip")


H = TypeVar("H", bound=Any)


def hyperparameters_of(task: TrainingTask, by_name: dict[str, H]) -> tuple[str, H]:
    """The task's algorithm (by default the first one) and its hyperparameters. Raises BackendError (permanent)."""
    name = task.algorithm or next(iter(by_name))
    if name not in by_name:
        raise BackendError("There is no algorithm “{name}”. Choose one of: {algorithms}.", name, ", ".join(by_name))
    return name, replace(by_name[name], epochs=task.iterations) if task.iterations else by_name[name]


def labels_of(notes: Sequence[Note], earlier: Sequence[str] = ()) -> tuple[str, ...]:
    """The labels of the training notes and those of the starting model (`earlier`), sorted.

    A label that only the first stage has seen keeps its place. Raises BackendError (permanent) for notes without spans.
    """
    labels = {span.label for _, spans in notes for span in spans}
    if not labels:
        raise BackendError("The training notes have no spans. Annotate some notes first.")
    return tuple(sorted(labels.union(earlier)))


def task_key(task: TrainingTask, *more: str) -> str:
    """A sha256 over everything that a training depends on, so that a checkpoint is only used for the same task.

    `more`: what the learner adds, such as its hyperparameters and the versions of its libraries.
    """
    notes = [
        [[text, [[span.start, span.end, span.label] for span in spans]] for text, spans in part]
        for part in (task.notes, task.held_out)
    ]
    parts = [REVISION, *notes, task.label_set, task.algorithm, task.language, task.base, task.adapt, task.grouping]
    parts += [dict(task.settings), [list(each) for each in task.embeddings]]
    parts += [task.choose, task.stop_after] if task.choose or task.stop_after else []
    parts += [
        [each.text, [[span.start, span.end, span.label] for span in each.spans], [*each.sure]]
        for each in task.self_labeled
    ]
    whole = hashlib.sha256(json.dumps([*parts, *more], sort_keys=True).encode())
    for text in task.unlabeled:
        whole.update(json.dumps(text).encode())
    return whole.hexdigest()


@dataclass(frozen=True)
class Learner:
    """`learn(task, path)` writes the model and returns its sha256. `check(path)` loads a model and returns its card.

    Both raise BackendError. `device()`: the device that it trains on, for a learner that can use a GPU.
    """

    learn: Callable[[TrainingTask, Path], str]
    check: Callable[[Path], dict[str, Any]]
    device: Callable[[], Device] | None = None


def opens(load: Callable[[Path], Any], backend: Callable[[str], Backend] | None = None) -> Callable[[Path], Any]:
    """The `check` of a Learner: load a model, which has a `card`, and predict a sample with its backend, if any."""

    def check(path: Path) -> dict[str, Any]:
        found = files.outline(asdict(load(path).card))
        if backend is not None:
            backend(str(path)).predict([SAMPLE])
        return found

    return check
