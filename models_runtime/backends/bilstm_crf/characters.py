"""A character language model (Akbik et al. 2018).

A forward and a backward LSTM learn to predict the next character of a note. The vector of a token consists of the
forward state after its last character and the backward state before its first. It depends on the context, and exists
for unknown words too. The model learns from notes with or without labels. It is fixed while the labels are learned, so
that the vectors of a note are computed once, not in every epoch.
"""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from models_runtime.backends.base import BackendError
from models_runtime.backends.bilstm_crf.bidirectional import bidirectional
from models_runtime.backends.learner import TrainingTask
from models_runtime.backends.neural.continuing import copy_network
from models_runtime.backends.neural.device import Device, Placement
from models_runtime.backends.neural.epochs import adapt
from models_runtime.backends.neural.learning import IGNORED, Loop, Plan, seeded
from models_runtime.backends.neural.windows import Window, batches, windows
from models_runtime.backends.notes.note import Note

# Number 0 is padding, number 1 stands for characters that are not in the alphabet.
UNSEEN: Final = 1
# Size of the alphabet: the most frequent characters of the notes that occur at least LEAST times.
ALPHABET: Final = 512
LEAST: Final = 3
EMBEDDING: Final = 32
# Characters in a window for prediction. Windows overlap, so that each character has context on either side.
WINDOW: Final = 512
OVERLAP: Final = 128
# Characters in a window for training, without overlap. Shorter windows make larger batches.
TRAINING_WINDOW: Final = 256
# Characters in a training batch. Smaller batches give more updates in an epoch.
TRAINING_BATCH: Final = 4096
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
            Window(*(start + edge for edge in (window.start, window.past, window.kept, window.kept_past)))
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
    ids = torch.zeros((len(windows), int(lengths.max())), dtype=torch.long)
    for row, window in zip(ids, windows, strict=True):
        row[: len(window)] = torch.from_numpy(window)
    return ids.to(device.name), lengths.to(device.name)


# ── Training ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class LanguageHyperparameters:
    """Hyperparameters of the language model. `width`: the size of the state of each LSTM."""

    width: int = 128
    rate: float = 0.004
    warm_up: int = 100


LANGUAGE_HYPERPARAMETERS: Final = LanguageHyperparameters()


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


def learn_characters(
    task: TrainingTask, key: str, device: Device, seed: int, earlier: Characters | None = None
) -> Characters:
    """Train the language model for `task.adapt` epochs, on all notes of the task except the held-out ones.

    With an `earlier` model, continue from its weights; new characters are added to its alphabet.

    Reports every epoch and continues from a checkpoint: see epochs.adapt. Raises BackendError (permanent) for notes
    that are too short.
    """
    seeded(seed)
    texts = [*(text for text, _ in task.notes), *task.unlabeled]
    characters = characters_for(texts, LANGUAGE_HYPERPARAMETERS.width, earlier)
    learning = CharacterLearning(characters, texts, task.adapt, device)
    adapt(task, learning.loop, learning.orders, key)
    characters.eval()
    return characters


def characters_for(texts: Iterable[str], width: int, earlier: Characters | None) -> Characters:
    """A model for these texts: untrained, or an `earlier` one with the characters that its alphabet lacks."""
    alphabet = alphabet_of(texts)
    if earlier is None:
        return Characters(alphabet, width)
    alphabet = earlier.alphabet + "".join(each for each in alphabet if each not in earlier.alphabet)
    characters = Characters(alphabet, earlier.width)
    copy_network(earlier.state_dict(), characters, {})
    return characters


class CharacterLearning:
    """A training of the language model on texts, for a number of epochs."""

    def __init__(
        self,
        characters: Characters,
        texts: Iterable[str],
        epochs: int,
        device: Device,
        *,
        rate: float = LANGUAGE_HYPERPARAMETERS.rate,
        batch: int = TRAINING_BATCH,
        chance: int = 0,
    ) -> None:
        """`batch`: characters in a batch. `chance`: added to the seed of each epoch's order.

        Raises BackendError (permanent) for notes that are too short.
        """
        self._characters, self._device = characters, device
        self._work = self._windows(texts)
        if not self._work:
            raise BackendError("The notes are too short for language pre-training.", permanent=True)
        self._predictor = NextCharacter(characters)
        Placement(device, self._predictor)
        lengths = [len(ids) for ids in self._work]
        self.orders = [_order(lengths, epoch + chance, batch) for epoch in range(epochs)]
        self.loop = Loop(
            self._predictor,
            lambda numbers: self._loss([self._work[number] for number in numbers]),
            Plan(rate, warm_up=LANGUAGE_HYPERPARAMETERS.warm_up),
            device,
            steps=sum(map(len, self.orders)),
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
            for ids in map(self._characters.numbers, texts)
            for window in _training_windows(len(ids))
        ]

    def _loss(self, some: Sequence[Any]) -> Any:
        return self._predictor(*padded(some, self._device))


def _training_windows(length: int) -> list[Window]:
    """Windows of at least two characters, so that there is one to predict."""
    return [window for window in windows(length, TRAINING_WINDOW, 0) if len(window) > 1]


def _order(lengths: Sequence[int], epoch: int, batch: int) -> list[list[int]]:
    found = batches(lengths, batch)
    random.Random(epoch).shuffle(found)  # noqa: S311 - an order of notes
    return found
