"""Train a BiLSTM-CRF with stacked embeddings: SGD with annealing on a plateau and early stopping (Catelli 2021)."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import torch

from annotations.text.bio import encode_tokens
from annotations.text.spans import Span
from models_runtime.backends.base import BackendError
from models_runtime.backends.best import span_figures
from models_runtime.backends.bilstm_crf.encoding import spans_of
from models_runtime.backends.characters.model import load_model as load_characters
from models_runtime.backends.files import digest
from models_runtime.backends.learner import Note as LabeledNote
from models_runtime.backends.learner import Step, StepFigures, TrainingTask, labels_of, task_key
from models_runtime.backends.neural.continuing import copy_network, copy_steps, shared_rows
from models_runtime.backends.neural.device import Device, Placement, choose_device
from models_runtime.backends.neural.epochs import hyperparameters_of, run_epochs
from models_runtime.backends.neural.learning import Loop, Loss, Plan, seeded
from models_runtime.backends.neural.tags import Tags
from models_runtime.backends.notes.grouping import groups
from models_runtime.backends.notes.note import Note, read
from models_runtime.backends.stacked.embeddings import (
    Contexts,
    Embedding,
    Source,
    Stack,
    Words,
    room,
    spellings,
    with_file,
    words_of,
)
from models_runtime.backends.stacked.model import Card, Loaded, load_model, save_model
from models_runtime.backends.stacked.network import Shape, StackedNetwork, batch

# Stochastic gradient descent whose learning rate falls when the loss no longer does (Catelli 2021, section 3.3.1).


@dataclass(frozen=True, slots=True)
class Annealing:
    """After `patience` successive epochs without a lower loss, `rate` is multiplied by `factor`.

    Training ends when the rate is smaller than `least`.
    """

    rate: float = 0.1
    least: float = 0.0001
    factor: float = 0.5
    patience: int = 3


def rate_after(losses: Iterable[float], plan: Annealing) -> float:
    """The learning rate after epochs with these losses."""
    rate, best, without = plan.rate, float("inf"), 0
    for loss in losses:
        best, without = (loss, 0) if loss < best else (best, without + 1)
        if without >= plan.patience:
            rate, without = rate * plan.factor, 0
    return rate


class SgdLoop(Loop):
    """Trains with plain SGD at a rate that is set before each epoch. Checkpoints are those of `Loop`."""

    def __init__(self, network: Any, loss: Loss, device: Device, *, rate: float, clip: float) -> None:
        super().__init__(network, loss, Plan(rate, warm_up=1, clip=clip), device, steps=1)
        self._share = 1.0
        self._rate = rate
        self._optimizer = torch.optim.SGD(network.parameters(), lr=rate)
        self._schedule = torch.optim.lr_scheduler.LambdaLR(self._optimizer, lambda step: self._share)

    def set_rate(self, rate: float) -> None:
        self._share = rate / self._rate
        for group in self._optimizer.param_groups:
            group["lr"] = self._rate * self._share


# Items that are predicted together on the hold-out.
PREDICTED: Final = 8


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """Hyperparameters, by the keys of the settings; defaults from Catelli 2021, tables 3.6, 3.8 and 3.10.

    `batch`: sequences in a batch. `grouped`: sentences in a sequence; 32 is best in table 4.1. `anneal`: the loss that
    must fall, `training` or `held-out`. `vocabulary`: how many of a file's first words the model keeps.
    """

    epochs: int = 500
    batch: int = 4
    grouped: int = 32
    hidden: int = 256
    layers: int = 1
    rate: float = 0.1
    least_rate: float = 0.0001
    factor: float = 0.5
    patience: int = 3
    anneal: str = "training"
    clip: float = 5.0
    word_dropout: float = 0.05
    dropout: float = 0.5
    reprojection: bool = True
    lstm: bool = True
    crf: bool = True
    vocabulary: int = 50_000
    seed: int = 7

    @property
    def annealing(self) -> Annealing:
        return Annealing(self.rate, self.least_rate, self.factor, self.patience)


ALGORITHMS: Final[dict[str, Hyperparameters]] = {"sgd": Hyperparameters(), "sgd-16": Hyperparameters(batch=16)}


def learn(task: TrainingTask, path: Path) -> str:
    """Train, write the model to `path` and return its sha256.

    With `task.base`, continue from that model, with its layers and its embeddings. On the same type of machine, the
    same task gives the same file, even if it continued from a checkpoint. Raises BackendError (permanent) for notes
    without spans, a task without embeddings, and unusable files.
    """
    name, hyper = hyperparameters_of(task, ALGORITHMS)
    hyper = replace(hyper, **{key: value for key, value in task.settings.items() if key != "embeddings"})
    base = load_model(Path(task.base)) if task.base else None
    if base is not None:
        hyper = _as_in(base.card, hyper)
    hyper = replace(hyper, grouped=task.grouping or hyper.grouped)
    labels = labels_of(task.notes, base.card.labels if base else ())
    device = replace(choose_device(), stays=True)  # the optimizer's state can't move to the CPU
    stack = _stack(task, hyper, base)
    seeded(hyper.seed)
    network = _network(stack, hyper, Tags.of(labels), base)
    sources = [part.source.as_data() for part in stack.parts]
    key = task_key(task, str(hyper), str(sources), torch.__version__, device.name)
    training = _Training(task, hyper, stack, network, Tags.of(labels), device)
    done = run_epochs(
        task,
        training.loop,
        training.orders,
        key,
        training.figures,
        held_out_loss=training.held_out_loss if hyper.anneal == "held-out" else lambda: None,
        more=training.more,
    )
    card = Card(
        task.label_set,
        labels,
        name,
        hyper.grouped,
        hyper.hidden,
        hyper.layers,
        hyper.reprojection,
        hyper.lstm,
        hyper.crf,
        tuple(sources),
        len(task.notes),
        done,
    )
    return save_model(path, card, network, stack)


def _as_in(card: Card, hyper: Hyperparameters) -> Hyperparameters:
    """The hyperparameters with the layers and the grouping of a starting model."""
    return replace(
        hyper,
        grouped=card.grouped,
        hidden=card.hidden,
        layers=card.layers,
        reprojection=card.reprojection,
        lstm=card.lstm,
        crf=card.crf,
    )


def _stack(task: TrainingTask, hyper: Hyperparameters, base: Loaded | None) -> Stack:
    """The embeddings of the task, or of the starting model. Raises BackendError (permanent)."""
    if base is None:
        if not task.embeddings:
            raise BackendError("This type of model needs embeddings. Choose at least one.", permanent=True)
        forms = _forms(task)
        return Stack([_embedding(each, forms, hyper.vocabulary) for each in task.embeddings])
    folder = Path(task.embeddings_folder) if task.embeddings_folder else None
    parts: list[Embedding] = []
    for part in base.stack.parts:
        if isinstance(part, Words):
            part, why = with_file(part, folder)
            if part.file is None:
                raise BackendError(
                    f"The starting model needs the word vectors {part.source.name} for the words of these notes, but "
                    f"the file is {why} in {folder}. Copy it there.",
                    permanent=True,
                )
            more = {word for form in _forms(task) for word in spellings(form)} - set(part.kept)
            part = Words(part.source, part.kept | part.file.vectors(sorted(more)), part.file)
        parts.append(part)
    return Stack(parts)


def _forms(task: TrainingTask) -> set[str]:
    """The words of the notes that the training may learn from."""
    texts = [*(text for text, _ in task.notes), *task.unlabeled]
    return {text[token.start : token.end] for text in texts for token in read(text).tokens}


def _embedding(wanted: Sequence[str], forms: set[str], most: int) -> Embedding:
    """An embedding of the task: kind, name and path."""
    kind, name, path = wanted
    if kind == "words":
        return words_of(name, Path(path), forms, most)
    _, characters = load_characters(Path(path))
    return Contexts(Source(name, "characters", digest(Path(path)), 2 * characters.width), characters)


def _network(stack: Stack, hyper: Hyperparameters, tags: Tags, base: Loaded | None) -> StackedNetwork:
    shape = Shape(stack.dimensions, hyper.hidden, hyper.layers, hyper.reprojection, hyper.lstm, hyper.crf)
    network = StackedNetwork(shape, tags, word_dropout=hyper.word_dropout, dropout=hyper.dropout)
    if base is not None:
        rows = shared_rows(base.tags.names, tags.names)
        earlier = base.network.state_dict()
        steps = earlier.pop("crf.steps", None)
        copy_network(earlier, network, dict.fromkeys(("out.weight", "out.bias", "crf.first", "crf.last"), rows))
        if steps is not None and network.crf is not None:
            copy_steps(steps, network.crf.steps, rows)
    return network


@dataclass(frozen=True)
class _Item:
    """One sequence of a note, and its vectors."""

    first: int
    past: int
    vectors: Any

    def __len__(self) -> int:
        return self.past - self.first


class _Orders(Sequence[list[list[int]]]):
    """The batches of each epoch, shuffled by the seed and the epoch's number; made when they are needed."""

    def __init__(self, items: int, hyper: Hyperparameters) -> None:
        self._items, self._hyper = items, hyper

    def __len__(self) -> int:
        return self._hyper.epochs

    def __getitem__(self, epoch: Any) -> Any:
        order = list(range(self._items))
        random.Random(f"{self._hyper.seed}-{epoch}").shuffle(order)  # noqa: S311 - an order of notes
        return [order[at : at + self._hyper.batch] for at in range(0, len(order), self._hyper.batch)]


