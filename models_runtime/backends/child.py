"""`python -m models_runtime.backends.child PARENT train LEARNER FILE` or `… check FORMAT=LEARNER … FILE`.

The child process that models_runtime.backends.children starts. LEARNER is the dotted path of a Learner.
"""

import ctypes
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from annotations.text.spans import Span
from models_runtime.backends.base import BackendError, not_installed
from models_runtime.backends.files import MOST, REFIT, card_of, format_of, mark_refit
from models_runtime.backends.learner import Learner, Step, TrainingTask
from models_runtime.backends.marginals import SelfLabeled

_PR_SET_PDEATHSIG: Final = 1
# Limits for opening an uploaded file: address space in bytes, processor time in seconds.
MOST_MEMORY: Final = 4 << 30
MOST_SECONDS: Final = 25

Say = Callable[[dict[str, Any]], None]


def main(parent: int, act: str, learners: Sequence[str], path: Path) -> None:
    """Run the action `act` and write lines of JSON to the parent process; the last line is the result."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent died before prctl was called
        return
    say = _open_output()
    try:
        say(_learned(learners[0], path, say) if act == "train" else _checked(learners, path))
    except BackendError as error:
        say({"error": str(error), "permanent": error.permanent})


def _learner(dotted: str) -> Learner:
    module, _, name = dotted.rpartition(".")
    try:
        found: Learner = getattr(importlib.import_module(module), name)
    except ImportError as error:
        raise not_installed(error) from None
    return found


def _open_output() -> Say:
    """Keep the pipe to the parent for messages; send what libraries print to stderr, which is discarded."""
    pipe = os.dup(1)
    os.dup2(2, 1)

    def say(value: dict[str, Any]) -> None:
        os.write(pipe, json.dumps(value).encode() + b"\n")

    return say


def _learned(dotted: str, path: Path, say: Say) -> dict[str, Any]:
    stops: list[int] = []
    signal.signal(signal.SIGUSR1, lambda signum, frame: stops.append(signum))
    learner = _learner(dotted)
    received = map(json.loads, sys.stdin.buffer)
    options = next(received)
    checkpoint = options.pop("checkpoint", None)
    notes = list(_until_null(received))
    unlabeled = Spooled(_until_null(received), Path(checkpoint).parent if checkpoint else None)
    held_out = list(_until_null(received))
    self_labeled = [SelfLabeled(*_note(note), [tuple(each) for each in sure]) for *note, sure in _until_null(received)]

    sent: list[Step] = []

    def report(step: Step) -> None:
        """Send a step. Step 0 is from before the training; it is sent once, however often it is reported."""
        if step.iteration or not sent:
            sent.append(step)
            say(asdict(step))

    task = TrainingTask(
        notes=list(map(_note, notes)),
        unlabeled=unlabeled,
        held_out=list(map(_note, held_out)),
        self_labeled=self_labeled,
        checkpoint=Path(checkpoint) if checkpoint else None,
        report=report,
        should_stop=lambda: bool(stops),
        **options,
    )
    sha256 = learner.learn(task, path)
    if task.refit:
        sha256 = mark_refit(path, task.refit)
    device = learner.device() if learner.device else None
    found = {"sha256": sha256, "iterations": card_of(path)["iterations"]}
    return found | ({"device": device.description, "memory": device.memory()} if device else {})


class Spooled:
    """Texts that can be read several times, and may be too many for the memory.

    They are in a file without a name in `folder` (the system's folder for temporary files if None). Nobody else can
    open it, and it vanishes with this process.
    """

    def __init__(self, texts: Iterable[str], folder: Path | None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - open as long as this object exists
        for text in texts:
            self._file.write(json.dumps(text).encode() + b"\n")

    def __iter__(self) -> Iterator[str]:
        """Only one iteration at a time."""
        self._file.seek(0)
        return map(json.loads, self._file)


def _note(value: Any) -> tuple[str, list[Span]]:
    text, spans = value
    return text, [Span(*span) for span in spans]


def _until_null(received: Iterator[Any]) -> Iterator[Any]:
    """The values up to the null that ends them. Without a null, the parent died: exit."""
    for value in received:
        if value is None:
            return
        yield value
    raise SystemExit(1)


def _checked(learners: Sequence[str], path: Path) -> dict[str, Any]:
    """The file's card as read by its learner, with the file's format."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    known = dict(word.split("=") for word in learners)
    found = format_of(path)
    if found not in known:
        raise BackendError(
            f"This file has no supported model format. Supported formats: {', '.join(known)}.", permanent=True
        )
    outline = _learner(known[found]).check(path) | {"format": found}
    refit = card_of(path).get(REFIT)
    return outline | ({REFIT: refit} if type(refit) is int and 0 < refit < MOST else {})


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:-1], Path(sys.argv[-1]))
