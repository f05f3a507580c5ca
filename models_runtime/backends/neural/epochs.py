"""Train from the first epoch to the last: report steps, write checkpoints, and continue after a kill."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

from models_runtime.backends.best import BestEpoch, chosen
from models_runtime.backends.learner import Step, StepFigures, TrainingTask
from models_runtime.backends.neural.learning import Loop


class Orders:
    """The batches of each epoch, made when they are needed, because many notes have many batches."""

    def __init__(self, epochs: int, order: Callable[[int], list[list[int]]]) -> None:
        """`order(epoch)`: the batches of an epoch; their number may depend on the epoch."""
        self._epochs = epochs
        self._order = order

    @property
    def steps(self) -> int:
        """The number of batches in all epochs."""
        return sum(len(self[epoch]) for epoch in range(len(self)))

    def __len__(self) -> int:
        return self._epochs

    def __getitem__(self, epoch: int) -> list[list[int]]:
        return self._order(epoch)


def run_epochs(
    task: TrainingTask,
    loop: Loop,
    orders: Orders | Sequence[Sequence[Sequence[int]]],
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
    loop: Loop,
    orders: Orders | Sequence[Sequence[Sequence[int]]],
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


def _earlier(task: TrainingTask, loop: Loop, key: str) -> list[Step]:
    """The steps of an earlier attempt at the same task, restored from its checkpoint; empty without one."""
    if task.checkpoint is None or not task.checkpoint.exists():
        return []
    try:
        return [Step(**step) for step in loop.restore(task.checkpoint, key)]
    except ValueError:
        return []
