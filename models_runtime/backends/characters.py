"""Character language models as models of their own (Akbik et al. 2018; Catelli 2021, section 3.2.1)."""

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from annotations.text.wording import gettext as _
from models_runtime.backends import files
from models_runtime.backends.base import BackendError
from models_runtime.backends.epochs import Orders, adapt, run_epochs
from models_runtime.backends.learner import SAMPLE, Learner, StepFigures, TrainingTask, hyperparameters_of, task_key
from models_runtime.backends.neural.crf import bidirectional
from models_runtime.backends.neural.device import Device, Placement, Window, batches, choose_device, windows
from models_runtime.backends.neural.learning import IGNORED, Loop, Plan, copy_network, seeded
from models_runtime.backends.notes import Note, read

# A character language model (Akbik et al. 2018).
#
# A forward and a backward LSTM learn to predict the next character of a note. The vector of a token consists of the
# forward state after its last character and the backward state before its first. It depends on the context, and exists
# for unknown words too. The model learns from notes with or without labels. It is fixed while the labels are learned,
# so that the vectors of a note are computed once, not in every epoch.


# Number 0 is padding, number 1 stands for characters that are not in the alphabet.
UNSEEN: Final = 1
# Size of the alphabet: the most frequent characters of the notes that occur at least LEAST times.
ALPHABET: Final = 512
LEAST: Final = 3
EMBEDDING: Final = 32
# Characters in a window for prediction. Windows overlap, so that each character has context on either side.
WINDOW: Final = 512
OVERLAP: Final = 128
# Characters that take as much memory as one token of the BiLSTM.
LIGHT: Final = 8


def alphabet_of(texts: Iterable[str]) -> str:
    """The characters of the alphabet, sorted by code point."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    kept = sorted((-count, character) for character, count in counts.items() if count >= LEAST)[:ALPHABET]
    return "".join(sorted(character for _, character in kept))


class Characters(nn.Module):  # type: ignore[misc]  # torch has no types where it is not installed
    """The two LSTMs. `width`: the size of the state of each, so a token's vector has twice as many values."""

    def __init__(self, alphabet: str, width: int) -> None:
        super().__init__()
        self.alphabet, self.width = alphabet, width
        self._numbers = {character: number for number, character in enumerate(alphabet, start=UNSEEN + 1)}
        self.table = nn.Embedding(len(alphabet) + UNSEEN + 1, EMBEDDING, padding_idx=0)
        self.onward = nn.LSTM(EMBEDDING, width, batch_first=True)
        self.behind = nn.LSTM(EMBEDDING, width, batch_first=True)

    def numbers(self, text: str) -> Any:
        return np.array([self._numbers.get(character, UNSEEN) for character in text], dtype=np.int32)

    def forward(self, ids: Any, lengths: Any) -> tuple[Any, Any]:
        """The states of both LSTMs [windows, characters, width] for characters as numbers [windows, characters]."""
        return bidirectional(self.onward, self.behind, self.table(ids), lengths)

    def vectors(self, note: Note, placement: Placement, parts: Sequence[tuple[int, int]] = ()) -> Any:
        """A vector for each token [tokens, 2 * width], in half precision. Depends only on this note.

        `parts`: sorted bounds in the text that hold all tokens, each read by itself; by default, the note is one part.
        """
        found = np.zeros((len(note.tokens), 2 * self.width), dtype=np.float16)
        ids = self.numbers(note.text)
        ends = np.array([token.end - 1 for token in note.tokens], dtype=np.int64)
        starts = np.array([token.start for token in note.tokens], dtype=np.int64)
        work = [
            window.moved(start)
            for start, past in parts or [(0, len(ids))]
            for window in windows(past - start, WINDOW, OVERLAP)
        ]

        def read(batch: Sequence[int]) -> None:
            some, device = [work[at] for at in batch], placement.device
            with torch.inference_mode(), device.precision():
                onward, behind = self(*padded([ids[window.start : window.past] for window in some], device))
            for states, positions, half in (
                (onward, ends, slice(0, self.width)),
                (behind, starts, slice(self.width, None)),
            ):
                rows, columns, tokens = _located(some, positions)
                found[tokens, half] = states[rows, columns].half().cpu().numpy()

        placement.each([len(window) for window in work], read, light=LIGHT)
        return found