class _Training:
    """A training in progress. Each epoch is a step, with a checkpoint after it."""

    def __init__(
        self,
        task: TrainingTask,
        hyper: Hyperparameters,
        stack: Stack,
        network: StackedNetwork,
        tags: Tags,
        device: Device,
    ) -> None:
        self._hyper, self._stack, self._network = hyper, stack, network
        self._chosen = task.stop_after > 0
        self._tags, self._device = tags, device
        self._placement = Placement(device, network, *stack.networks)
        self._numbers = {tag: number for number, tag in enumerate(tags.names)}
        self._items: list[_Item] = []
        self._targets: list[Any] = []
        for _, items, targets, _ in self._encoded(task.notes):
            self._items += items
            self._targets += targets
        self._held_out = list(self._encoded(task.held_out))
        self.orders = _Orders(len(self._items), hyper)
        self.loop = SgdLoop(network, self._loss, device, rate=hyper.rate, clip=hyper.clip)

    def more(self, steps: Sequence[Step]) -> bool:
        """Set the learning rate of the next epoch. False when it is too small to go on.

        A training whose number of epochs was chosen before runs all of them.
        """
        if self._hyper.anneal == "held-out" and self._held_out:
            losses = [step.held_out_loss for step in steps if step.held_out_loss is not None]
        else:
            losses = [step.loss for step in steps]
        rate = rate_after(losses, self._hyper.annealing)
        self.loop.set_rate(rate)
        return rate >= self._hyper.least_rate or self._chosen

    def _encoded(self, notes: Sequence[LabeledNote]) -> Iterator[tuple[Note, list[_Item], list[Any], set[Span]]]:
        """Each note with its items, the numbers of their right tags, and its spans."""
        read_notes = [(read(text), spans) for text, spans in notes]
        whole = room(sum(len(note.tokens) for note, _ in read_notes), self._stack.dimensions)
        at = 0
        for note, spans in read_notes:
            parts = groups(note, self._hyper.grouped)
            vectors = whole[at : at + len(note.tokens)]
            vectors[:] = self._stack.vectors(note, parts, self._placement)
            at += len(note.tokens)
            right = torch.tensor([self._numbers.get(tag, 0) for tag in encode_tokens(note.tokens, spans).tags])
            items = [_Item(first, past, vectors[first:past]) for first, past in parts]
            yield note, items, [right[item.first : item.past] for item in items], set(spans)

    def _loss(self, numbers: Sequence[int]) -> Any:
        return self._loss_of([self._items[at] for at in numbers], [self._targets[at] for at in numbers]) / len(numbers)

    def _loss_of(self, items: Sequence[_Item], targets: Sequence[Any]) -> Any:
        shown = batch([item.vectors for item in items], self._device.name)
        right = torch.zeros(shown["mask"].shape, dtype=torch.long)
        for row, target in zip(right, targets, strict=True):
            row[: len(target)] = target
        return self._network.loss(self._network(shown), shown["mask"], right.to(self._device.name))

    def held_out_loss(self) -> float | None:
        """The mean loss of a sequence of the held-out notes."""
        total, count = 0.0, 0
        for _, items, targets, _ in self._held_out:
            for at in range(0, len(items), PREDICTED):
                with torch.inference_mode():
                    total += float(self._loss_of(items[at : at + PREDICTED], targets[at : at + PREDICTED]))
            count += len(items)
        return total / count if count else None

    def figures(self) -> StepFigures:
        """Figures of the held-out notes."""
        return span_figures((self._predict(note, items), spans) for note, items, _, spans in self._held_out)

    def _predict(self, note: Note, items: Sequence[_Item]) -> list[Span]:
        paths: list[list[int]] = []
        for at in range(0, len(items), PREDICTED):
            part = items[at : at + PREDICTED]
            with torch.inference_mode():
                scores = self._network(batch([item.vectors for item in part], self._device.name))
            paths += self._network.paths(scores, [len(item) for item in part])
        return spans_of(note.tokens, items, paths, self._tags)
