"""Training of spaCy's recognizer on gold notes: Adam with warm-up and linear decay, averaged weights.

A training that starts from a model keeps its weights, labels and lexicon (strategy EN-IT of Catelli 2021, section 3.3).
"""

import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import spacy
from spacy.pipeline.ner import EntityRecognizer
from spacy.training import Example
from thinc.api import Adam, Optimizer, fix_random_seed

from models_runtime.backends import files, learner
from models_runtime.backends.augmenting import augmented
from models_runtime.backends.base import BackendError
from models_runtime.backends.notes import learn as learn_words
from models_runtime.backends.rule_tags import rules_for
from models_runtime.backends.spacy_ner import network
from models_runtime.backends.spacy_ner.backend import FORMAT, Card, NoteEncoder, SpacyBackend, load_model, save
from models_runtime.backends.spacy_ner.network import NER, Sizes, blank, entities, recognizer

# Checkpoints of a training after an epoch: weights, optimizer state and reported steps in one safetensors file.
#
# Random numbers and the order of the notes depend only on the epoch's number, so they are not saved.


@dataclass
class Progress:
    """Progress of a training: finished epochs, tokens seen, updates of each parameter, reported steps."""

    epochs: int = 0
    seen: int = 0
    updates: int = 0
    steps: list[learner.Step] = field(default_factory=list)


