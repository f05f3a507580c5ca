"""Training a BiLSTM-CRF from nothing but gold notes, and the notes' language before it where that is asked for."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch

from annotations.domain.bio import encode_tokens
from annotations.domain.spans import Span
from models_runtime.backends.bilstm_crf.characters import MANNER, learn_characters
from models_runtime.backends.bilstm_crf.model import Card, save_model
from models_runtime.backends.bilstm_crf.network import BiLstmCrf, Shape, batch
from models_runtime.backends.bilstm_crf.reading import Item, Reader, no_context, spans_of
from models_runtime.backends.bilstm_crf.vocabulary import Vocabulary
from models_runtime.backends.learner import Lesson, lesson_key
from models_runtime.backends.neural.device import Device, Seat, chosen
from models_runtime.backends.neural.learning import Loop, Plan, seeded
from models_runtime.backends.neural.tags import Tags
from models_runtime.backends.neural.teaching import f1, labels_of, taught, way_of
from models_runtime.backends.notes.lexicon import learn as learn_words
from models_runtime.backends.notes.note import Note
from models_runtime.backends.notes.said import rules_for

SEED: Final = 7
# A batch, in tokens with padding. Small ones teach more in an epoch.
BUDGET: Final = 2500


@dataclass(frozen=True, slots=True)
class Way:
    """How an algorithm learns. `grouped` sentences are one sequence."""

    epochs: int
    grouped: int = 8
    hidden: int = 200
    rate: float = 0.002


# Chosen on MEDDOCAN train by cross-validation.
ALGORITHMS: Final[dict[str, Way]] = {"bilstm": Way(epochs=14), "quick": Way(epochs=4)}


def learn(lesson: Lesson, path: Path) -> str:
    """Learn and write the model to `path`; returns its sha256.

    On one kind of machine the same lesson gives the same file, also where a killed attempt's checkpoint was gone on
    from. Raises BackendError (permanent) with nothing to learn from.
    """
    name, way = way_of(lesson, ALGORITHMS)
    way = replace(way, grouped=lesson.grouping or way.grouped)
    labels = labels_of(lesson)
    device = replace(chosen(), stays=True)  # what the optimiser knows can't move
    key = lesson_key(lesson, str(way), str(MANNER), torch.__version__, device.name)
    characters = learn_characters(lesson, key, device, SEED) if lesson.adapt else None
    context = partial(characters.vectors, seat=Seat(device, characters)) if characters else no_context
    seeded(SEED)
    lexicon = learn_words([*(text for text, _ in lesson.notes), *lesson.unlabelled])
    rules = rules_for(lesson.label_set)
    reader = Reader(rules, lexicon, way.grouped, context)
    pupil = _Pupil(lesson, way, reader, Tags.of(labels), device)
    done = taught(lesson, pupil.loop, pupil.orders, key, pupil.f1)
    card = Card(lesson.label_set, labels, name, rules.label_set, way.grouped, way.hidden, len(lesson.notes), done)
    return save_model(path, card, pupil.network, pupil.vocabulary, lexicon, characters)


class _Pupil:
    """The network while it learns. Epochs are the steps; after each, where it stands is kept."""

    def __init__(self, lesson: Lesson, way: Way, reader: Reader, tags: Tags, device: Device) -> None:
        self.tags, self.device = tags, device
        read = [reader.said(text) for text, _ in lesson.notes]
        self.vocabulary = Vocabulary.learned([note for note, _ in read], [said for _, said in read])
        self.items: list[Item] = []
        self.targets: list[Any] = []
        numbers = {tag: number for number, tag in enumerate(tags.names)}
        for (note, said), (_, spans) in zip(read, lesson.notes, strict=True):
            right = torch.tensor([numbers[tag] for tag in encode_tokens(note.tokens, spans).tags])
            for item in reader.items(note, said, self.vocabulary):
                self.items.append(item)
                self.targets.append(right[item.first : item.past])
        shape = Shape(self.vocabulary.sizes(), hidden=way.hidden, context=self.items[0].rows.context.shape[1])
        self.network = BiLstmCrf(shape, tags)
        self.seat = Seat(device, self.network)
        self.held_out: list[tuple[Note, list[Item], set[Span]]] = []
        for text, spans in lesson.held_out:
            note, said = reader.said(text)
            self.held_out.append((note, reader.items(note, said, self.vocabulary), set(spans)))
        self.orders = [self._order(number) for number in range(way.epochs)]
        plan = Plan(way.rate, warm_up=200, clip=5.0)
        self.loop = Loop(self.network, self._loss, plan, self.device, steps=sum(map(len, self.orders)))

    def _order(self, epoch: int) -> list[list[int]]:
        """Batches of items of similar length, other ones in each epoch; both depend on its number alone."""
        chance = random.Random(epoch)  # noqa: S311 - an order of notes
        longer = [len(item) * (1 + 0.2 * chance.random()) for item in self.items]
        found = _cut(sorted(range(len(self.items)), key=longer.__getitem__), [len(item) for item in self.items])
        chance.shuffle(found)
        return found

    def _loss(self, numbers: Sequence[int]) -> Any:
        shown = batch([self.items[number].rows for number in numbers], self.device.name)
        right = torch.zeros(shown["mask"].shape, dtype=torch.long)
        for row, number in enumerate(numbers):
            right[row, : len(self.items[number])] = self.targets[number]
        scores = self.network(shown)
        return self.network.crf.loss(scores, shown["mask"], right.to(self.device.name)) / len(numbers)

    def f1(self) -> float | None:
        """Exact spans on the notes held out; no epoch is chosen by it."""
        return f1((self._read(note, items), spans) for note, items, spans in self.held_out)

    def _read(self, note: Note, items: Sequence[Item]) -> list[Span]:
        paths: list[list[int]] = []
        for start in range(0, len(items), 8):
            part = items[start : start + 8]
            with torch.inference_mode():
                scores = self.network(batch([item.rows for item in part], self.device.name))
            paths += self.network.crf.paths(scores, [len(item) for item in part])
        return spans_of(note, items, paths, self.tags)


def _cut(order: Sequence[int], lengths: Sequence[int]) -> list[list[int]]:
    """Runs of the order (by growing length) that fit the budget, padding included."""
    found: list[list[int]] = []
    for number in order:
        if found and max(lengths[at] for at in (*found[-1], number)) * (len(found[-1]) + 1) <= BUDGET:
            found[-1].append(number)
        else:
            found.append([number])
    return found
