"""Training of a masked language model on the notes' text alone (Salierno et al. 2024, section 5), kept as a model.

A training of a transformer can start from it.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import torch
import transformers

from models_runtime.backends.learner import TrainingTask, task_key
from models_runtime.backends.neural.device import choose_device
from models_runtime.backends.neural.epochs import hyperparameters_of, run_epochs
from models_runtime.backends.neural.learning import Plan, seeded
from models_runtime.backends.token_classification.adapting import MaskedLmTraining
from models_runtime.backends.token_classification.batching import Batching
from models_runtime.backends.token_classification.model import MaskedCard, save_model
from models_runtime.backends.token_classification.starting_point import StartingPoint

SEED: Final = 7


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """Hyperparameters of an algorithm. `batch`: pieces in a batch, with padding."""

    epochs: int
    batch: int = 4096
    rate: float = 5e-5
    warm_up: int = 500


# Three epochs as in section 5.
ALGORITHMS: Final[dict[str, Hyperparameters]] = {"masked": Hyperparameters(epochs=3)}


def learn(task: TrainingTask, path: Path) -> str:
    """Train, write the model to `path` and return its sha256.

    On a CPU, the same task gives the same file, even if it continued from a checkpoint. Raises BackendError (permanent)
    for notes without text, or unusable starting weights.
    """
    name, hyper = hyperparameters_of(task, ALGORITHMS)
    hyper = replace(hyper, rate=task.settings.get("rate", hyper.rate))
    begin = StartingPoint.at(Path(task.base))
    device = replace(choose_device(), stays=True)  # the optimizer's state can't move to the CPU
    key = task_key(task, str(hyper), torch.__version__, transformers.__version__, device.name)
    seeded(SEED)
    training = MaskedLmTraining(
        task,
        begin.masked_lm(),
        begin.pieces(),
        Batching(hyper.batch).changed(task.settings),
        device,
        disjoint=task.settings.get("chunks") == "disjoint",
    )
    orders = training.orders(hyper.epochs)
    task.report(training.first_step(hyper.epochs))
    loop = training.loop(orders, Plan(hyper.rate, warm_up=hyper.warm_up))
    done = run_epochs(task, loop, orders, key, training.figures)
    return save_model(path, MaskedCard(name, begin.name, len(task.notes), done), training.network, begin.tokenizer)
