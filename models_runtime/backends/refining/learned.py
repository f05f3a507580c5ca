"""A logistic model that tells what a stretch of a note is: one of the labels, or no identifier.

It learns from gold. crfsuite fits it: a sequence of one item is a multinomial logistic
regression.
"""

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pycrfsuite

from annotations.domain.spans import Span
from models_runtime.backends.refining.candidates import MOST_EXAMPLES, Read, features, not_gold
from models_runtime.backends.refining.ends import EndExample, EndsModel, end_examples, learn_ends

NOTHING: Final = "-"
"""The class of stretches that are no identifier; no label code is a single hyphen."""
_PARAMS: Final[dict[str, Any]] = {"c1": 0.0, "c2": 0.3, "max_iterations": 60}
FEWEST: Final = 50
"""Gold spans without which nothing is learned."""


class SpanModel:
    """Probabilities of all classes for a stretch of a note."""

    def __init__(self, file: Path) -> None:
        self._tagger = pycrfsuite.Tagger()
        self._tagger.open(str(file))
        self._classes = self._tagger.labels()

    def probabilities(self, own: Read, start: int, end: int) -> dict[str, float]:
        """The probability of each class, which sum to 1."""
        self._tagger.set([features(own, start, end)])
        return {one: self._tagger.marginal(one, 0) for one in self._classes}


Example = tuple[pycrfsuite.ItemSequence, str]
"""The features of a stretch, and its class."""


@dataclass(frozen=True)
class Taught:
    """What a note with gold teaches: about labels, and about begins and ends."""

    labels: list[Example]
    ends: list[EndExample]


@dataclass(frozen=True)
class Learned:
    """What was learned from gold: what a stretch is, and where it begins and ends."""

    labels: SpanModel
    ends: EndsModel


def examples(own: Read, gold: Sequence[Span]) -> Taught:
    """What a note with gold teaches: its gold spans, stretches that are no identifier, and right and wrong ends."""
    bare = not_gold(own, gold, MOST_EXAMPLES * max(len(gold), 5))
    labels = [
        *((_items(own, span.start, span.end), span.label) for span in gold),
        *((_items(own, start, end), NOTHING) for start, end in bare),
    ]
    return Taught(labels, end_examples(own.note, gold))


def _items(own: Read, start: int, end: int) -> pycrfsuite.ItemSequence:
    return pycrfsuite.ItemSequence([features(own, start, end)])


def learn(notes: Iterable[Taught]) -> Learned | None:
    """Learn from the examples of notes. None for fewer than FEWEST gold spans. Deterministic."""
    known = list(notes)
    if sum(one != NOTHING for note in known for _, one in note.labels) < FEWEST:
        return None
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", params=_PARAMS, verbose=False)
    for note in known:
        for items, one in note.labels:
            trainer.append(items, [one])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model")
        trainer.train(str(file))
        return Learned(SpanModel(file), learn_ends(note.ends for note in known))
