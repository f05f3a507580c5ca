"""What a learned backend's own process can do: learn a lesson, and look at a file from outside."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from annotations.domain.spans import Span
from models_runtime.backends.base import Place

# Read with a model that comes from outside, so that weights that crash the reader do it in the child.
SAMPLE: Final = "Name: Anna Bianchi\nNHC: 2748903. Ingreso: 12/03/2021.\nIl dott. Rossi, a Torino: 54 anni.\n" * 3

Note = tuple[str, Sequence[Span]]


@dataclass(frozen=True, slots=True)
class Step:
    """One iteration of `most`: its loss, and the F1 of exact spans on the notes held out, where it is known by then.

    `adapting`: it is an epoch of learning the language of the notes, before any label; counted apart.
    """

    iteration: int
    most: int
    loss: float
    f1: float | None = None
    adapting: bool = False


Report = Callable[[Step], None]
"""Told of every step. What it raises stops the training, and nothing is written."""


@dataclass(frozen=True)
class Lesson:
    """What there is to learn from, and how.

    `unlabelled` are the project's other notes; `held_out` are only ever scored on. `checkpoint` is a file of the
    learner's own: what it leaves there, a later attempt at the same lesson goes on from. `enough()` turns true when
    somebody wants the training to end with what it has learned so far. `base` is what a learner that needs some begins
    with: a folder of weights, or a model of its own kind. `adapt`: for so many epochs it learns the language of the
    texts first, those without labels included. `grouping`: so many sentences are one sequence, for a learner that
    reads by sentences; 0: its own choice.
    """

    notes: Sequence[Note]
    label_set: str
    algorithm: str = ""
    iterations: int | None = None
    language: str = ""
    base: str = ""
    adapt: int = 0
    grouping: int = 0
    unlabelled: Sequence[str] = ()
    held_out: Sequence[Note] = ()
    checkpoint: Path | None = None
    report: Report = field(default=lambda step: None)
    enough: Callable[[], bool] = field(default=lambda: False)


def lesson_key(lesson: Lesson, *more: str) -> str:
    """A sha256 over everything that a training depends on: another lesson never goes on from this one's checkpoint.

    `more`: what the learner adds, such as its settings and the versions of its libraries.
    """
    notes = [
        [[text, [[span.start, span.end, span.label] for span in spans]] for text, spans in side]
        for side in (lesson.notes, lesson.held_out)
    ]
    said = [
        *notes,
        list(lesson.unlabelled),
        lesson.label_set,
        lesson.algorithm,
        lesson.language,
        lesson.base,
        lesson.adapt,
        lesson.grouping,
        *more,
    ]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Learner:
    """`learn(lesson, path)` writes the model and returns its sha256; `check(path)` opens one and returns its card.

    Both raise BackendError. `place()`: where it learned, for one that may do so on a GPU.
    """

    learn: Callable[[Lesson, Path], str]
    check: Callable[[Path], dict[str, Any]]
    place: Callable[[], Place] | None = None
