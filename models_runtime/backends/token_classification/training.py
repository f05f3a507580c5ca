"""Fine-tuning a transformer on gold notes, as seed 003 does (section 6): chunks, first pieces, class weights, AdamW.

Before that it may learn the language of the notes (section 5), labelled or not.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import torch
import transformers

from annotations.domain.bio import encode_tokens
from annotations.domain.spans import Span
from models_runtime.backends.base import BackendError
from models_runtime.backends.learner import Lesson, lesson_key
from models_runtime.backends.neural.device import Device, Seat, chosen
from models_runtime.backends.neural.learning import IGNORED, Loop, Plan, class_weights, seeded
from models_runtime.backends.neural.tags import Tags
from models_runtime.backends.neural.teaching import adapt, f1, labels_of, taught, way_of
from models_runtime.backends.neural.windows import Window, batches
from models_runtime.backends.token_classification.adapting import Adapting, Gaps
from models_runtime.backends.token_classification.beginning import Beginning, give
from models_runtime.backends.token_classification.encoding import Encoded
from models_runtime.backends.token_classification.model import Card, save_model
from models_runtime.backends.token_classification.network import padding, room
from models_runtime.backends.token_classification.reading import Reader
from models_runtime.backends.token_classification.tagger import Tagger

SEED: Final = 7


@dataclass(frozen=True, slots=True)
class Way:
    """How an algorithm learns. `batch` is in pieces, padding included."""

    epochs: int
    weighted: bool
    batch: int = 4096
    rate: float = 5e-5
    warm_up: int = 500


ALGORITHMS: Final[dict[str, Way]] = {
    "weighted": Way(epochs=8, weighted=True),
    "plain": Way(epochs=8, weighted=False),
    # For a network that knows nothing yet.
    "fresh": Way(epochs=30, weighted=False, batch=512, rate=2e-3, warm_up=20),
}


def learn(lesson: Lesson, path: Path) -> str:
    """Learn and write the model to `path`; returns its sha256.

    On a CPU the same lesson gives the same file, also where a killed attempt's checkpoint was gone on from. Raises
    BackendError (permanent) with nothing to learn from, or nothing to begin with.
    """
    name, way = way_of(lesson, ALGORITHMS)
    labels = labels_of(lesson)
    begin = Beginning.at(Path(lesson.base))
    device = replace(chosen(), stays=True)  # what the optimiser knows can't move
    key = lesson_key(lesson, str(way), torch.__version__, transformers.__version__, device.name)
    filler = _adapted(lesson, way, begin, key, device) if lesson.adapt else None
    pupil = _Pupil(lesson, way, begin, Tags.of(labels), filler, device)
    done = taught(lesson, pupil.loop, pupil.orders, key, pupil.f1)
    card = Card(lesson.label_set, labels, name, begin.name, len(lesson.notes), done)
    return save_model(path, card, pupil.network, begin.tokenizer)


def _adapted(lesson: Lesson, way: Way, begin: Beginning, key: str, device: Device) -> Any:
    """The network after filling gaps in all the lesson's texts but those held out."""
    seeded(SEED)
    pieces = begin.pieces()
    if pieces.mask is None:
        raise BackendError("the weights' tokenizer has no piece for a gap, so they can't be adapted", permanent=True)
    network = begin.filler()
    config = network.config
    before, after = pieces.around
    pupil = Adapting(
        network,
        Reader(network, pieces.around, most=room(config), pad=padding(config)),
        [pieces.encode(text) for text in (*(text for text, _ in lesson.notes), *lesson.unlabelled)],
        Gaps(pieces.mask, config.vocab_size, (len(before), len(after))),
        device,
        epochs=lesson.adapt,
        plan=Plan(way.rate, warm_up=way.warm_up),
        batch=way.batch,
    )
    adapt(lesson, pupil.loop, pupil.orders, key)
    return network


def targets(encoded: Encoded, spans: Sequence[Span], tags: Tags) -> list[int]:
    """For each piece the number of its tag: the first piece of a token has the token's, every other one IGNORED.

    (`word_ids` with -100 in 003.) A piece in which two tokens begin has the first one's.
    """
    found = [IGNORED] * len(encoded.pieces)
    numbers = {name: number for number, name in enumerate(tags.names)}
    for piece, tag in zip(encoded.first, encode_tokens(list(encoded.tokens), spans).tags, strict=True):
        if found[piece] == IGNORED:
            found[piece] = numbers[tag]
    return found


class _Pupil:
    """The network while it learns. Its items are windows, each learning what it reads and nothing else."""

    def __init__(
        self, lesson: Lesson, way: Way, begin: Beginning, tags: Tags, filler: Any | None, device: Device
    ) -> None:
        """`filler`: the network that has filled gaps in these notes, whose head is not taken over."""
        seeded(SEED)
        pieces = begin.pieces()
        self.device = device
        network = begin.network(tags)
        if filler is not None:
            give(filler, network)
        self.network = network
        self.seat = Seat(device, network)
        config = self.network.config
        self.reader = Reader(self.network, pieces.around, most=room(config), pad=padding(config))
        self.tagger = Tagger(pieces, self.reader, tags, lambda scores: scores, "")
        self.held_out = lesson.held_out
        self.items: list[tuple[Window, Encoded, list[int]]] = []
        for text, spans in lesson.notes:
            encoded = pieces.encode(text)
            right = targets(encoded, spans, tags)
            self.items += [(window, encoded, right) for window in self.reader.windows(encoded)]
        self.weights = self._weights(len(tags)).to(self.device.name) if way.weighted else None
        self.orders = [self._order(number, way.batch) for number in range(way.epochs)]
        plan = Plan(way.rate, warm_up=way.warm_up)
        self.loop = Loop(self.network, self._loss, plan, self.device, steps=sum(map(len, self.orders)))

    def _weights(self, number: int) -> Any:
        counts = Counter(
            tag for window, _, right in self.items for tag in right[window.reads : window.reads_past] if tag != IGNORED
        )
        return class_weights(counts, number)

    def _order(self, epoch: int, budget: int) -> list[list[int]]:
        """Batches of windows of similar length, shuffled; depends on the epoch's number alone."""
        chance = random.Random(epoch)  # noqa: S311 - an order of notes
        lengths = [len(window) * (1 + 0.1 * chance.random()) for window, _, _ in self.items]
        found = batches([round(length) for length in lengths], budget)
        chance.shuffle(found)
        return found

    def _loss(self, numbers: Sequence[int]) -> Any:
        shown = [self.items[number] for number in numbers]
        right = self.reader.targets([(window, tags) for window, _, tags in shown], self.device)
        inputs = self.reader.inputs([(window, encoded) for window, encoded, _ in shown], self.device)
        scores = self.network(**inputs).logits.float()
        return torch.nn.functional.cross_entropy(
            scores.flatten(0, 1), right.flatten(), weight=self.weights, ignore_index=IGNORED
        )

    def f1(self) -> float | None:
        """Exact spans on the notes held out; no epoch is chosen by it."""
        found = self.tagger.stream((text for text, _ in self.held_out), self.seat)
        return f1((spans, gold) for spans, (_, gold) in zip(found, self.held_out, strict=True))
