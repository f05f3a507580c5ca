"""What the child process of a trainable backend does: train a model, and check an uploaded file."""

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NotRequired, Protocol, TypedDict, TypeVar

from annotations.scores.rules import Rates
from annotations.scores.rules.rates import covered_characters
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
        raise BackendError(f"There is no algorithm “{name}”. Choose one of: {', '.join(by_name)}.")
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


# The iteration that held-out notes choose, and the weights after it.
#
# Masking is judged, not labels: of the iterations with enough precision, the one that leaves least of gold unmasked.


PREFIX: Final = "best-"
LEAST_PRECISION: Final = 0.9
"""Precision of characters (of the CRF: tokens) from which on recall alone decides."""


def chosen(steps: Sequence[Step], tolerance: float = 0.0) -> int:
    """The iteration with the best recall among those with LEAST_PRECISION, else the one with the best F1.

    Of equal ones the first; the last one if it is worse by no more than `tolerance`, or if nothing was measured.
    """
    known = [step for step in steps if _merit(step) is not None]
    if not known:
        return len(steps)
    best = max(known, key=lambda step: (_merit(step), -step.iteration))
    (enough, value), last = _merit(best) or (False, 0.0), _merit(steps[-1])
    near = last is not None and last[0] == enough and last[1] >= value - tolerance
    return len(steps) if tolerance and near else best.iteration


def _merit(step: Step) -> tuple[bool, float] | None:
    """What iterations are compared by: enough precision, and then recall, else F1. None if nothing was measured."""
    recall, precision = step.recall, step.precision
    if recall is None or precision is None:
        return None if step.f1 is None else (False, step.f1)
    if precision >= LEAST_PRECISION:
        return True, recall
    return False, 2 * recall * precision / (recall + precision) if recall else 0.0


def span_figures(pairs: Iterable[tuple[Iterable[Span], Iterable[Span]]]) -> StepFigures:
    """F1 of exact spans, and recall and precision of characters, over pairs of found and gold spans."""
    right = predicted = gold = 0
    characters = Rates(0, 0, 0, 0)
    for found, wanted in pairs:
        ours, theirs = set(found), set(wanted)
        right, predicted, gold = right + len(ours & theirs), predicted + len(ours), gold + len(theirs)
        characters += covered_characters(theirs, ours)
    f1 = round(2 * right / (predicted + gold), 4) if predicted + gold else None
    return StepFigures(f1=f1, recall=rounded(characters.recall), precision=rounded(characters.precision))


def rounded(value: float | None) -> float | None:
    """A figure of a step, with four decimals."""
    return None if value is None else round(value, 4)


class BestEpoch:
    """Keeps the weights of the best epoch so far in a file beside the checkpoint, so that they survive a kill.

    Without a checkpoint, the file is in a folder of its own, which vanishes with this object.
    """

    def __init__(self, checkpoint: Path | None) -> None:
        self._own = None if checkpoint is not None else tempfile.TemporaryDirectory(prefix="deidreview-best-")
        self._folder = checkpoint.parent if checkpoint is not None else Path(self._own.name if self._own else "")

    def offer(self, steps: Sequence[Step], weights: Callable[[], bytes]) -> None:
        """Keep the weights after the last of `steps` if it is the best one. Call it before its checkpoint is written.

        The file of the epoch before stays until the next call: after a kill, the last checkpoint may need it.
        """
        best = chosen(steps)
        earlier = chosen(steps[:-1]) if steps[:-1] else best
        for path in self._folder.glob(f"{PREFIX}*"):
            if path.name not in (f"{PREFIX}{best}", f"{PREFIX}{earlier}"):
                path.unlink()
        if best == len(steps):
            part = self._folder / f"{PREFIX}{best}.part"
            part.touch(mode=0o600)
            part.write_bytes(weights())
            part.replace(self._folder / f"{PREFIX}{best}")

    def content(self, steps: Sequence[Step]) -> bytes:
        """The weights after the best epoch. Raises BackendError if their file has been deleted."""
        try:
            return (self._folder / f"{PREFIX}{chosen(steps)}").read_bytes()
        except FileNotFoundError:
            raise BackendError(
                "The weights of the best epoch are missing in the folder of checkpoints. Start the training anew."
            ) from None


# Train from the first epoch to the last: report steps, write checkpoints, and continue after a kill.


