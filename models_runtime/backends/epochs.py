"""Train from the first epoch to the last, and choose the best one by the held-out notes.

Masking is judged, not labels: of the iterations with enough precision, the one that leaves least of gold unmasked.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final, Protocol

from annotations.scores.rules import Rates
from annotations.scores.rules.rates import covered_characters
from annotations.text.spans import Span
from models_runtime.backends.base import BackendError
from models_runtime.backends.learner import Step, StepFigures, TrainingTask

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
