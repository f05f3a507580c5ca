"""`python -m models_runtime.backends.crf.child PARENT train|check FILE`: see models_runtime.backends.children."""

import ctypes
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from annotations.domain.spans import Span
from models_runtime.backends.base import BackendError
from models_runtime.backends.crf.backend import CrfBackend
from models_runtime.backends.crf.model import load_model
from models_runtime.backends.crf.training import Step, train

_PR_SET_PDEATHSIG: Final = 1
# What a file from outside may take to be opened.
MOST_MEMORY: Final = 4 << 30
MOST_SECONDS: Final = 25
# Read with a model that comes from outside, so that weights that crash the reader do it here.
SAMPLE: Final = "Name: Anna Bianchi\nNHC: 2748903. Ingreso: 12/03/2021.\nIl dott. Rossi, a Torino: 54 anni.\n" * 3

Say = Callable[[dict[str, Any]], None]


def main(parent: int, act: str, path: Path) -> None:
    """Do it and say it in lines of JSON; the last one is the outcome."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before that
        return
    say = _mouth()
    try:
        say(_learned(path, say) if act == "train" else _checked(path))
    except BackendError as error:
        say({"error": str(error), "permanent": error.permanent})


def _mouth() -> Say:
    """Says on the pipe that was our output; what a library prints goes nowhere."""
    pipe = os.dup(1)
    os.dup2(2, 1)

    def say(value: dict[str, Any]) -> None:
        os.write(pipe, json.dumps(value).encode() + b"\n")

    return say


def _learned(path: Path, say: Say) -> dict[str, Any]:
    given = map(json.loads, sys.stdin.buffer)
    options = next(given)
    notes = [(text, [Span(*span) for span in spans]) for text, spans in _until_null(given)]
    unlabelled = list(_until_null(given))

    def report(step: Step) -> None:
        if step.iteration:
            say({"iteration": step.iteration, "most": step.most, "loss": step.loss})

    return {"sha256": train(notes, path, unlabelled=unlabelled, report=report, **options)}


def _until_null(given: Iterator[Any]) -> Iterator[Any]:
    """The values up to the null that ends them; without one, whoever sent them is gone."""
    for value in given:
        if value is None:
            return
        yield value
    raise SystemExit(1)


def _checked(path: Path) -> dict[str, Any]:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    card = load_model(path).card
    if not (type(card.notes) is int and type(card.iterations) is int):
        raise BackendError("its card's counts must be whole numbers", permanent=True)
    CrfBackend(str(path)).predict([SAMPLE])
    return {
        "label_set": card.label_set[:40],
        "labels": card.labels,
        "algorithm": card.algorithm[:40],
        "notes": card.notes,
        "iterations": card.iterations,
    }


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
