"""The learner of BiLSTM-CRFs with stacked embeddings in the child process: see models_runtime.backends.child."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from models_runtime.backends import files
from models_runtime.backends.learner import SAMPLE, Learner
from models_runtime.backends.neural.device import choose_device
from models_runtime.backends.stacked.backend import StackedBackend
from models_runtime.backends.stacked.model import load_model
from models_runtime.backends.stacked.training import learn


def check(path: Path) -> dict[str, Any]:
    card = load_model(path).card
    outline = files.outline(asdict(card))
    StackedBackend(str(path), device="cpu").predict([SAMPLE])
    return outline | {"embeddings": list(card.embeddings)}


LEARNER: Final = Learner(learn, check, choose_device)
