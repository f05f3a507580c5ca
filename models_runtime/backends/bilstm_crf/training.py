"""Training of a BiLSTM-CRF on gold notes, with optional language pre-training, from fresh weights or from a model.

A training that starts from a model keeps its vocabulary, labels and language model, and extends them by those of the
new notes (strategy EN-IT of Catelli 2021, section 3.3).
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch

from annotations.text.bio import encode_tokens
from annotations.text.spans import Bounds, Span
from models_runtime.backends.augmenting import augmented
from models_runtime.backends.best import span_figures
from models_runtime.backends.bilstm_crf.characters import LANGUAGE_HYPERPARAMETERS, Characters, learn_characters
from models_runtime.backends.bilstm_crf.encoding import Item, NoteEncoder, no_context, spans_of
from models_runtime.backends.bilstm_crf.model import Card, Loaded, load_model, save_model
from models_runtime.backends.bilstm_crf.network import BiLstmCrf, Shape, batch
from models_runtime.backends.bilstm_crf.vocabulary import Vocabulary
from models_runtime.backends.characters.model import load_model as load_characters
from models_runtime.backends.learner import StepFigures, TrainingTask, labels_of, task_key
from models_runtime.backends.neural.continuing import copy_network, copy_steps, shared_rows
from models_runtime.backends.neural.device import Device, Placement, choose_device
from models_runtime.backends.neural.epochs import hyperparameters_of, run_epochs
from models_runtime.backends.neural.learning import Loop, Plan, seeded
from models_runtime.backends.neural.tags import Tags
from models_runtime.backends.notes.lexicon import learn as learn_words
from models_runtime.backends.notes.note import Note
from models_runtime.backends.notes.rule_tags import rules_for
from models_runtime.backends.self_labels import WEIGHT

SEED: Final = 7
# Tokens in a batch, with padding. Smaller batches give more updates in an epoch.
BUDGET: Final = 2500


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """Hyperparameters of an algorithm. `grouped`: number of sentences in a sequence."""

    epochs: int
    grouped: int = 8
    hidden: int = 200
    rate: float = 0.002


# Chosen on MEDDOCAN train by cross-validation.
ALGORITHMS: Final[dict[str, Hyperparameters]] = {
    "bilstm": Hyperparameters(epochs=14),
    "quick": Hyperparameters(epochs=4),
}


def learn(task: TrainingTask, path: Path) -> str:
    """Train, write the model to `path` and return its sha256.

    On the same type of machine, the same task gives the same file, even if it continued from a checkpoint. Raises
    BackendError (permanent) for notes without spans.
    """
    name, hyper = hyperparameters_of(task, ALGORITHMS)
    base = load_model(Path(task.base)) if task.base else None
    if base is not None:
        hyper = replace(hyper, grouped=base.card.grouped, hidden=base.card.hidden)
    hyper = replace(hyper, grouped=task.grouping or hyper.grouped)
    labels = labels_of(task.notes, base.card.labels if base else ())
    seed, gold_notes, task = task.settings.get("seed", SEED), len(task.notes), augmented(task)
    device = replace(choose_device(), stays=True)  # the optimizer's state can't move to the CPU
    key = task_key(task, str(hyper), str(LANGUAGE_HYPERPARAMETERS), torch.__version__, device.name)
    characters = base.characters if base else _shared(task)
    if task.adapt:
        characters = learn_characters(task, key, device, seed, earlier=characters)
    context = partial(characters.vectors, placement=Placement(device, characters)) if characters else no_context
    seeded(seed)
    lexicon = learn_words([*(text for text, _ in task.notes), *task.unlabeled])
    lexicon = {word: list(fields) for word, fields in base.lexicon.items()} | lexicon if base else lexicon
    rules = rules_for(task.label_set, used=task.settings.get("rules", True))
    encoder = NoteEncoder(rules, lexicon, hyper.grouped, context)
    training = _Training(task, hyper, encoder, Tags.of(labels), device, base, seed)
    done = run_epochs(task, training.loop, training.orders, key, training.figures)
    card = Card(task.label_set, labels, name, rules.label_set, hyper.grouped, hyper.hidden, gold_notes, done)
    return save_model(path, card, training.network, training.vocabulary, lexicon, characters)


def _shared(task: TrainingTask) -> Characters | None:
    """The trained language model that the task names, if any. Raises BackendError (permanent) for an invalid file."""
    return next((load_characters(Path(path))[1] for _, _, path in task.embeddings), None)


class _Training:
    """A training in progress. Each epoch is a step, with a checkpoint after it."""

    def __init__(
        self,
        task: TrainingTask,
        hyper: Hyperparameters,
        encoder: NoteEncoder,
        tags: Tags,
        device: Device,
        base: Loaded | None,
        seed: int,
    ) -> None:
        self._seed = seed
        self.tags, self.device = tags, device
        notes: list[tuple[str, Sequence[Span], Sequence[Bounds] | None]]
        notes = [(text, spans, None) for text, spans in task.notes]
        notes += [(each.text, each.spans, each.sure) for each in task.self_labeled]
        encoded = [encoder.rule_tags(text) for text, _, _ in notes]
        self.vocabulary = Vocabulary.learned([note for note, _ in encoded], [rule_tags for _, rule_tags in encoded])
        if base is not None:
            self.vocabulary = base.vocabulary.extended(self.vocabulary)
        self.items: list[Item] = []
        self.targets: list[Any] = []
        self.weights: list[float] = []
        numbers = {tag: number for number, tag in enumerate(tags.names)}
        for (note, rule_tags), (_, spans, sure) in zip(encoded, notes, strict=True):
            right = encode_tokens(note.tokens, spans).tags
            for item in encoder.items(note, rule_tags, self.vocabulary, sure):
                own = right[item.first : item.past]
                if sure is not None and not numbers.keys() >= set(own):
                    continue  # It has a label that no gold note has.
                self.items.append(item)
                self.targets.append(torch.tensor([numbers[tag] for tag in own]))
                self.weights.append(1.0 if sure is None else WEIGHT)
        shape = Shape(self.vocabulary.sizes(), hidden=hyper.hidden, context=self.items[0].rows.context.shape[1])
        self.network = BiLstmCrf(shape, tags)
        if base is not None:
            _continue(base, self.network, tags)
        self.placement = Placement(device, self.network)
        self.held_out: list[tuple[Note, list[Item], set[Span]]] = []
        for text, spans in task.held_out:
            note, rule_tags = encoder.rule_tags(text)
            self.held_out.append((note, encoder.items(note, rule_tags, self.vocabulary), set(spans)))
        self.orders = [self._order(number) for number in range(hyper.epochs)]
        plan = Plan(hyper.rate, warm_up=200, clip=5.0)
        self.loop = Loop(self.network, self._loss, plan, self.device, steps=sum(map(len, self.orders)))

    def _order(self, epoch: int) -> list[list[int]]:
        """Batches of items of similar length, shuffled. They depend only on the seed and the epoch's number."""
        chance = random.Random(epoch + 1000 * (self._seed - SEED))  # noqa: S311 - an order of notes
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
        weights = torch.tensor([self.weights[number] for number in numbers], device=self.device.name)
        return self.network.crf.loss(scores, shown["mask"], right.to(self.device.name), weights) / len(numbers)

    def figures(self) -> StepFigures:
        """Figures of the held-out notes."""
        return span_figures((self._predict(note, items), spans) for note, items, spans in self.held_out)

    def _predict(self, note: Note, items: Sequence[Item]) -> list[Span]:
        paths: list[list[int]] = []
        for start in range(0, len(items), 8):
            part = items[start : start + 8]
            with torch.inference_mode():
                scores = self.network(batch([item.rows for item in part], self.device.name))
            paths += self.network.crf.paths(scores, [len(item) for item in part])
        return spans_of(note.tokens, items, paths, self.tags)


def _continue(base: Loaded, network: BiLstmCrf, tags: Tags) -> None:
    """Copy the weights of the starting model: rows of tags by name, all others by number."""
    rows = shared_rows(base.tags.names, tags.names)
    by_tag = dict.fromkeys(("out.weight", "out.bias", "crf.first", "crf.last"), rows)
    earlier = base.network.state_dict()
    steps = earlier.pop("crf.steps")
    copy_network(earlier, network, by_tag)
    copy_steps(steps, network.crf.steps, rows)


def _cut(order: Sequence[int], lengths: Sequence[int]) -> list[list[int]]:
    """Batches of consecutive items (sorted by length) that fit the budget with padding."""
    found: list[list[int]] = []
    for number in order:
        if found and max(lengths[at] for at in (*found[-1], number)) * (len(found[-1]) + 1) <= BUDGET:
            found[-1].append(number)
        else:
            found.append([number])
    return found
