"""Fine-tuning of a transformer on gold notes (Salierno et al. 2024, section 6), with optional language pre-training.

Class weights and AdamW follow section 6, pre-training on all notes follows section 5. Which sub-words have a target,
and how notes are cut, can be chosen: as in section 6, as in Catelli 2021, section 3.3, or as is usual today.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
import transformers

from annotations.agreement.rules.units import Granularity
from annotations.scores.rules import Rates
from annotations.scores.rules import Scorer as LabelScorer
from annotations.scores.rules.rates import RatesData, covered_characters
from annotations.text.bio import encode_tokens
from annotations.text.spans import Span
from models_runtime.backends import epochs, learner
from models_runtime.backends.neural import learning
from models_runtime.backends.neural.crf import Tags
from models_runtime.backends.neural.device import Device, Placement, Window, choose_device
from models_runtime.backends.token_classification import model
from models_runtime.backends.token_classification.adapting import MaskedLmTraining, WindowBatches
from models_runtime.backends.token_classification.backend import TransformerBackend
from models_runtime.backends.token_classification.encoding import EncodedText, ReadingMode
from models_runtime.backends.token_classification.tagger import Scorer, Tagger

# Figures of a transformer on held-out notes, after each epoch (Salierno et al. 2024, section 6.2).


PieceTargets = Callable[[EncodedText, Sequence[Span]], Sequence[int] | None]
"""The target of each piece of a note, or None for a model that doesn't label every sub-word."""


@dataclass(frozen=True)
class HeldOut:
    """Scores held-out notes. Tokens are those of the default rule, with labels, as on every page with scores.

    Sub-words are counted only if all of them have targets: the likeliest tag of each, as in section 6.2, where O, B and
    I are different classes. Precision and recall count the tags other than O.
    """

    notes: Sequence[learner.Note]
    tagger: Tagger
    placement: Placement
    targets: PieceTargets

    def figures(self) -> learner.StepFigures:
        """The F1 of exact spans, and the figures of characters, tokens and sub-words; empty without notes."""
        if not self.notes:
            return {}
        labels = {span.label for _, spans in self.notes for span in spans}.union(self.tagger.labels)
        scorer = LabelScorer(sorted(labels), {label: label for label in labels})
        pieces: list[tuple[Any, Any]] = []
        characters = Rates(0, 0, 0, 0)
        found = self.tagger.scored((text for text, _ in self.notes), self.placement)
        for (text, gold), (predicted, encoded, scores) in zip(self.notes, found, strict=True):
            scorer.add(text, gold, predicted)
            characters += covered_characters(gold, predicted)
            right = self.targets(encoded, gold)
            if right is not None and len(right):
                pieces.append((np.array(right), scores.argmax(axis=1)))
        table = scorer.table()
        spans, tokens = (level["micro"] for level in table["levels"] if level["granularity"] == Granularity.SUBCATEGORY)
        return learner.StepFigures(
            f1=epochs.rounded(spans["f1"]),
            recall=epochs.rounded(characters.recall),
            precision=epochs.rounded(characters.precision),
            tokens=_token_figures(table["accuracy"], tokens),
            pieces=_of_pieces(pieces) if pieces else None,
        )


def _of_pieces(pieces: Sequence[tuple[Any, Any]]) -> learner.TokenFigures:
    right, likeliest = (np.concatenate(side) for side in zip(*pieces, strict=True))
    right, likeliest = right[right != learning.IGNORED], likeliest[right != learning.IGNORED]
    same = right == likeliest
    rates = Rates.paired(int((same & (right != 0)).sum()), int((likeliest != 0).sum()), int((right != 0).sum()))
    return _token_figures(float(same.mean()) if len(same) else None, rates.as_dict())


def _token_figures(accuracy: float | None, rates: RatesData) -> learner.TokenFigures:
    return learner.TokenFigures(
        accuracy=epochs.rounded(accuracy),
        precision=epochs.rounded(rates["precision"]),
        recall=epochs.rounded(rates["recall"]),
        f1=epochs.rounded(rates["f1"]),
    )