class Orders:
    """The batches of each epoch, made when they are needed, because many notes have many batches."""

    def __init__(self, epochs: int, order: Callable[[int], list[list[Any]]]) -> None:
        """`order(epoch)`: the batches of an epoch; their number may depend on the epoch."""
        self._epochs, self._order = epochs, order

    @property
    def steps(self) -> int:
        """The number of batches in all epochs."""
        return sum(len(self[epoch]) for epoch in range(len(self)))

    def __len__(self) -> int:
        return self._epochs

    def __getitem__(self, epoch: int) -> list[list[Any]]:
        return self._order(epoch)


class EpochLoop(Protocol):
    """A training that goes on epoch by epoch."""

    def epoch(self, batches: Sequence[Sequence[Any]]) -> Iterator[float]:
        """Train on these batches in this order; yields losses, whose mean is the loss of the epoch."""

    def weights(self) -> bytes:
        """The weights at present, for `put_weights`."""

    def put_weights(self, content: bytes) -> None:
        """Set the weights to those that `weights` returned."""

    def save(self, path: Path, key: str, extra: Any) -> None:
        """Write everything that the next epoch depends on, atomically. `restore` returns `extra`."""

    def restore(self, path: Path, key: str) -> Any:
        """Restore the state that `save` wrote and return its `extra`. Raises ValueError for any other file."""


def run_epochs(
    task: TrainingTask,
    loop: EpochLoop,
    orders: Orders | Sequence[Sequence[Sequence[Any]]],
    key: str,
    score: Callable[[], StepFigures],
    *,
    keep_last: bool = False,
    held_out_loss: Callable[[], float | None] = lambda: None,
    more: Callable[[Sequence[Step]], bool] = lambda steps: True,
    keep: Callable[[int], None] = lambda epoch: None,
) -> int:
    """Train on `orders` (the batches of each epoch), or until the task should stop. Returns the number of epochs.

    After each epoch, the state is written to the task's checkpoint under `key`; a later attempt with the same key
    continues from it. `score` computes figures of the held-out notes.
    `keep_last`: write a checkpoint after the last epoch too, because another phase follows. `held_out_loss` computes
    the loss on the held-out notes. `more` is called with the steps so far before each epoch; False ends the training.
    `keep` is called with the number of each epoch that others follow, before its checkpoint is written.

    If the task chooses, the network gets the weights after the epoch that the held-out notes choose, and the number of
    that epoch is returned.
    """
    steps = _earlier(task, loop, key)
    for step in steps:
        task.report(step)
    best = BestEpoch(task.checkpoint) if task.choose and task.held_out else None
    last = min(len(orders), task.stop_after or len(orders))
    for number in range(len(steps), last):
        if not more(steps):
            break
        losses = list(loop.epoch(orders[number]))
        mean, outside, figures = sum(losses) / len(losses), held_out_loss(), score()
        if outside is not None:
            figures["held_out_loss"] = round(outside, 6)
        steps.append(Step(len(steps) + 1, len(orders), round(mean, 6), **figures))
        task.report(steps[-1])
        if best is not None:
            best.offer(steps, loop.weights)
        if task.should_stop():
            break
        if len(steps) < len(orders):
            keep(len(steps))
        if task.checkpoint is not None and (keep_last or best is not None or len(steps) < last):
            loop.save(task.checkpoint, key, [asdict(step) for step in steps])
    if best is None:
        return len(steps)
    loop.put_weights(best.content(steps))
    return chosen(steps)


def adapt(
    task: TrainingTask,
    loop: EpochLoop,
    orders: Orders | Sequence[Sequence[Sequence[Any]]],
    key: str,
    score: Callable[[], StepFigures] = StepFigures,
) -> None:
    """Pre-train on the language of the notes, before any label. Its steps are reported as `adapting`; its checkpoint is
    next to the task's checkpoint. `score` as in run_epochs.
    """
    path = task.checkpoint
    own = replace(
        task,
        checkpoint=path and path.with_name(f"{path.name}-adapted"),
        choose=False,
        stop_after=0,
        report=lambda step: task.report(replace(step, adapting=True)),
    )
    run_epochs(own, loop, orders, key, score, keep_last=True)


def _earlier(task: TrainingTask, loop: EpochLoop, key: str) -> list[Step]:
    """The steps of an earlier attempt at the same task, restored from its checkpoint; empty without one."""
    if task.checkpoint is None or not task.checkpoint.exists():
        return []
    try:
        return [Step(**step) for step in loop.restore(task.checkpoint, key)]
    except ValueError:
        return []
