"""A language model of characters (A. Akbik, D. Blythe, R. Vollgraf, Contextual String Embeddings, 2018).

Two LSTMs read a note character by character, one onward, one from its end, and learn to guess what comes next. The
vector of a token is what the first knows behind the token's last character and the other one before its first: the same
word has another vector in other surroundings, and a word that was never seen has one as well. It learns from notes
alone, labelled or not, and stays as it is while the labels are learned: so a note is read by it once, not every epoch.
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
from models_runtime.backends.bilstm_crf.both_ways import both_ways
from models_runtime.backends.learner import Lesson
from models_runtime.backends.neural.device import Device, Seat
from models_runtime.backends.neural.learning import IGNORED, Loop, Plan, seeded
from models_runtime.backends.neural.teaching import adapt
from models_runtime.backends.neural.windows import Window, batches, windows
from models_runtime.backends.notes.note import Note

# 0 is padding, 1 a character that the alphabet lacks.
UNSEEN: Final = 1
# The most frequent ones of the notes; a character that occurs less often than LEAST is none of them.
ALPHABET: Final = 512
LEAST: Final = 3
EMBEDDING: Final = 32
# Stretches of a note, in characters. When reading they overlap: half of that at least stands around each character.
WINDOW: Final = 512
OVERLAP: Final = 128
# When learning they don't, and are shorter: more of them side by side.
STRETCH: Final = 256
# Characters in one batch when learning: small ones teach more in an epoch.
LEARNED_AT_ONCE: Final = 4096
# So many characters are read with as much memory as one token of what takes tokens.
LIGHT: Final = 8


def alphabet_of(texts: Iterable[str]) -> str:
    """The characters that are told apart, by code point."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    kept = sorted((-count, character) for character, count in counts.items() if count >= LEAST)[:ALPHABET]
    return "".join(sorted(character for _, character in kept))


class Characters(nn.Module):
    """The two readers. `width` is the number of values of each of them, so that a token's vector has twice as many."""

    def __init__(self, alphabet: str, width: int) -> None:
        super().__init__()
        self.alphabet, self.width = alphabet, width
        self._numbers = {character: number for number, character in enumerate(alphabet, start=UNSEEN + 1)}
        self.table = nn.Embedding(len(alphabet) + UNSEEN + 1, EMBEDDING, padding_idx=0)
        self.onward = nn.LSTM(EMBEDDING, width, batch_first=True)
        self.behind = nn.LSTM(EMBEDDING, width, batch_first=True)

    def numbers(self, text: str) -> Any:
        return np.array([self._numbers.get(character, UNSEEN) for character in text], dtype=np.int64)

    def forward(self, ids: Any, lengths: Any) -> tuple[Any, Any]:
        """The states of both [stretches, characters, width] of numbers [stretches, characters]."""
        return both_ways(self.onward, self.behind, self.table(ids), lengths)

    def vectors(self, note: Note, seat: Seat) -> Any:
        """A vector for each token [tokens, 2 * width], half precision. Depends on this note alone."""
        found = np.zeros((len(note.tokens), 2 * self.width), dtype=np.float16)
        ids = self.numbers(note.text)
        ends = np.array([token.end - 1 for token in note.tokens], dtype=np.int64)
        starts = np.array([token.start for token in note.tokens], dtype=np.int64)
        work = windows(len(ids), WINDOW, OVERLAP)

        def read(batch: Sequence[int]) -> None:
            some, device = [work[at] for at in batch], seat.device
            with torch.inference_mode(), device.precise():
                onward, behind = self(*side_by_side([ids[window.start : window.past] for window in some], device))
            for states, places, half in (
                (onward, ends, slice(0, self.width)),
                (behind, starts, slice(self.width, None)),
            ):
                rows, columns, tokens = _read_by(some, places)
                found[tokens, half] = states[rows, columns].half().cpu().numpy()

        seat.each([len(window) for window in work], read, light=LIGHT)
        return found


