"""The iteration that held-out notes choose, and the weights after it.

Masking is judged, not labels: of the iterations with enough precision, the one that leaves least of gold unmasked.
"""

import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from annotations.scores.rules import Rates
from annotations.scores.rules.rates import covered_characters
from annotations.text.spans import Span
from models_runtime.backends.base import BackendError
from models_runtime.backends.learner import Step, StepFigures

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
                "The weights of the best epoch are missing in the folder of checkpoints. Start the training anew.",
                permanent=True,
            ) from None
