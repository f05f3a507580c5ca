"""Training of a BiLSTM-CRF on gold notes, from fresh weights or from a model.

A model has features of each token, which it learns from, or a stack of embeddings (Catelli 2021, section 3.2.1), or
features and a character language model, which the training may pre-train. With features, AdamW learns for a set number
of epochs; without, SGD with annealing on a plateau and early stopping (section 3.3.1). A training that starts from a
model keeps its vocabulary, labels and embeddings, and extends them by those of the new notes (strategy EN-IT of section
3.3).
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch
from torch.nn.utils.rnn import pad_sequence

from annotations.text.bio import encode_tokens
from annotations.text.spans import Bounds, Span
from models_runtime.backends import epochs, learner
from models_runtime.backends.augmenting import augmented
from models_runtime.backends.base import BackendError
from models_runtime.backends.bilstm_crf.backend import BiLstmCrfBackend
from models_runtime.backends.bilstm_crf.embeddings import (
    Contexts,
    Embedding,
    Room,
    Source,
    Stack,
    Words,
    spellings,
    with_file,
    words_of,
)
from models_runtime.backends.bilstm_crf.inputs import Item, NoteEncoder, Vocabulary, spans_of
from models_runtime.backends.bilstm_crf.model import (
    FORMAT,
    STACKED_FORMAT,
    BiLstmCrf,
    Card,
    LoadedTagger,
    batch,
    load_model,
    save_model,
)
from models_runtime.backends.characters import NARROW, learn_language
from models_runtime.backends.characters import load_model as load_characters
from models_runtime.backends.files import digest
from models_runtime.backends.marginals import WEIGHT
from models_runtime.backends.neural import learning
from models_runtime.backends.neural.crf import Tags
from models_runtime.backends.neural.device import Device, Placement, choose_device
from models_runtime.backends.notes import Note, read
from models_runtime.backends.notes import learn as learn_words
from models_runtime.backends.rule_tags import rules_for

SEED: Final = 7
# Tokens in a batch, with padding. Smaller batches give more updates in an epoch.
BUDGET: Final = 2500
# Items that are predicted together on the hold-out.
PREDICTED: Final = 8
# The number of a tag that the model doesn't have.
UNKNOWN: Final = -1
# What a training takes over from its starting model.
LAYERS: Final = ("grouped", "hidden", "layers", "reprojection", "lstm", "crf")


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """Hyperparameters, by the keys of the settings; defaults from Catelli 2021, tables 3.6, 3.8 and 3.10.

    `batch`: sequences in a batch; 0 for as many as have BUDGET tokens. `grouped`: sentences in a sequence; 32 is best
    in table 4.1. `anneal`: the loss that must fall, `training` or `held-out`; empty for AdamW, whose rate rises over
    200 steps and falls with the epochs. `vocabulary`: how many of a file's first words the model keeps.
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
    seed: int = SEED
    features: bool = False


# Chosen on MEDDOCAN train by cross-validation.
FEATURED: Final = Hyperparameters(
    epochs=14,
    batch=0,
    grouped=8,
    hidden=200,
    rate=0.002,
    anneal="",
    word_dropout=0.15,
    dropout=0.4,
    reprojection=False,
    features=True,
)
ALGORITHMS: Final = {"bilstm": FEATURED, "quick": replace(FEATURED, epochs=4)}
STACKED_ALGORITHMS: Final = {"sgd": Hyperparameters(), "sgd-16": Hyperparameters(batch=16)}


def learn(task: learner.TrainingTask, path: Path) -> str:
    """Train a model with features, write it to `path` and return its sha256.

    On the same type of machine, the same task gives the same file, even if it continued from a checkpoint. Raises
    BackendError (permanent) for notes without spans, and unusable files.
    """
    return _learn(task, path, ALGORITHMS)


def learn_stacked(task: learner.TrainingTask, path: Path) -> str:
    """Like `learn`, for a model with stacked embeddings. Raises BackendError also for a task without embeddings."""
    return _learn(task, path, STACKED_ALGORITHMS)


