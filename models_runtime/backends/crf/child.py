"""The CRF in a process of its own: see models_runtime.backends.child.

crfsuite can neither go on nor end in the middle with what it has: a training that was killed begins again.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from models_runtime.backends import files
from models_runtime.backends.crf.backend import CrfBackend
from models_runtime.backends.crf.model import load_model
from models_runtime.backends.crf.training import train
from models_runtime.backends.learner import SAMPLE, Learner, Lesson


def learn(lesson: Lesson, path: Path) -> str:
    return train(
        lesson.notes,
        path,
        label_set=lesson.label_set,
        algorithm=lesson.algorithm or "lbfgs",
        iterations=lesson.iterations,
        unlabelled=lesson.unlabelled,
        report=lesson.report,
    )


def check(path: Path) -> dict[str, Any]:
    card = files.outline(asdict(load_model(path).card))
    CrfBackend(str(path)).predict([SAMPLE])
    return card


LEARNER: Final = Learner(learn, check)
