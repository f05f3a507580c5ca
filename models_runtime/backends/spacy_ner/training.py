"""Training spaCy's NER from blank on gold notes: Adam with warm-up and linear decay, moving averages of the weights."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Final

import spacy
from spacy.training import Example
from thinc.api import Adam, Optimizer, fix_random_seed

from models_runtime.backends.base import BackendError
from models_runtime.backends.learner import Lesson, Step, lesson_key
from models_runtime.backends.notes.lexicon import learn as learn_words
from models_runtime.backends.notes.said import rules_for
from models_runtime.backends.spacy_ner import checkpoint, weights
from models_runtime.backends.spacy_ner.checkpoint import Progress
from models_runtime.backends.spacy_ner.model import Card, save
from models_runtime.backends.spacy_ner.network import NER, Sizes, blank, recognizer
from models_runtime.backends.spacy_ner.notes import Reader
from models_runtime.backends.spacy_ner.reading import entities

SEED: Final = 20
SMALLEST_BATCH: Final = 64
LEAST_UPDATES: Final = 400
MOST_EPOCHS: Final = 60


@dataclass(frozen=True, slots=True)
class Way:
    """How an algorithm learns. `batch` is in tokens, at most; `rate` is the highest learning rate, reached after
    `warm`, a share of the training.

    Few notes are gone over in smaller batches, and more often, so that there are some hundred updates at least.
    """

    epochs: int
    batch: int = 400
    rate: float = 0.001
    warm: float = 0.03
    drop: float = 0.2
    decay: float = 0.01

    def fitted(self, tokens: int, epochs: int | None) -> "Way":
        """The same for so many tokens; `epochs`, where they were asked for, are kept."""
        batch = min(self.batch, max(SMALLEST_BATCH, tokens // 50))
        often = min(MOST_EPOCHS, LEAST_UPDATES * batch // max(tokens, 1))
        return replace(self, batch=batch, epochs=epochs or max(self.epochs, often))


# Chosen on MEDDOCAN train by cross-validation.
ALGORITHMS: Final[dict[str, Way]] = {"cnn": Way(epochs=10), "quick": Way(epochs=4)}
# A blank pipeline of every language.
ANY_LANGUAGE: Final = "xx"


def learn(lesson: Lesson, path: Path) -> str:
    """Learn and write the model to `path`; returns its sha256.

    Deterministic: the same lesson gives the same file, also where a killed attempt's checkpoint was gone on from.
    Raises BackendError (permanent) with nothing to learn from.
    """
    way = _way(lesson)
    labels = tuple(sorted({span.label for _, spans in lesson.notes for span in spans}))
    if not labels:
        raise BackendError(
            f"{len(lesson.notes)} notes without a single span: there is nothing to learn", permanent=True
        )
    lexicon = learn_words([*(text for text, _ in lesson.notes), *lesson.unlabelled])
    rules = rules_for(lesson.label_set)
    sizes, language = Sizes(), _language(lesson.language)
    fix_random_seed(SEED)
    nlp = blank(language, labels, sizes)
    pupil = _Pupil(lesson, way, Reader(nlp, rules, lexicon))
    tensors = pupil.taught(lesson_key(lesson, str(pupil.way), str(sizes), version("spacy")))
    done = pupil.progress.epochs
    card = Card(lesson.label_set, labels, _name(lesson), rules.label_set, language, sizes, len(lesson.notes), done)
    return save(path, card, tensors, lexicon)


def _name(lesson: Lesson) -> str:
    return lesson.algorithm or next(iter(ALGORITHMS))


def _way(lesson: Lesson) -> Way:
    name = _name(lesson)
    if name not in ALGORITHMS:
        raise BackendError(f"algorithm {name!r}: there are {', '.join(ALGORITHMS)}", permanent=True)
    return ALGORITHMS[name]


def _language(wanted: str) -> str:
    """The project's language where spaCy has it on board, else its pipeline of every language."""
    try:
        spacy.blank(wanted)
    except (ImportError, ValueError):  # unknown, or it needs a library of its own
        return ANY_LANGUAGE
    return wanted


class _Pupil:
    """The network while it learns. Epochs are the steps; after each, what was learned so far is kept."""

    def __init__(self, lesson: Lesson, way: Way, reader: Reader) -> None:
        self.lesson, self.nlp = lesson, reader.nlp
        self.ner = recognizer(reader.nlp)
        self.progress = Progress()
        self.optimizer: Optimizer = Adam(way.rate, L2=way.decay, grad_clip=1.0, use_averages=True)
        self.examples = [
            example for text, spans in lesson.notes for example in reader.note(text).examples(self.nlp, spans)
        ]
        self.held_out = [(reader.note(text), list(spans)) for text, spans in lesson.held_out]
        self.tokens = sum(len(example.x) for example in self.examples)
        self.way = way.fitted(self.tokens, lesson.iterations)

    def taught(self, key: str) -> weights.Tensors:
        """Go through all epochs, or to the end of the one before somebody said that it is enough."""
        path, best = self.lesson.checkpoint, None
        if path is not None:
            self.progress = checkpoint.read(path, key, self.ner, self.optimizer)
        for step in [Step(0, self.way.epochs, 0.0), *self.progress.steps]:
            self.lesson.report(step)
        if self.progress.epochs:
            best = self._averages()
        while self.progress.epochs < self.way.epochs and self._epoch():
            best = self._averages()
            if path is not None and self.progress.epochs < self.way.epochs:
                checkpoint.write(path, key, self.ner, self.optimizer, self.progress)
        assert best is not None
        return best

    def _epoch(self) -> bool:
        """One round over all notes; False where it was broken off because what is there is enough."""
        number = self.progress.epochs
        fix_random_seed(SEED + 1 + number)
        order = random.Random(number).sample(self.examples, len(self.examples))  # noqa: S311 - an order of notes
        losses: dict[str, float] = {}
        for batch in _batches(order, self.way.batch):
            if number and self.lesson.enough():
                return False
            self.optimizer.learn_rate = self._rate()
            self.nlp.update(batch, drop=self.way.drop, sgd=self.optimizer, losses=losses)
            self.progress.seen += sum(len(example.x) for example in batch)
            self.progress.updates += 1
        self.progress.epochs += 1
        loss = round(float(losses[NER]) / max(self.tokens, 1), 6)
        step = Step(number + 1, self.way.epochs, loss, self._f1())
        self.progress.steps.append(step)
        self.lesson.report(step)
        return True

    def _rate(self) -> float:
        share = self.progress.seen / (self.tokens * self.way.epochs)
        return self.way.rate * min(1.0, (share + 1e-3) / self.way.warm) * (1 - share)

    def _averages(self) -> weights.Tensors:
        averages = self.optimizer.averages
        assert averages is not None
        return weights.numbers(self.ner, lambda node, name: averages[(node.id, name)])

    def _f1(self) -> float | None:
        """Exact spans on the notes held out, by the averaged weights. No epoch is chosen by it: it stays honest."""
        if not self.held_out:
            return None
        right = said = gold = 0
        with self.nlp.use_params(self.optimizer.averages):
            for cut, spans in self.held_out:
                found = set(cut.spans(entities(self.ner, cut.documents(self.nlp)), ""))
                right, said, gold = right + len(found & set(spans)), said + len(found), gold + len(set(spans))
        return round(2 * right / (said + gold), 4) if said + gold else None


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