def _learn(task: learner.TrainingTask, path: Path, algorithms: dict[str, Hyperparameters]) -> str:
    name, hyper = learner.hyperparameters_of(task, algorithms)
    known = Hyperparameters.__dataclass_fields__
    hyper = replace(hyper, **{key: value for key, value in task.settings.items() if key in known})
    base = load_model(Path(task.base)) if task.base else None
    if base is not None:
        hyper = replace(hyper, **{key: getattr(base.card, key) for key in LAYERS})
    hyper = replace(hyper, grouped=task.grouping or hyper.grouped)
    labels = learner.labels_of(task.notes, base.card.labels if base else ())
    gold_notes, task = len(task.notes), augmented(task)
    device = replace(choose_device(), stays=True)  # the optimizer's state can't move to the CPU
    key = learner.task_key(task, str(hyper), str(NARROW), torch.__version__, device.name)
    stack = _stack(task, hyper, base)
    if task.adapt:
        stack = _adapted(task, key, device, hyper, stack)
    sources = tuple(part.source for part in stack.parts)
    learning.seeded(hyper.seed)
    rules, lexicon = None, dict[str, list[str]]()
    if hyper.features:
        rules = rules_for(task.label_set, used=task.settings.get("rules", True))
        earlier = {word: list(fields) for word, fields in base.lexicon.items()} if base else {}
        lexicon = earlier | learn_words([*(text for text, _ in task.notes), *task.unlabeled])
    vectors = partial(stack.vectors, placement=Placement(device, *stack.networks))
    encoder = NoteEncoder(rules, lexicon, hyper.grouped, vectors)
    format, rules_set = (FORMAT, rules.label_set) if rules else (STACKED_FORMAT, None)
    layers = {key: getattr(hyper, key) for key in LAYERS}
    card = Card(task.label_set, labels, name, gold_notes, 0, format, rules_set, embeddings=sources, **layers)
    training = _TaggerTraining(task, hyper, card, encoder, device, base)
    done = epochs.run_epochs(
        task,
        training.loop,
        training.orders,
        f"{key} {sources}",
        training.figures,
        held_out_loss=training.held_out_loss if hyper.anneal == "held-out" else lambda: None,
        more=training.more,
    )
    return save_model(path, replace(card, iterations=done), training.network, stack, training.vocabulary, lexicon)


def _stack(task: learner.TrainingTask, hyper: Hyperparameters, base: LoadedTagger | None) -> Stack:
    """The embeddings of the task, or of the starting model. Raises BackendError (permanent)."""
    if base is None:
        if not (task.embeddings or hyper.features):
            raise BackendError("This type of model needs embeddings. Choose at least one.")
        return Stack([_embedding(task, hyper, *each) for each in task.embeddings])
    folder = Path(task.embeddings_folder) if task.embeddings_folder else None
    parts: list[Embedding] = []
    for part in base.stack.parts:
        if isinstance(part, Words):
            part, why = with_file(part, folder)
            if part.file is None:
                raise BackendError(
                    "The starting model needs the word vectors {name} for the words of these notes, but the file "
                    "is {why} in {folder}. Copy it there.",
                    *(part.source.name, why, folder),
                )
            more = {word for form in _forms(task) for word in spellings(form)} - set(part.kept)
            part = Words(part.source, part.kept | part.file.vectors(sorted(more)), part.file)
        parts.append(part)
    return Stack(parts)


def _forms(task: learner.TrainingTask) -> set[str]:
    """The words of the notes that the training may learn from."""
    texts = [*(text for text, _ in task.notes), *task.unlabeled]
    return {text[token.start : token.end] for text in texts for token in read(text).tokens}


def _embedding(task: learner.TrainingTask, hyper: Hyperparameters, kind: str, name: str, path: str) -> Embedding:
    if kind == "words":
        return words_of(name, Path(path), _forms(task), hyper.vocabulary)
    _, characters = load_characters(Path(path))
    return Contexts(Source(name, "characters", digest(Path(path)), 2 * characters.width), characters)


def _adapted(task: learner.TrainingTask, key: str, device: Device, hyper: Hyperparameters, stack: Stack) -> Stack:
    """The embeddings with a language model that has learned the language of the notes, from that of the stack if any.

    Raises BackendError (permanent) for notes that are too short.
    """
    earlier = next(iter(stack.networks), None)
    characters = learn_language(task, key, device, hyper.seed, earlier)
    others = [part for part in stack.parts if not (isinstance(part, Contexts) and part.characters is earlier)]
    return Stack([*others, Contexts(Source("", "characters", "", 2 * characters.width), characters)])


Gold = tuple[str, Sequence[Span], Sequence[Bounds] | None]
"""A text, its spans, and the stretches of a self-labeled text in which its labels are sure."""