def _read_by(some: Sequence[Window], places: Any) -> tuple[Any, Any, Any]:
    """Of the places (growing) that these windows read: the window's number, where in it, and which place it is."""
    edges = [np.searchsorted(places, (window.reads, window.reads_past)) for window in some]
    tokens = np.concatenate([np.arange(*edge) for edge in edges])
    rows = np.repeat(np.arange(len(some)), [past - first for first, past in edges])
    starts = np.array([window.start for window in some])
    return torch.from_numpy(rows), torch.from_numpy(places[tokens] - starts[rows]), tokens


def side_by_side(stretches: Sequence[Any], device: Device) -> tuple[Any, Any]:
    """Numbers [stretches, characters], the shorter ones padded with 0, and the lengths."""
    lengths = torch.tensor([len(stretch) for stretch in stretches])
    ids = torch.zeros((len(stretches), int(lengths.max())), dtype=torch.long)
    for row, stretch in zip(ids, stretches, strict=True):
        row[: len(stretch)] = torch.from_numpy(stretch)
    return ids.to(device.name), lengths.to(device.name)


# ── Learning ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Manner:
    """How the language is learned. `width`: of either LSTM."""

    width: int = 128
    rate: float = 0.004
    warm_up: int = 100


MANNER: Final = Manner()


class Guesser(nn.Module):
    """The model while it learns: from each state a guess at the next character, which nobody needs afterwards.

    Without these, what is kept can't write: no sentence of a note can be had from it.
    """

    def __init__(self, characters: Characters) -> None:
        super().__init__()
        self.characters = characters
        size = characters.table.num_embeddings
        self.next = nn.Linear(characters.width, size)
        self.before = nn.Linear(characters.width, size)

    def forward(self, ids: Any, lengths: Any) -> Any:
        """The mean loss of the guesses in both directions (natural logarithm)."""
        onward, behind = self.characters(ids, lengths)
        there = ids[:, 1:] > 0
        asked = (
            (self.next(onward[:, :-1]), ids[:, 1:]),
            (self.before(behind[:, 1:]), ids[:, :-1]),
        )
        losses = [
            nn.functional.cross_entropy(
                scores.float().flatten(0, 1), right.where(there, IGNORED).flatten(), ignore_index=IGNORED
            )
            for scores, right in asked
        ]
        return sum(losses) / len(losses)


def learn_characters(lesson: Lesson, key: str, device: Device, seed: int) -> Characters:
    """The language of all the lesson's notes but those held out, learned in `lesson.adapt` epochs.

    Reports every epoch and goes on after a kill, as any adapting does. Raises BackendError (permanent) without text.
    """
    seeded(seed)
    texts = [*(text for text, _ in lesson.notes), *lesson.unlabelled]
    characters = Characters(alphabet_of(texts), MANNER.width)
    stretches = [
        ids[window.start : window.past] for ids in map(characters.numbers, texts) for window in _stretches(len(ids))
    ]
    if not stretches:
        raise BackendError("the notes are too short to learn their language from", permanent=True)
    guesser = Guesser(characters)
    Seat(device, guesser)
    orders = [_order([len(stretch) for stretch in stretches], epoch) for epoch in range(lesson.adapt)]
    loop = Loop(
        guesser,
        lambda numbers: guesser(*side_by_side([stretches[number] for number in numbers], device)),
        Plan(MANNER.rate, warm_up=MANNER.warm_up),
        device,
        steps=sum(map(len, orders)),
    )
    adapt(lesson, loop, orders, key)
    return characters.eval()


def _stretches(length: int) -> list[Window]:
    """Where there is something to be guessed: at two characters or more."""
    return [window for window in windows(length, STRETCH, 0) if len(window) > 1]


def _order(lengths: Sequence[int], epoch: int) -> list[list[int]]:
    found = batches(lengths, LEARNED_AT_ONCE)
    random.Random(epoch).shuffle(found)  # noqa: S311 - an order of notes
    return found