def _located(some: Sequence[Window], positions: Any) -> tuple[Any, Any, Any]:
    """For the sorted positions that these windows predict: window, position in the window, index in `positions`."""
    edges = [np.searchsorted(positions, (window.kept, window.kept_past)) for window in some]
    tokens = np.concatenate([np.arange(*edge) for edge in edges])
    rows = np.repeat(np.arange(len(some)), [past - first for first, past in edges])
    starts = np.array([window.start for window in some])
    return torch.from_numpy(rows), torch.from_numpy(positions[tokens] - starts[rows]), tokens


def padded(windows: Sequence[Any], device: Device) -> tuple[Any, Any]:
    """The windows as one tensor [windows, characters], padded with 0, and their lengths."""
    lengths = torch.tensor([len(window) for window in windows])
    ids = pad_sequence([torch.from_numpy(window) for window in windows], batch_first=True).long()
    return ids.to(device.name), lengths.to(device.name)


FORMAT: Final = "deidreview-characters-1"
MOST_WIDTH: Final = 2048
MOST_ALPHABET: Final = 20_000


@dataclass(frozen=True, slots=True)
class LanguageModelCard(files.FileCard):
    """Description of a language model. `labels` is empty: it suggests no spans. `width`: the width of each LSTM."""

    width: int


def save_model(path: Path, card: LanguageModelCard, characters: Characters) -> str:
    """Write a model and return the sha256 of its file. The same content gives the same file."""
    tensors = {name: value.detach().cpu().contiguous() for name, value in characters.state_dict().items()}
    header = {"alphabet": json.dumps(characters.alphabet)}
    return files.save(path, card, save(tensors, header))


def load_model(path: Path) -> tuple[LanguageModelCard, Characters]:
    """Load a model. Raises BackendError (permanent) if the file is missing, damaged or of another format."""
    data, _lexicon, content = files.unpack(path, FORMAT)
    card = files.card_from(path, LanguageModelCard, data)
    try:
        characters = characters_of(json.loads(files.header(content)["alphabet"]), load(content), card.width)
    except (ValueError, LookupError, TypeError, AttributeError, RuntimeError, SafetensorError) as error:
        raise files.refused(path, FORMAT, _("its weights don't fit its card ({error})", type(error).__name__)) from None
    return card, characters


def characters_of(alphabet: Any, tensors: Mapping[str, Any], width: Any) -> Characters:
    """The language model of these tensors. Raises various errors for values that don't fit."""
    if not (type(width) is int and 0 < width <= MOST_WIDTH):
        raise ValueError("the width is out of range")
    if not (isinstance(alphabet, str) and len(alphabet) <= MOST_ALPHABET):
        raise ValueError("the alphabet is out of range")
    found = Characters(alphabet, width)
    found.load_state_dict(dict(tensors))
    found.eval()
    return found


# Train a character language model on texts, without labels.


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
    card = LanguageModelCard(task.label_set, (), name, notes, done, FORMAT, characters.width)
    return save_model(path, card, characters)


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
        predictions = ((self.next(onward[:, :-1]), ids[:, 1:]), (self.before(behind[:, 1:]), ids[:, :-1]))
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
            raise BackendError("The notes are too short for language pre-training.")
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
            for window in windows(len(ids), TRAINING_WINDOW, 0)
            if len(window) > 1  # There must be one to predict.
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


def check(path: Path) -> dict[str, Any]:
    """Load a model, read a sample with it and return the outline of its card. Raises BackendError (permanent)."""
    card, characters = load_model(path)
    outline = files.outline(asdict(card))
    characters.vectors(read(SAMPLE), Placement(choose_device("cpu"), characters))
    return outline


LEARNER: Final = Learner(learn, check, choose_device)
