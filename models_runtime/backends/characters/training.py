"""Train a character language model on texts, without labels."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import torch

from models_runtime.backends.bilstm_crf.characters import TRAINING_BATCH, CharacterLearning, characters_for
from models_runtime.backends.characters.model import Card, load_model, save_model
from models_runtime.backends.learner import StepFigures, TrainingTask, task_key
from models_runtime.backends.neural.device import choose_device
from models_runtime.backends.neural.epochs import hyperparameters_of, run_epochs
from models_runtime.backends.neural.learning import seeded


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """`width`: the width of the LSTM of each direction. `batch`: characters in a batch."""

    epochs: int
    width: int
    rate: float = 0.004
    batch: int = TRAINING_BATCH
    seed: int = 7


# 1024 is the width of Flair's “multi-fast” (Catelli 2021, section 3.2.1).
ALGORITHMS: Final[dict[str, Hyperparameters]] = {
    "narrow": Hyperparameters(epochs=10, width=128),
    "wide": Hyperparameters(epochs=10, width=1024, rate=0.001),
}


def learn(task: TrainingTask, path: Path) -> str:
    """Train, write the model to `path` and return its sha256.

    On the same type of machine, the same task gives the same file, even if it continued from a checkpoint. With
    `task.base`, continue from that model: new characters are added to its alphabet. Raises BackendError (permanent) for
    notes that are too short.
    """
    name, hyper = hyperparameters_of(task, ALGORITHMS)
    hyper = replace(hyper, **task.settings)
    earlier = load_model(Path(task.base))[1] if task.base else None
    device = replace(choose_device(), stays=True)  # the optimizer's state can't move to the CPU
    key = task_key(task, str(hyper), torch.__version__, device.name)
    seeded(hyper.seed)
    texts = [*(text for text, _ in task.notes), *task.unlabeled]
    characters = characters_for(texts, hyper.width, earlier)
    learning = CharacterLearning(
        characters, texts, hyper.epochs, device, rate=hyper.rate, batch=hyper.batch, chance=hyper.seed
    )
    held_out = [text for text, _ in task.held_out]
    done = run_epochs(
        task, learning.loop, learning.orders, key, StepFigures, held_out_loss=lambda: learning.mean_loss(held_out)
    )
    return save_model(path, Card(task.label_set, (), name, characters.width, len(texts), done), characters)
