"""The BiLSTM-CRF's learner in the child process: see models_runtime.backends.child."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from models_runtime.backends import files
from models_runtime.backends.bilstm_crf.backend import BiLstmCrfBackend
from models_runtime.backends.bilstm_crf.model import load_model
from models_runtime.backends.bilstm_crf.training import learn
from models_runtime.backends.learner import SAMPLE, Learner
from models_runtime.backends.neural.device import choose_device


def check(path: Path) -> dict[str, Any]:
    card = files.outline(asdict(load_model(path).card))
    BiLstmCrfBackend(str(path), device="cpu").predict([SAMPLE])
    return card


LEARNER: Final = Learner(learn, check, choose_device)
