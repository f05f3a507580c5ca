"""spaCy's learner in the child process: see models_runtime.backends.child."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from models_runtime.backends import files
from models_runtime.backends.learner import SAMPLE, Learner
from models_runtime.backends.spacy_ner.backend import SpacyBackend
from models_runtime.backends.spacy_ner.model import load_model
from models_runtime.backends.spacy_ner.training import learn


def check(path: Path) -> dict[str, Any]:
    card = files.outline(asdict(load_model(path).card))
    SpacyBackend(str(path)).predict([SAMPLE])
    return card


LEARNER: Final = Learner(learn, check)