SEED: Final = 7
FIRST, EVERY, REST = "first", "every", "rest"
"""Which sub-words of a token count in the loss: the first one, all alike, or all but the first with less weight."""

# With few notes, batches are smaller and epochs more, until there are so many updates.
LEAST_UPDATES: Final = 400
MOST_EPOCHS: Final = 100
SMALLEST_BATCH: Final = 64

# The target of a piece whose label only the held-out notes have.
UNKNOWN: Final = -1


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """Hyperparameters of an algorithm. `weighted`: use class weights. `batch`: pieces in a batch with padding, at most.

    `rest`: weight of the later sub-words of a token, if these count less.
    """

    epochs: int
    weighted: bool
    batch: int = 4096
    rate: float = 5e-5
    warm_up: int = 500
    sub_words: str = FIRST
    rest: float = 0.25

    def batch_for(self, pieces: int) -> int:
        """Pieces in a batch: fewer for few notes, so that an epoch has enough updates."""
        return min(self.batch, max(SMALLEST_BATCH, pieces * self.epochs // LEAST_UPDATES))

    @property
    def plan(self) -> learning.Plan:
        return learning.Plan(self.rate, warm_up=self.warm_up)


ALGORITHMS: Final[dict[str, Hyperparameters]] = {
    "weighted": Hyperparameters(epochs=8, weighted=True),
    "plain": Hyperparameters(epochs=8, weighted=False),
    # For a network with random weights.
    "fresh": Hyperparameters(epochs=30, weighted=False, batch=512, rate=2e-3, warm_up=20),
}
# Three epochs as in section 5.
MASKED_ALGORITHMS: Final = {"masked": Hyperparameters(epochs=3, weighted=False)}


def learn(task: learner.TrainingTask, path: Path) -> str:
    """Train, write the model to `path` and return its sha256.

    On a CPU, the same task gives the same file, even if it continued from a checkpoint. Raises BackendError (permanent)
    for notes without spans, or unusable starting weights.
    """
    name, hyper = learner.hyperparameters_of(task, ALGORITHMS)
    hyper = replace(hyper, **{key: task.settings[key] for key in ("rate", "sub_words", "rest") if key in task.settings})
    begin = model.StartingPoint.at(Path(task.base))
    reading = begin.reading.changed(task.settings, task.grouping)
    labels = learner.labels_of(task.notes, begin.labels)
    device = replace(choose_device(), stays=True)  # the optimizer's state can't move to the CPU
    key = learner.task_key(task, str(hyper), str(reading), torch.__version__, transformers.__version__, device.name)
    masked_lm = _adapted(task, hyper, begin, reading, key, device) if task.adapt else None
    if masked_lm is not None and task.settings.get("keep_language"):
        language = model.MaskedCard("", (), name, len(task.notes), task.adapt, model.MASKED_FORMAT, begin.name)
        model.save_model(learner.model_beside(task, path, "language"), language, masked_lm, begin.tokenizer)
    training = _ClassifierTraining(task, hyper, begin, Tags.of(labels), masked_lm, reading, device)

    def save(at: Path, epochs: int) -> str:
        card = model.TransformerCard(
            task.label_set, labels, name, len(task.notes), epochs, model.FORMAT, begin.name,
            chunks=reading.chunks, decoding=reading.decoding, grouped=reading.grouped,
        )  # fmt: skip
        return model.save_model(at, card, training.network, begin.tokenizer)

    def keep(epoch: int) -> None:
        if task.settings.get("checkpoints"):
            save(learner.model_beside(task, path, f"epoch-{epoch}"), epoch)

    return save(path, epochs.run_epochs(task, training.loop, training.orders, key, training.figures, keep=keep))


def learn_masked(task: learner.TrainingTask, path: Path) -> str:
    """Train a masked language model on text alone (section 5), write it to `path` and return its sha256.

    A training of a transformer can start from it.

    On a CPU, the same task gives the same file, even if it continued from a checkpoint. Raises BackendError (permanent)
    for notes without text, or unusable starting weights.
    """
    name, hyper = learner.hyperparameters_of(task, MASKED_ALGORITHMS)
    hyper = replace(hyper, rate=task.settings.get("rate", hyper.rate))
    begin = model.StartingPoint.at(Path(task.base))
    device = replace(choose_device(), stays=True)  # the optimizer's state can't move to the CPU
    key = learner.task_key(task, str(hyper), torch.__version__, transformers.__version__, device.name)
    learning.seeded(SEED)
    training = MaskedLmTraining(
        task,
        begin.masked_lm(),
        begin.pieces(),
        WindowBatches(hyper.batch).changed(task.settings),
        device,
        disjoint=task.settings.get("chunks") == "disjoint",
    )
    orders = training.orders(hyper.epochs)
    task.report(training.first_step(hyper.epochs))
    loop = training.loop(orders, hyper.plan)
    done = epochs.run_epochs(task, loop, orders, key, training.figures)
    card = model.MaskedCard("", (), name, len(task.notes), done, model.MASKED_FORMAT, begin.name)
    return model.save_model(path, card, training.network, begin.tokenizer)


def _adapted(
    task: learner.TrainingTask,
    hyper: Hyperparameters,
    begin: model.StartingPoint,
    reading: ReadingMode,
    key: str,
    device: Device,
) -> Any:
    """The network after language pre-training on all notes of the task except the held-out ones."""
    learning.seeded(SEED)
    batching = WindowBatches(hyper.batch).changed(task.settings)
    training = MaskedLmTraining(task, begin.masked_lm(), begin.pieces(), batching, device, disjoint=reading.disjoint)
    orders = training.orders(task.adapt)
    task.report(replace(training.first_step(task.adapt), adapting=True))
    epochs.adapt(task, training.loop(orders, hyper.plan), orders, key, training.figures)
    return training.network


@dataclass(frozen=True, slots=True)
class Targets:
    """The target of each piece: a tag's number, or IGNORED. `later`: 1 for pieces in which no token begins."""

    tags: list[int]
    later: list[int]


def targets(encoded: EncodedText, spans: Sequence[Span], tags: Tags, sub_words: str = FIRST) -> Targets:
    """The targets of a text. By default, each token's first piece has its tag, and all others are IGNORED.

    With other `sub_words`, all pieces of a token have its tag, `B-` included (Salierno et al. 2024, section 6). A piece
    in which two tokens begin has the tag of the first one. A tag that isn't in `tags` is UNKNOWN.
    """
    numbers = {name: number for number, name in enumerate(tags.names)}
    right = [numbers.get(tag, UNKNOWN) for tag in encode_tokens(list(encoded.tokens), spans).tags]
    found, later = [learning.IGNORED] * len(encoded.pieces), [0] * len(encoded.pieces)
    if sub_words != FIRST:
        for piece, token in enumerate(encoded.owners()):
            if token >= 0:
                found[piece], later[piece] = right[token], 1
    for piece, number in reversed(list(zip(encoded.first, right, strict=True))):
        found[piece], later[piece] = number, 0
    return Targets(found, later)


class _ClassifierTraining:
    """A training in progress. Items are windows; only the pieces that a window predicts count in the loss."""

    def __init__(
        self,
        task: learner.TrainingTask,
        hyper: Hyperparameters,
        begin: model.StartingPoint,
        tags: Tags,
        masked_lm: Any | None,
        reading: ReadingMode,
        device: Device,
    ) -> None:
        """`masked_lm`: the pre-trained network, of which all but the head is copied."""
        learning.seeded(SEED)
        pieces = begin.pieces(reading.grouped)
        self.device, self.tags = device, tags
        network = begin.network(tags)
        if masked_lm is not None:
            model.copy_body(masked_lm, network)
        self.network = network
        placement = Placement(device, network)
        config = self.network.config
        self.scorer = Scorer(
            self.network, pieces.around, most=model.room(config), pad=model.padding(config), disjoint=reading.disjoint
        )
        self.rest = hyper.rest if hyper.sub_words == REST else 1.0
        self.items: list[tuple[Window, EncodedText, Targets]] = []
        for text, spans in task.notes:
            encoded = pieces.encode(text)
            right = targets(encoded, spans, tags, hyper.sub_words)
            self.items += [(window, encoded, right) for window in self.scorer.windows(encoded)]
        counts = self._counts()
        self.weights = learning.class_weights(counts, len(tags)).to(self.device.name) if hyper.weighted else None
        pieces_in_all = sum(len(window) for window, _, _ in self.items)
        self.batching = WindowBatches(hyper.batch_for(pieces_in_all)).changed(task.settings)
        often = min(MOST_EPOCHS, -(-LEAST_UPDATES // max(1, len(self._order(0)))))
        self.orders = epochs.Orders(task.iterations or max(hyper.epochs, often), self._order)
        self.loop = learning.Loop(
            self.network, self._loss, hyper.plan, self.device,
            steps=self.orders.steps, parts=self.batching.parts, weigh=self._weigh,
        )  # fmt: skip
        self._held_out = HeldOut(
            task.held_out,
            Tagger(pieces, self.scorer, tags, lambda scores: scores, "", reading.decoding),
            placement,
            lambda encoded, spans: (
                targets(encoded, spans, tags, hyper.sub_words).tags if hyper.sub_words != FIRST else None
            ),
        )

    def figures(self) -> learner.StepFigures:
        """Figures of the held-out notes. They are only reported."""
        return self._held_out.figures()

    def _counts(self) -> Counter[int]:
        return Counter(
            tag
            for window, _, right in self.items
            for tag in right.tags[window.kept : window.kept_past]
            if tag != learning.IGNORED
        )

    def _order(self, epoch: int) -> list[list[int]]:
        """Batches of windows of similar length, shuffled. They depend only on the epoch's number."""
        chance = random.Random(epoch)  # noqa: S311 - an order of notes
        lengths = [len(window) * (1 + 0.1 * chance.random()) for window, _, _ in self.items]
        found = self.batching.cut([round(length) for length in lengths])
        chance.shuffle(found)
        return found

    def _weigh(self, numbers: Sequence[int]) -> float:
        """The sum of the weights of the windows' targets, which the mean loss is divided by."""
        weight = [1.0] * len(self.tags) if self.weights is None else self.weights.tolist()
        total = 0.0
        for window, _, right in (self.items[number] for number in numbers):
            for at in range(window.kept, window.kept_past):
                if right.tags[at] != learning.IGNORED:
                    total += weight[right.tags[at]] * (self.rest if right.later[at] else 1.0)
        return total

    def _loss(self, numbers: Sequence[int]) -> Any:
        shown = [self.items[number] for number in numbers]
        right = self.scorer.targets([(window, each.tags) for window, _, each in shown], self.device).flatten()
        inputs = self.scorer.inputs([(window, encoded) for window, encoded, _ in shown], self.device)
        scores = self.network(**inputs).logits.float().flatten(0, 1)
        if self.rest == 1.0:
            return torch.nn.functional.cross_entropy(scores, right, weight=self.weights, ignore_index=learning.IGNORED)
        later = self.scorer.targets([(window, each.later) for window, _, each in shown], self.device).flatten()
        losses = torch.nn.functional.cross_entropy(
            scores, right, weight=self.weights, ignore_index=learning.IGNORED, reduction="none"
        )
        weights = torch.where(later == 1, self.rest, 1.0) * (right != learning.IGNORED)
        plain = weights if self.weights is None else weights * self.weights[right.clamp(min=0)]
        return (losses * weights).sum() / plain.sum().clamp(min=1e-9)


LEARNER: Final = learner.Learner(
    learn, learner.opens(model.load_model, partial(TransformerBackend, device="cpu")), choose_device
)
MASKED: Final = learner.Learner(learn_masked, learner.opens(model.load_masked), choose_device)