class _TaggerTraining:
    """A training in progress. Each epoch is a step, with a checkpoint after it."""

    def __init__(
        self,
        task: learner.TrainingTask,
        hyper: Hyperparameters,
        card: Card,
        encoder: NoteEncoder,
        device: Device,
        base: LoadedTagger | None,
    ) -> None:
        self._hyper, self._device, self._encoder = hyper, device, encoder
        self._chosen = task.stop_after > 0
        self._tags = Tags.of(card.labels)
        self._numbers = {tag: number for number, tag in enumerate(self._tags.names)}
        notes: list[Gold] = [(text, spans, None) for text, spans in task.notes]
        notes += [(each.text, each.spans, each.sure) for each in task.self_labeled]
        encoded = [encoder.rule_tags(text) for text, _, _ in notes]
        self.vocabulary: Vocabulary | None = None
        if hyper.features:
            self.vocabulary = Vocabulary.learned([note for note, _ in encoded], [rule_tags for _, rule_tags in encoded])
            if base is not None and base.vocabulary is not None:
                self.vocabulary = base.vocabulary.extended(self.vocabulary)
        shape = card.shape(self.vocabulary)
        self._fixed = shape.fixed
        self.network = BiLstmCrf(shape, self._tags, word_dropout=hyper.word_dropout, dropout=hyper.dropout)
        if base is not None:
            _continue(base, self.network, self._tags)
        Placement(device, self.network)
        self._items: list[Item] = []
        self._targets: list[Any] = []
        self._weights: list[float] = []
        for (_, items, targets, _), (_, _, sure) in zip(self._items_of(notes, encoded), notes, strict=True):
            for item, target in zip(items, targets, strict=True):
                if (target >= 0).all():  # Otherwise it has a label that no gold note has.
                    self._items.append(item)
                    self._targets.append(target)
                    self._weights.append(1.0 if sure is None else WEIGHT)
        held_out: list[Gold] = [(text, spans, None) for text, spans in task.held_out]
        self._held_out = list(self._items_of(held_out, [encoder.rule_tags(text) for text, _, _ in held_out]))
        self.orders = epochs.Orders(hyper.epochs, self._order)
        self.loop = _loop(hyper, self.network, self._loss, device, self.orders)

    def more(self, steps: Sequence[learner.Step]) -> bool:
        """Set the learning rate of the next epoch of SGD. False when it is too small to go on.

        A training whose number of epochs was chosen before runs all of them.
        """
        if not isinstance(self.loop, SgdLoop):
            return True
        if self._hyper.anneal == "held-out" and self._held_out:
            losses = [step.held_out_loss for step in steps if step.held_out_loss is not None]
        else:
            losses = [step.loss for step in steps]
        rate = rate_after(losses, self._hyper)
        self.loop.set_rate(rate)
        return rate >= self._hyper.least_rate or self._chosen

    def _items_of(
        self, notes: Sequence[Gold], encoded: Sequence[tuple[Note, Sequence[str]]]
    ) -> Iterator[tuple[Note, list[Item], list[Any], set[Span]]]:
        """Each note with its items, the numbers of their right tags (UNKNOWN for others), and its spans."""
        room = Room(sum(len(note.tokens) for note, _ in encoded), self._fixed)
        for (_, spans, sure), (note, rule_tags) in zip(notes, encoded, strict=True):
            items = [
                replace(item, rows=replace(item.rows, fixed=room.put(item.rows.fixed)))
                for item in self._encoder.items(note, rule_tags, self.vocabulary, sure)
            ]
            tags = encode_tokens(note.tokens, spans).tags
            right = torch.tensor([self._numbers.get(tag, UNKNOWN) for tag in tags])
            yield note, items, [right[item.first : item.past] for item in items], set(spans)

    def _order(self, epoch: int) -> list[list[int]]:
        """The batches of an epoch, shuffled. They depend only on the seed and the epoch's number."""
        lengths, size = [len(item) for item in self._items], self._hyper.batch
        if size:
            order = list(range(len(lengths)))
            random.Random(f"{self._hyper.seed}-{epoch}").shuffle(order)  # noqa: S311 - an order of notes
            return [order[at : at + size] for at in range(0, len(order), size)]
        chance = random.Random(epoch + 1000 * (self._hyper.seed - SEED))  # noqa: S311 - an order of notes
        longer = [length * (1 + 0.2 * chance.random()) for length in lengths]
        found = _cut(sorted(range(len(lengths)), key=longer.__getitem__), lengths)
        chance.shuffle(found)
        return found

    def _loss(self, numbers: Sequence[int]) -> Any:
        items, targets = ([some[number] for number in numbers] for some in (self._items, self._targets))
        return self._loss_of(items, targets, [self._weights[number] for number in numbers]) / len(numbers)

    def _loss_of(self, items: Sequence[Item], targets: Sequence[Any], weights: Sequence[float]) -> Any:
        shown = batch([item.rows for item in items], self._device.name)
        right = pad_sequence([target.clamp(min=0) for target in targets], batch_first=True)
        scores, by_item = self.network(shown), torch.tensor(weights, device=self._device.name)
        return self.network.loss(scores, shown["mask"], right.to(self._device.name), by_item)

    def held_out_loss(self) -> float | None:
        """The mean loss of a sequence of the held-out notes."""
        total, count = 0.0, 0
        for _, items, targets, _ in self._held_out:
            for at in range(0, len(items), PREDICTED):
                part = items[at : at + PREDICTED]
                with torch.inference_mode():
                    total += float(self._loss_of(part, targets[at : at + PREDICTED], [1.0] * len(part)))
            count += len(items)
        return total / count if count else None

    def figures(self) -> learner.StepFigures:
        """Figures of the held-out notes."""
        return epochs.span_figures((self._predict(note, items), spans) for note, items, _, spans in self._held_out)

    def _predict(self, note: Note, items: Sequence[Item]) -> list[Span]:
        paths: list[list[int]] = []
        for at in range(0, len(items), PREDICTED):
            scores = self.network.scores([item.rows for item in items[at : at + PREDICTED]], self._device.name)
            paths += [path.tags for path in self.network.paths(scores)]
        return spans_of(note.tokens, items, paths, self._tags)


