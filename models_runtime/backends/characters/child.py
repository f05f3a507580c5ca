"""The learner of character language models in the child process: see models_runtime.backends.child."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from models_runtime.backends import files
from models_runtime.backends.characters.model import load_model
from models_runtime.backends.characters.training import learn
from models_runtime.backends.learner import SAMPLE, Learner
from models_runtime.backends.neural.device import Placement, choose_device
from models_runtime.backends.notes.note import read


def check(path: Path) -> dict[str, Any]:
    card, characters = load_model(path)
    outline = files.outline(asdict(card))
    characters.vectors(read(SAMPLE), Placement(choose_device("cpu"), characters))
    return outline


LEARNER: Final = Learner(learn, check, choose_device)
