"""Two logistic models that tell what a stretch of a note is: an identifier or not, and if so, with which label.

They learn from gold. Whether it is an identifier is learned from all examples, and the label from the gold spans alone.
crfsuite fits the model of labels: a sequence of one item is a multinomial logistic regression.
"""

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import pycrfsuite

from annotations.text.spans import Span
from models_runtime.backends.refining.candidates import MOST_EXAMPLES, Read, features, not_gold
from models_runtime.backends.refining.ends import EndsModel, end_examples, learn_ends
from models_runtime.backends.refining.logistic import Example, Logistic, Vocabulary, fit

NOTHING: Final = "-"
"""The class of stretches that are no identifier; no label code is a single hyphen."""
_PARAMS: Final[dict[str, Any]] = {"c1": 0.0, "c2": 0.3, "max_iterations": 40}
FEWEST: Final = 50
"""Gold spans without which nothing is learned."""


class SpanModel:
    """Probabilities of all classes for a stretch of a note."""

    def __init__(self, identifier: Logistic, labels: Path) -> None:
        self._identifier = identifier
        self._labels = pycrfsuite.Tagger()
        self._labels.open(str(labels))
        self._classes = self._labels.labels()

    def probabilities(self, own: Read, start: int, end: int) -> dict[str, float]:
        """The probability of each class, which sum to 1."""
        found = features(own, start, end)
        identifier = self._identifier.probability(found)
        self._labels.set([found])
        labels = {one: identifier * self._labels.marginal(one, 0) for one in self._classes}
        return {NOTHING: 1 - identifier, **labels}


class Vocabularies(NamedTuple):
    """The features of examples: of stretches, and of begins and ends."""

    spans: Vocabulary
    ends: Vocabulary

    @classmethod
    def empty(cls) -> Self:
        return cls(Vocabulary(), Vocabulary())


@dataclass(frozen=True)
class Taught:
    """What a note with gold teaches: about identifiers, the labels of gold spans, and begins and ends."""

    identifiers: list[Example]
    labels: list[tuple[pycrfsuite.ItemSequence, str]]
    ends: list[Example]


@dataclass(frozen=True)
class Learned:
    """What was learned from gold: what a stretch is, and where it begins and ends."""

    labels: SpanModel
    ends: EndsModel


def examples(own: Read, gold: Sequence[Span], vocabularies: Vocabularies) -> Taught:
    """What a note with gold teaches: its gold spans, stretches that are no identifier, and right and wrong ends."""
    identifiers, labels = [], []
    for span in gold:
        found = features(own, span.start, span.end)
        identifiers.append(Example(vocabularies.spans.add(found), True))
        labels.append((pycrfsuite.ItemSequence([found]), span.label))
    for bounds in not_gold(own, gold, MOST_EXAMPLES * max(len(gold), 5)):
        identifiers.append(Example(vocabularies.spans.add(features(own, *bounds)), False))
    return Taught(identifiers, labels, end_examples(own.note, gold, vocabularies.ends))


def learn(notes: Iterable[Taught], vocabularies: Vocabularies) -> Learned | None:
    """Learn from the examples of notes. None for fewer than FEWEST gold spans. Deterministic."""
    known = list(notes)
    if sum(len(note.labels) for note in known) < FEWEST:
        return None
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", params=_PARAMS, verbose=False)
    for note in known:
        for items, one in note.labels:
            trainer.append(items, [one])
    identifier = fit(vocabularies.spans, [one for note in known for one in note.identifiers])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model")
        trainer.train(str(file))
        return Learned(SpanModel(identifier, file), learn_ends(vocabularies.ends, (note.ends for note in known)))
