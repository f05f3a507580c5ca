"""`python -m models_runtime.backends.child PARENT train MODULE FILE` or `… check FORMAT=MODULE … FILE`.

The other side of models_runtime.backends.children. A MODULE holds a `LEARNER`.
"""

import ctypes
import importlib
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from annotations.domain.spans import Span
from models_runtime.backends.base import BackendError, not_installed
from models_runtime.backends.files import format_of
from models_runtime.backends.learner import Learner, Lesson, Step

_PR_SET_PDEATHSIG: Final = 1
# What a file from outside may take to be opened.
MOST_MEMORY: Final = 4 << 30
MOST_SECONDS: Final = 25

Say = Callable[[dict[str, Any]], None]


def main(parent: int, act: str, modules: Sequence[str], path: Path) -> None:
    """Do it and say it in lines of JSON; the last one is the outcome."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before that
        return
    say = _mouth()
    try:
        say(_learned(modules[0], path, say) if act == "train" else _checked(modules, path))
    except BackendError as error:
        say({"error": str(error), "permanent": error.permanent})


def _learner(module: str) -> Learner:
    try:
        found: Learner = importlib.import_module(module).LEARNER
    except ImportError as error:
        raise not_installed(error) from None
    return found


def _mouth() -> Say:
    """Says on the pipe that was our output; what a library prints goes nowhere."""
    pipe = os.dup(1)
    os.dup2(2, 1)

    def say(value: dict[str, Any]) -> None:
        os.write(pipe, json.dumps(value).encode() + b"\n")

    return say


def _learned(module: str, path: Path, say: Say) -> dict[str, Any]:
    wanted: list[int] = []
    signal.signal(signal.SIGUSR1, lambda signum, frame: wanted.append(signum))
    learner = _learner(module)
    given = map(json.loads, sys.stdin.buffer)
    options = next(given)
    notes, unlabelled, held_out = (list(_until_null(given)) for _ in range(3))

    begun: list[Step] = []

    def report(step: Step) -> None:
        """Step 0 says how many there are at most; a trainer may report it many times."""
        if step.iteration or not begun:
            begun.append(step)
            say(asdict(step))

    checkpoint = options.pop("checkpoint", None)
    lesson = Lesson(
        notes=list(map(_note, notes)),
        unlabelled=unlabelled,
        held_out=list(map(_note, held_out)),
        checkpoint=Path(checkpoint) if checkpoint else None,
        report=report,
        enough=lambda: bool(wanted),
        **options,
    )
    sha256 = learner.learn(lesson, path)
    place = learner.place() if learner.place else None
    return {"sha256": sha256} | ({"device": place.words, "memory": place.memory()} if place else {})


def _note(value: Any) -> tuple[str, list[Span]]:
    text, spans = value
    return text, [Span(*span) for span in spans]


def _until_null(given: Iterator[Any]) -> Iterator[Any]:
    """The values up to the null that ends them; without one, whoever sent them is gone."""
    for value in given:
        if value is None:
            return
        yield value
    raise SystemExit(1)


def _checked(modules: Sequence[str], path: Path) -> dict[str, Any]:
    """The card as its learner reads it, and the format that the file says it has."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    known = dict(word.split("=") for word in modules)
    found = format_of(path)
    if found not in known:
        raise BackendError(f"this file is none of the models that are taken: {', '.join(known)}", permanent=True)
    return _learner(known[found]).check(path) | {"format": found}


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:-1], Path(sys.argv[-1]))
