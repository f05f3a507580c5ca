"""Train a character language model on texts, without labels."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import torch
from torch import nn

from models_runtime.backends import files
from models_runtime.backends.base import BackendError
from models_runtime.backends.characters.model import LanguageModelCard, load_model, save_model
from models_runtime.backends.characters.network import Characters, alphabet_of, padded
from models_runtime.backends.learner import SAMPLE, Learner, StepFigures, TrainingTask, hyperparameters_of, task_key
from models_runtime.backends.neural.continuing import copy_network
from models_runtime.backends.neural.device import Device, Placement, choose_device
from models_runtime.backends.neural.epochs import Orders, adapt, run_epochs
from models_runtime.backends.neural.learning import IGNORED, Loop, Plan, seeded
from models_runtime.backends.neural.windows import Window, batches, windows
from models_runtime.backends.notes.note import read

# Characters in a window for training, without overlap. Shorter windows make larger batches.
TRAINING_WINDOW: Final = 256
# Characters in a training batch. Smaller batches give more updates in an epoch.
TRAINING_BATCH: Final = 4096
WARM_UP: Final = 100


@dataclass(frozen=True, slots=True)
class LanguageModelHyperparameters:
    """`width`: the width of the LSTM of each direction. `batch`: characters in a batch."""

    epochs: int
    width: int
    rate: float = 0.004
    batch: int = TRAINING_BATCH
    seed: int = 7


NARROW: Final = LanguageModelHyperparameters(epochs=10, width=128)
# 1024 is the width of Flair's “multi-fast” (Catelli 2021, section 3.2.1).
ALGORITHMS: Final = {"narrow": NARROW, "wide": LanguageModelHyperparameters(epochs=10, width=1024, rate=0.001)}


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
    training = _LanguageModelTraining(task, hyper, device, earlier)
    held_out = [text for text, _ in task.held_out]
    done = run_epochs(
        task, training.loop, training.orders, key, StepFigures, held_out_loss=lambda: training.mean_loss(held_out)
    )
    characters, notes = training.characters, len(training.texts)
    return save_model(path, LanguageModelCard(task.label_set, (), name, characters.width, notes, done), characters)


def learn_language(task: TrainingTask, key: str, device: Device, seed: int, earlier: Characters | None) -> Characters:
    """Train a narrow model for `task.adapt` epochs, on all notes of the task except the held-out ones.

    With an `earlier` model, continue from its weights; new characters are added to its alphabet.

    Reports every epoch and continues from a checkpoint: see epochs.adapt. Raises BackendError (permanent) for notes
    that are too short.
    """
    seeded(seed)
    training = _LanguageModelTraining(task, replace(NARROW, epochs=task.adapt, seed=0), device, earlier)
    adapt(task, training.loop, training.orders, key)
    training.characters.eval()
    return training.characters


class NextCharacter(nn.Module):  # type: ignore[misc]  # torch has no types where it is not installed
    """The model in training: predicts the next character from each state, in both directions.

    The prediction layers are not saved with the model. Without them, it can't generate text, so that no sentence of a
    note can be read back from a saved model.
    """

    def __init__(self, characters: Characters) -> None:
        super().__init__()
        self.characters = characters
        size = characters.table.num_embeddings
        self.next = nn.Linear(characters.width, size)
        self.before = nn.Linear(characters.width, size)

    def forward(self, ids: Any, lengths: Any) -> Any:
        """The mean cross-entropy of the predictions in both directions (natural logarithm)."""
        onward, behind = self.characters(ids, lengths)
        present = ids[:, 1:] > 0
        predictions = (
            (self.next(onward[:, :-1]), ids[:, 1:]),
            (self.before(behind[:, 1:]), ids[:, :-1]),
        )
        losses = [
            nn.functional.cross_entropy(
                scores.float().flatten(0, 1), right.where(present, IGNORED).flatten(), ignore_index=IGNORED
            )
            for scores, right in predictions
        ]
        return sum(losses) / len(losses)


class _LanguageModelTraining:
    """A training of a language model, new or from an `earlier` one, on all notes of the task but the held-out ones."""

    def __init__(
        self, task: TrainingTask, hyper: LanguageModelHyperparameters, device: Device, earlier: Characters | None
    ) -> None:
        """Raises BackendError (permanent) for notes that are too short."""
        self._hyper, self._device = hyper, device
        self.texts = [*(text for text, _ in task.notes), *task.unlabeled]
        self.characters = _characters(self.texts, hyper.width, earlier)
        self._work = self._windows(self.texts)
        if not self._work:
            raise BackendError("The notes are too short for language pre-training.", permanent=True)
        self._predictor = NextCharacter(self.characters)
        Placement(device, self._predictor)
        self.orders = Orders(hyper.epochs, self._order)
        self.loop = Loop(
            self._predictor,
            lambda numbers: self._loss([self._work[number] for number in numbers]),
            Plan(hyper.rate, warm_up=WARM_UP),
            device,
            steps=self.orders.steps,
        )

    def mean_loss(self, texts: Iterable[str]) -> float | None:
        """The mean loss on other texts, in nats per character, over both directions; None without a prediction."""
        work = self._windows(texts)
        total, count = 0.0, 0
        for numbers in batches([len(ids) for ids in work], TRAINING_BATCH):
            some = [work[number] for number in numbers]
            predicted = sum(len(ids) - 1 for ids in some)
            with torch.no_grad():
                total += float(self._loss(some)) * predicted
            count += predicted
        return total / count if count else None

    def _windows(self, texts: Iterable[str]) -> list[Any]:
        return [
            ids[window.start : window.past]
            for ids in map(self.characters.numbers, texts)
            for window in _training_windows(len(ids))
        ]

    def _loss(self, some: Sequence[Any]) -> Any:
        return self._predictor(*padded(some, self._device))

    def _order(self, epoch: int) -> list[list[int]]:
        found = batches([len(ids) for ids in self._work], self._hyper.batch)
        random.Random(epoch + self._hyper.seed).shuffle(found)  # noqa: S311 - an order of notes
        return found


def _characters(texts: Iterable[str], width: int, earlier: Characters | None) -> Characters:
    """A model for these texts: untrained, or an `earlier` one with the characters that its alphabet lacks."""
    alphabet = alphabet_of(texts)
    if earlier is None:
        return Characters(alphabet, width)
    alphabet = earlier.alphabet + "".join(each for each in alphabet if each not in earlier.alphabet)
    characters = Characters(alphabet, earlier.width)
    copy_network(earlier.state_dict(), characters, {})
    return characters


def _training_windows(length: int) -> list[Window]:
    """Windows of at least two characters, so that there is one to predict."""
    return [window for window in windows(length, TRAINING_WINDOW, 0) if len(window) > 1]


def check(path: Path) -> dict[str, Any]:
    """Load a model, read a sample with it and return the outline of its card. Raises BackendError (permanent)."""
    card, characters = load_model(path)
    outline = files.outline(asdict(card))
    characters.vectors(read(SAMPLE), Placement(choose_device("cpu"), characters))
    return outline


LEARNER: Final = Learner(learn, check, choose_device)
