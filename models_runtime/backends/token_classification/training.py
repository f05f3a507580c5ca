"""Fine-tuning of a transformer on gold notes (Salierno et al. 2024, section 6), with optional language pre-training.

Windows, targets on first pieces, class weights and AdamW follow section 6; pre-training on all notes follows section 5.
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
from models_runtime.backends.learner import TrainingTask, labels_of, task_key
from models_runtime.backends.neural.device import Device, Placement, choose_device
from models_runtime.backends.neural.epochs import adapt, f1, hyperparameters_of, run_epochs
from models_runtime.backends.neural.learning import IGNORED, Loop, Plan, class_weights, seeded
from models_runtime.backends.neural.tags import Tags
from models_runtime.backends.neural.windows import Window, batches
from models_runtime.backends.token_classification.adapting import MaskedLmTraining, Masking
from models_runtime.backends.token_classification.encoding import Encoded
from models_runtime.backends.token_classification.model import Card, save_model
from models_runtime.backends.token_classification.network import padding, room
from models_runtime.backends.token_classification.scoring import Scorer
from models_runtime.backends.token_classification.starting_point import StartingPoint, copy_body
from models_runtime.backends.token_classification.tagger import Tagger

SEED: Final = 7


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """Hyperparameters of an algorithm. `weighted`: use class weights. `batch`: pieces in a batch, with padding."""

    epochs: int
    weighted: bool
    batch: int = 4096
    rate: float = 5e-5
    warm_up: int = 500


ALGORITHMS: Final[dict[str, Hyperparameters]] = {
    "weighted": Hyperparameters(epochs=8, weighted=True),
    "plain": Hyperparameters(epochs=8, weighted=False),
    # For a network with random weights.
    "fresh": Hyperparameters(epochs=30, weighted=False, batch=512, rate=2e-3, warm_up=20),
}


def learn(task: TrainingTask, path: Path) -> str:
    """Train, write the model to `path` and return its sha256.

    On a CPU, the same task gives the same file, even if it continued from a checkpoint. Raises BackendError (permanent)
    for notes without spans, or unusable starting weights.
    """
    name, hyper = hyperparameters_of(task, ALGORITHMS)
    begin = StartingPoint.at(Path(task.base))
    labels = labels_of(task.notes, begin.labels)
    device = replace(choose_device(), stays=True)  # the optimizer's state can't move to the CPU
    key = task_key(task, str(hyper), torch.__version__, transformers.__version__, device.name)
    masked_lm = _adapted(task, hyper, begin, key, device) if task.adapt else None
    training = _Training(task, hyper, begin, Tags.of(labels), masked_lm, device)
    done = run_epochs(task, training.loop, training.orders, key, training.f1)
    card = Card(task.label_set, labels, name, begin.name, len(task.notes), done)
    return save_model(path, card, training.network, begin.tokenizer)


def _adapted(task: TrainingTask, hyper: Hyperparameters, begin: StartingPoint, key: str, device: Device) -> Any:
    """The network after language pre-training on all notes of the task except the held-out ones."""
    seeded(SEED)
    pieces = begin.pieces()
    if pieces.mask is None:
        raise BackendError(
            "These weights don't support language pre-training: their tokenizer has no mask piece.", permanent=True
        )
    network = begin.masked_lm()
    config = network.config
    before, after = pieces.around
    training = MaskedLmTraining(
        network,
        Scorer(network, pieces.around, most=room(config), pad=padding(config)),
        [pieces.encode(text) for text in (*(text for text, _ in task.notes), *task.unlabeled)],
        Masking(pieces.mask, config.vocab_size, (len(before), len(after))),
        device,
        epochs=task.adapt,
        plan=Plan(hyper.rate, warm_up=hyper.warm_up),
        batch=hyper.batch,
    )
    adapt(task, training.loop, training.orders, key)
    return network


def targets(encoded: Encoded, spans: Sequence[Span], tags: Tags) -> list[int]:
    """The target of each piece: the number of the token's tag for its first piece, IGNORED for all others.

    A piece in which two tokens begin has the tag of the first one. (Salierno et al. 2024, section 6.)
    """
    found = [IGNORED] * len(encoded.pieces)
    numbers = {name: number for number, name in enumerate(tags.names)}
    for piece, tag in zip(encoded.first, encode_tokens(list(encoded.tokens), spans).tags, strict=True):
        if found[piece] == IGNORED:
            found[piece] = numbers[tag]
    return found


class _Training:
    """A training in progress. Items are windows; only the pieces that a window predicts count in the loss."""

    def __init__(
        self,
        task: TrainingTask,
        hyper: Hyperparameters,
        begin: StartingPoint,
        tags: Tags,
        masked_lm: Any | None,
        device: Device,
    ) -> None:
        """`masked_lm`: the pre-trained network, of which all but the head is copied."""
        seeded(SEED)
        pieces = begin.pieces()
        self.device = device
        network = begin.network(tags)
        if masked_lm is not None:
            copy_body(masked_lm, network)
        self.network = network
        self.placement = Placement(device, network)
        config = self.network.config
        self.scorer = Scorer(self.network, pieces.around, most=room(config), pad=padding(config))
        self.tagger = Tagger(pieces, self.scorer, tags, lambda scores: scores, "")
        self.held_out = task.held_out
        self.items: list[tuple[Window, Encoded, list[int]]] = []
        for text, spans in task.notes:
            encoded = pieces.encode(text)
            right = targets(encoded, spans, tags)
            self.items += [(window, encoded, right) for window in self.scorer.windows(encoded)]
        self.weights = self._weights(len(tags)).to(self.device.name) if hyper.weighted else None
        self.orders = [self._order(number, hyper.batch) for number in range(hyper.epochs)]
        plan = Plan(hyper.rate, warm_up=hyper.warm_up)
        self.loop = Loop(self.network, self._loss, plan, self.device, steps=sum(map(len, self.orders)))

    def _weights(self, number: int) -> Any:
        counts = Counter(
            tag for window, _, right in self.items for tag in right[window.kept : window.kept_past] if tag != IGNORED
        )
        return class_weights(counts, number)

    def _order(self, epoch: int, budget: int) -> list[list[int]]:
        """Batches of windows of similar length, shuffled. They depend only on the epoch's number."""
        chance = random.Random(epoch)  # noqa: S311 - an order of notes
        lengths = [len(window) * (1 + 0.1 * chance.random()) for window, _, _ in self.items]
        found = batches([round(length) for length in lengths], budget)
        chance.shuffle(found)
        return found

    def _loss(self, numbers: Sequence[int]) -> Any:
        shown = [self.items[number] for number in numbers]
        right = self.scorer.targets([(window, tags) for window, _, tags in shown], self.device)
        inputs = self.scorer.inputs([(window, encoded) for window, encoded, _ in shown], self.device)
        scores = self.network(**inputs).logits.float()
        return torch.nn.functional.cross_entropy(
            scores.flatten(0, 1), right.flatten(), weight=self.weights, ignore_index=IGNORED
        )

    def f1(self) -> float | None:
        """F1 of exact spans on the held-out notes. It is only reported."""
        found = self.tagger.stream((text for text, _ in self.held_out), self.placement)
        return f1((spans, gold) for spans, (_, gold) in zip(found, self.held_out, strict=True))
