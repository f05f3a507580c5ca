"""The masked language models' learner in the child process: see models_runtime.backends.child."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from models_runtime.backends import files
from models_runtime.backends.learner import Learner
from models_runtime.backends.neural.device import choose_device
from models_runtime.backends.token_classification.masked_training import learn
from models_runtime.backends.token_classification.model import load_masked


def check(path: Path) -> dict[str, Any]:
    return files.outline(asdict(load_masked(path).card))


LEARNER: Final = Learner(learn, check, choose_device)