def _continue(base: LoadedTagger, network: BiLstmCrf, tags: Tags) -> None:
    """Copy the weights of the starting model: rows of tags by name, all others by number."""
    rows = learning.shared_rows(base.tags.names, tags.names)
    by_tag = dict.fromkeys(("out.weight", "out.bias", "crf.first", "crf.last"), rows)
    earlier = base.network.state_dict()
    steps = earlier.pop("crf.steps", None)
    learning.copy_network(earlier, network, by_tag)
    if steps is not None and network.crf is not None:
        learning.copy_steps(steps, network.crf.steps, rows)


def _cut(order: Sequence[int], lengths: Sequence[int]) -> list[list[int]]:
    """Batches of consecutive items (sorted by length) that fit the budget with padding."""
    found: list[list[int]] = []
    for number in order:
        if found and max(lengths[at] for at in (*found[-1], number)) * (len(found[-1]) + 1) <= BUDGET:
            found[-1].append(number)
        else:
            found.append([number])
    return found


class SgdLoop(learning.Loop):
    """Trains with plain SGD at a rate that is set before each epoch. Checkpoints are those of `Loop`."""

    def __init__(self, network: Any, loss: learning.Loss, plan: learning.Plan, device: Device) -> None:
        super().__init__(network, loss, plan, device, steps=1)
        self._share = 1.0
        self._rate = plan.rate
        self._optimizer = torch.optim.SGD(network.parameters(), lr=plan.rate)
        self._schedule = torch.optim.lr_scheduler.LambdaLR(self._optimizer, lambda step: self._share)

    def set_rate(self, rate: float) -> None:
        self._share = rate / self._rate
        for group in self._optimizer.param_groups:
            group["lr"] = self._rate * self._share


def _loop(
    hyper: Hyperparameters, network: BiLstmCrf, loss: learning.Loss, device: Device, orders: epochs.Orders
) -> learning.Loop:
    plan = learning.Plan(hyper.rate, warm_up=200, clip=hyper.clip)
    if hyper.anneal:
        return SgdLoop(network, loss, plan, device)
    return learning.Loop(network, loss, plan, device, steps=orders.steps)


def rate_after(losses: Iterable[float], hyper: Hyperparameters) -> float:
    """The learning rate after epochs with these losses.

    After `patience` successive epochs without a lower loss, the rate is multiplied by `factor`.
    """
    rate, best, without = hyper.rate, float("inf"), 0
    for loss in losses:
        best, without = (loss, 0) if loss < best else (best, without + 1)
        if without >= hyper.patience:
            rate, without = rate * hyper.factor, 0
    return rate


_CHECK: Final = learner.opens(load_model, partial(BiLstmCrfBackend, device="cpu"))
LEARNER: Final = learner.Learner(learn, _CHECK, choose_device)
STACKED: Final = learner.Learner(learn_stacked, _CHECK, choose_device)
