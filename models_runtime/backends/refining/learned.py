"""A logistic model that tells what a stretch of a note is: one of the labels, or no identifier.

It learns from gold and from decisions of reviewers. crfsuite fits it: a sequence of one item is a multinomial logistic
regression.
"""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pycrfsuite

from annotations.domain.spans import Bounds, Span
from models_runtime.backends.refining.candidates import MOST_EXAMPLES, Read, features, not_gold

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


def learn(
    notes: Iterable[tuple[Read, Sequence[Span]]], decided: Iterable[tuple[Read, Mapping[Bounds, str]]] = ()
) -> SpanModel | None:
    """Learn from notes with gold, and from decisions: a class for bounds, NOTHING for rejections.

    None for fewer than FEWEST gold spans. Deterministic.
    """
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", params=_PARAMS, verbose=False)
    spans = 0
    for own, gold in notes:
        spans += len(gold)
        for span in gold:
            trainer.append([features(own, span.start, span.end)], [span.label])
        for start, end in not_gold(own, gold, MOST_EXAMPLES * max(len(gold), 5)):
            trainer.append([features(own, start, end)], [NOTHING])
    for own, classes in decided:
        for (start, end), one in classes.items():
            trainer.append([features(own, start, end)], [one])
    if spans < FEWEST:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model")
        trainer.train(str(file))
        return SpanModel(file)
