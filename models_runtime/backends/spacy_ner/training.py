"""Training of spaCy's recognizer on gold notes: Adam with warm-up and linear decay, averaged weights.

A training that starts from a model keeps its weights, labels and lexicon (strategy EN-IT of Catelli 2021, section 3.3).
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import spacy
from spacy.training import Example
from thinc.api import Adam, Optimizer, fix_random_seed

from models_runtime.backends import epochs, files, learner
from models_runtime.backends.augmenting import augmented
from models_runtime.backends.base import BackendError
from models_runtime.backends.notes import learn as learn_words
from models_runtime.backends.rule_tags import rules_for
from models_runtime.backends.spacy_ner import network
from models_runtime.backends.spacy_ner.backend import FORMAT, Card, NoteEncoder, SpacyBackend, load_model, save
from models_runtime.backends.spacy_ner.network import NER, Sizes, blank, entities, recognizer

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
    loop = _PipelineLoop(task, hyper, NoteEncoder(nlp, rules, lexicon))
    key = learner.task_key(task, str(loop.hyper), str(sizes), version("spacy"))
    task.report(learner.Step(0, loop.hyper.epochs, 0.0))
    done = epochs.run_epochs(task, loop, epochs.Orders(loop.hyper.epochs, loop.order), key, loop.figures)
    card = Card(task.label_set, labels, name, gold_notes, done, FORMAT, rules.label_set, language, sizes)
    return save(path, card, loop.tensors, lexicon)


def _language(wanted: str) -> str:
    """The project's language if spaCy has a blank pipeline for it, otherwise ANY_LANGUAGE."""
    try:
        spacy.blank(wanted)
    except (ImportError, ValueError):  # The language is unknown, or needs another library.
        return ANY_LANGUAGE
    return wanted


class _PipelineLoop:
    """A training in progress. `tensors`: the averaged weights after the last epoch, or those of the best one.

    Random numbers and the order of the notes depend only on the epoch's number, so checkpoints don't have them.
    """

    def __init__(self, task: learner.TrainingTask, hyper: Hyperparameters, encoder: NoteEncoder) -> None:
        self._nlp, self._ner = encoder.nlp, recognizer(encoder.nlp)
        self._optimizer: Optimizer = Adam(hyper.rate, L2=hyper.decay, grad_clip=1.0, use_averages=True)
        self._examples = [
            example for text, spans in task.notes for example in encoder.note(text).examples(self._nlp, spans)
        ]
        self._held_out = [(encoder.note(text), list(spans)) for text, spans in task.held_out]
        self._tokens = sum(len(example.x) for example in self._examples)
        self.hyper = hyper.fitted(self._tokens, task.iterations)
        self._epochs = self._updates = 0
        self.tensors: network.Tensors = {}

    def order(self, epoch: int) -> list[list[Example]]:
        """The batches of an epoch, shuffled."""
        order = random.Random(epoch).sample(self._examples, len(self._examples))  # noqa: S311 - an order of notes
        return _batches(order, self.hyper.batch)

    def epoch(self, batches: Sequence[Sequence[Example]]) -> Iterator[float]:
        fix_random_seed(SEED + 1 + self._epochs)
        losses: dict[str, float] = {}
        seen = self._epochs * self._tokens
        for batch in batches:
            share = seen / (self._tokens * self.hyper.epochs)
            rate = self.hyper.rate * min(1.0, (share + 1e-3) / self.hyper.warm) * (1 - share)
            self._optimizer.learn_rate = rate
            self._nlp.update(batch, drop=self.hyper.drop, sgd=self._optimizer, losses=losses)
            seen += sum(len(example.x) for example in batch)
            self._updates += 1
        self._epochs += 1
        self.tensors = self._memory()["averages"]
        yield float(losses[NER]) / max(self._tokens, 1)

    def figures(self) -> learner.StepFigures:
        """Figures of the held-out notes, with the averaged weights."""
        with self._nlp.use_params(self._optimizer.averages):
            return epochs.span_figures(
                (cut.spans(entities(self._ner, cut.documents(self._nlp)), ""), spans) for cut, spans in self._held_out
            )

    def weights(self) -> bytes:
        return network.to_bytes(self.tensors)

    def put_weights(self, content: bytes) -> None:
        self.tensors = network.from_bytes(content)

    def save(self, path: Path, key: str, extra: Any) -> None:
        tensors = {"weights": network.numbers(self._ner)} | self._memory()
        flat = {f"{part}/{name}": value for part, values in tensors.items() for name, value in values.items()}
        rest = json.dumps([self._epochs, self._updates, extra])
        part = path.with_suffix(".part")
        part.touch(mode=0o600)
        part.write_bytes(network.to_bytes(flat, {"key": key, "rest": rest}))
        part.replace(path)

    def restore(self, path: Path, key: str) -> Any:
        try:
            content = path.read_bytes()
            header = files.header(content)
            if header["key"] != key:
                raise ValueError("this checkpoint belongs to another task")
            parts: dict[str, network.Tensors] = {}
            for name, value in network.from_bytes(content).items():
                part, _, parameter = name.partition("/")
                parts.setdefault(part, {})[parameter] = value
            self._epochs, self._updates, extra = json.loads(header["rest"])
            network.put(self._ner, parts["weights"])
            for parameter, node, name in network.parameters(self._ner):
                for part, values in self._moments().items():
                    values[(node.id, name)] = parts[part][parameter].copy()
                self._optimizer.nr_update[(node.id, name)] = self._updates
            self.tensors = parts["averages"]
        except (OSError, BackendError, TypeError, LookupError) as error:
            raise ValueError(f"this checkpoint can't be used ({type(error).__name__})") from None
        return extra

    def _moments(self) -> dict[str, dict[Any, Any]]:
        """What the optimizer remembers of each parameter."""
        optimizer = self._optimizer
        assert optimizer.averages is not None
        return {"mom1": optimizer.mom1, "mom2": optimizer.mom2, "averages": optimizer.averages}

    def _memory(self) -> dict[str, network.Tensors]:
        def remembered(values: dict[Any, Any]) -> network.Tensors:
            return network.numbers(self._ner, lambda node, name: values[(node.id, name)])

        return {part: remembered(values) for part, values in self._moments().items()}


def _batches(examples: Sequence[Example], most: int) -> list[list[Example]]:
    found: list[list[Example]] = [[]]
    for example in examples:
        found[-1].append(example)
        if sum(len(each.x) for each in found[-1]) >= most:
            found.append([])
    return list(filter(None, found))


LEARNER: Final = learner.Learner(learn, learner.opens(load_model, SpacyBackend))