def write(path: Path, key: str, ner: EntityRecognizer, optimizer: Optimizer, progress: Progress) -> None:
    """Write a checkpoint atomically: after a kill, the previous checkpoint is still there."""
    tensors = {
        f"{part}/{at}": value for part, values in _memory(ner, optimizer).items() for at, value in values.items()
    }
    data = network.to_bytes(tensors, {"key": key, "progress": json.dumps(asdict(progress))})
    part = path.with_suffix(".part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def read(path: Path, key: str, ner: EntityRecognizer, optimizer: Optimizer) -> Progress:
    """Restore the checkpoint of the same task. Without one, or if it is damaged, the training starts again."""
    with suppress(OSError, BackendError, ValueError, TypeError, LookupError):
        data = path.read_bytes()
        metadata = files.header(data)
        if metadata["key"] != key:
            return Progress()
        tensors = network.from_bytes(data)
        parts: dict[str, dict[str, Any]] = {name: {} for name in PARTS}
        for full, value in tensors.items():
            name, _, parameter = full.partition("/")
            parts[name][parameter] = value
        kept = json.loads(metadata["progress"])
        progress = Progress(**kept | {"steps": [learner.Step(**step) for step in kept["steps"]]})
        network.put(ner, parts["weights"])
        for parameter, node, name in network.parameters(ner):
            for memory, values in _dicts(optimizer).items():
                values[(node.id, name)] = parts[memory][parameter].copy()
            optimizer.nr_update[(node.id, name)] = progress.updates
        return progress
    return Progress()


PARTS: Final = ("weights", "mom1", "mom2", "averages")


def _dicts(optimizer: Optimizer) -> dict[str, dict[Any, Any]]:
    assert optimizer.averages is not None
    return {"mom1": optimizer.mom1, "mom2": optimizer.mom2, "averages": optimizer.averages}


def _memory(ner: EntityRecognizer, optimizer: Optimizer) -> dict[str, network.Tensors]:
    def of(values: dict[Any, Any]) -> Callable[[Any, str], Any]:
        return lambda node, name: values[(node.id, name)]

    parts = {memory: network.numbers(ner, of(values)) for memory, values in _dicts(optimizer).items()}
    return {"weights": network.numbers(ner)} | parts


SEED: Final = 20
SMALLEST_BATCH: Final = 64
LEAST_UPDATES: Final = 400
MOST_EPOCHS: Final = 60


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """Hyperparameters of an algorithm. `batch`: tokens in a batch, at most. `rate`: the highest learning rate, reached
    after the share `warm` of the training.

    With few notes, batches are smaller and epochs more, so that there are at least some hundred updates.
    """

    epochs: int
    batch: int = 400
    rate: float = 0.001
    warm: float = 0.03
    drop: float = 0.2
    decay: float = 0.01

    def fitted(self, tokens: int, epochs: int | None) -> "Hyperparameters":
        """The hyperparameters for this number of tokens. `epochs`, if given, stays unchanged."""
        batch = min(self.batch, max(SMALLEST_BATCH, tokens // 50))
        often = min(MOST_EPOCHS, LEAST_UPDATES * batch // max(tokens, 1))
        return replace(self, batch=batch, epochs=epochs or max(self.epochs, often))


# Chosen on MEDDOCAN train by cross-validation.
ALGORITHMS: Final[dict[str, Hyperparameters]] = {"cnn": Hyperparameters(epochs=10), "quick": Hyperparameters(epochs=4)}
# spaCy's code for a pipeline of no particular language.
ANY_LANGUAGE: Final = "xx"


def learn(task: learner.TrainingTask, path: Path) -> str:
    """Train, write the model to `path` and return its sha256.

    Deterministic: the same task gives the same file, even if it continued from a checkpoint. Raises BackendError
    (permanent) for notes without spans.
    """
    name, hyper = learner.hyperparameters_of(task, ALGORITHMS)
    base = load_model(Path(task.base)) if task.base else None
    labels = learner.labels_of(task.notes, base.card.labels if base else ())
    gold_notes, task = len(task.notes), augmented(task)
    lexicon = learn_words([*(text for text, _ in task.notes), *task.unlabeled])
    if base is not None:
        lexicon = {word: list(fields) for word, fields in base.lexicon.items()} | lexicon
    rules = rules_for(task.label_set, used=task.settings.get("rules", True))
    sizes, language = base.card.sizes if base else Sizes(), _language(task.language)
    fix_random_seed(SEED)
    nlp = blank(language, labels, sizes)
    if base is not None:
        network.continued(recognizer(nlp), recognizer(base.nlp))
    training = _PipelineTraining(task, hyper, NoteEncoder(nlp, rules, lexicon))
    tensors, done = training.run_epochs(learner.task_key(task, str(training.hyper), str(sizes), version("spacy")))
    card = Card(task.label_set, labels, name, gold_notes, done, FORMAT, rules.label_set, language, sizes)
    return save(path, card, tensors, lexicon)


def _language(wanted: str) -> str:
    """The project's language if spaCy has a blank pipeline for it, otherwise ANY_LANGUAGE."""
    try:
        spacy.blank(wanted)
    except (ImportError, ValueError):  # The language is unknown, or needs another library.
        return ANY_LANGUAGE
    return wanted


class _PipelineTraining:
    """A training in progress. Each epoch is a step, with a checkpoint after it."""

    def __init__(self, task: learner.TrainingTask, hyper: Hyperparameters, encoder: NoteEncoder) -> None:
        self.task, self.nlp = task, encoder.nlp
        self.ner = recognizer(encoder.nlp)
        self.progress = Progress()
        self.optimizer: Optimizer = Adam(hyper.rate, L2=hyper.decay, grad_clip=1.0, use_averages=True)
        self.examples = [
            example for text, spans in task.notes for example in encoder.note(text).examples(self.nlp, spans)
        ]
        self.held_out = [(encoder.note(text), list(spans)) for text, spans in task.held_out]
        self.tokens = sum(len(example.x) for example in self.examples)
        self.hyper = hyper.fitted(self.tokens, task.iterations)

    def run_epochs(self, key: str) -> tuple[network.Tensors, int]:
        """Train all epochs, or until the task should stop; returns averaged weights and the number of their epoch.

        It is the last full epoch, or if the task chooses the one with the best F1 on the held-out notes.
        """
        path, last = self.task.checkpoint, None
        best = learner.BestEpoch(path) if self.task.choose and self.task.held_out else None
        most = min(self.hyper.epochs, self.task.stop_after or self.hyper.epochs)
        if path is not None:
            self.progress = read(path, key, self.ner, self.optimizer)
        for step in [learner.Step(0, self.hyper.epochs, 0.0), *self.progress.steps]:
            self.task.report(step)
        if self.progress.epochs:
            last = self._averages()
        while self.progress.epochs < most and self._epoch():
            last = self._averages()
            if best is not None:
                best.offer(self.progress.steps, partial(network.to_bytes, last))
            if path is not None and (best is not None or self.progress.epochs < most):
                write(path, key, self.ner, self.optimizer, self.progress)
        assert last is not None
        if best is None:
            return last, self.progress.epochs
        steps = self.progress.steps
        return network.from_bytes(best.content(steps)), learner.chosen(steps)

    def _epoch(self) -> bool:
        """Train one epoch. Returns False if the task should stop before its end."""
        number = self.progress.epochs
        fix_random_seed(SEED + 1 + number)
        order = random.Random(number).sample(self.examples, len(self.examples))  # noqa: S311 - an order of notes
        losses: dict[str, float] = {}
        for batch in _batches(order, self.hyper.batch):
            if number and self.task.should_stop():
                return False
            self.optimizer.learn_rate = self._rate()
            self.nlp.update(batch, drop=self.hyper.drop, sgd=self.optimizer, losses=losses)
            self.progress.seen += sum(len(example.x) for example in batch)
            self.progress.updates += 1
        self.progress.epochs += 1
        loss = round(float(losses[NER]) / max(self.tokens, 1), 6)
        step = learner.Step(number + 1, self.hyper.epochs, loss, **self._figures())
        self.progress.steps.append(step)
        self.task.report(step)
        return True

    def _rate(self) -> float:
        share = self.progress.seen / (self.tokens * self.hyper.epochs)
        return self.hyper.rate * min(1.0, (share + 1e-3) / self.hyper.warm) * (1 - share)

    def _averages(self) -> network.Tensors:
        averages = self.optimizer.averages
        assert averages is not None
        return network.numbers(self.ner, lambda node, name: averages[(node.id, name)])

    def _figures(self) -> learner.StepFigures:
        """Figures of the held-out notes, with the averaged weights."""
        with self.nlp.use_params(self.optimizer.averages):
            return learner.span_figures(
                (cut.spans(entities(self.ner, cut.documents(self.nlp)), ""), spans) for cut, spans in self.held_out
            )


def _batches(examples: Sequence[Example], most: int) -> Iterator[list[Example]]:
    batch: list[Example] = []
    size = 0
    for example in examples:
        batch.append(example)
        size += len(example.x)
        if size >= most:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


LEARNER: Final = learner.Learner(learn, learner.opens(load_model, SpacyBackend))
