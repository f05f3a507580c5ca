"""The epoch that held-out notes choose: the one with the best F1 there, with the weights after it."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from models_runtime.backends.base import BackendError
from models_runtime.backends.learner import Step

PREFIX: Final = "best-"


class BestEpoch:
    """Keeps the weights of the best epoch so far in a file beside the checkpoint, so that they survive a kill.

    Without a checkpoint, the file is in a folder of its own, which vanishes with this object.
    """

    def __init__(self, checkpoint: Path | None) -> None:
        self._own = None if checkpoint is not None else tempfile.TemporaryDirectory(prefix="deidreview-best-")
        self._folder = checkpoint.parent if checkpoint is not None else Path(self._own.name if self._own else "")

    def of(self, steps: Sequence[Step]) -> int:
        """The number of the best epoch: of equal ones the first, without any F1 the last."""
        known = [step for step in steps if step.f1 is not None]
        return max(known, key=lambda step: (step.f1, -step.iteration)).iteration if known else len(steps)

    def offer(self, steps: Sequence[Step], weights: Callable[[], bytes]) -> None:
        """Keep the weights after the last of `steps` if it is the best one. Call it before its checkpoint is written.

        The file of the epoch before stays until the next call: after a kill, the last checkpoint may need it.
        """
        best = self.of(steps)
        earlier = self.of(steps[:-1]) if steps[:-1] else best
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
            return (self._folder / f"{PREFIX}{self.of(steps)}").read_bytes()
        except FileNotFoundError:
            raise BackendError(
                "The weights of the best epoch are missing in the folder of checkpoints. Start the training anew.",
                permanent=True,
            ) from None
