"""The CRF's learner in the child process: see models_runtime.backends.child.

crfsuite can neither continue a training nor end one early. A training that was killed starts again. How a training
starts from an earlier model: see models_runtime.backends.crf.training.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from models_runtime.backends import files
from models_runtime.backends.augmenting import augmented
from models_runtime.backends.crf.backend import CrfBackend
from models_runtime.backends.crf.model import load_model
from models_runtime.backends.crf.training import train
from models_runtime.backends.learner import SAMPLE, Learner, TrainingTask


def learn(task: TrainingTask, path: Path) -> str:
    return train(
        augmented(task).notes,
        path,
        label_set=task.label_set,
        algorithm=task.algorithm or "lbfgs",
        iterations=task.iterations,
        unlabeled=task.unlabeled,
        report=task.report,
        base=Path(task.base) if task.base else None,
        held_out=task.held_out if task.choose else (),
        stop_after=task.stop_after,
        self_labeled=task.self_labeled,
        use_rules=task.settings.get("rules", True),
        gold_notes=len(task.notes),
    )


def check(path: Path) -> dict[str, Any]:
    model = load_model(path)
    card = files.outline(asdict(model.card))
    if model.has_rules:  # An earlier stage may have them.
        card.pop("rules", None)
    CrfBackend(str(path)).predict([SAMPLE])
    return card


LEARNER: Final = Learner(learn, check)
