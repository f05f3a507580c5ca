"""Figures of a transformer on held-out notes, after each epoch (Salierno et al. 2024, section 6.2)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from annotations.agreement.rules.units import Granularity
from annotations.scores.rules import Rates, Scorer
from annotations.scores.rules.rates import RatesData, covered_characters
from annotations.text.spans import Span
from models_runtime.backends.best import rounded
from models_runtime.backends.learner import Note, StepFigures, TokenFigures
from models_runtime.backends.neural.device import Placement
from models_runtime.backends.neural.learning import IGNORED
from models_runtime.backends.token_classification.encoding import Encoded
from models_runtime.backends.token_classification.tagger import Tagger

PieceTargets = Callable[[Encoded, Sequence[Span]], Sequence[int] | None]
"""The target of each piece of a note, or None for a model that doesn't label every sub-word."""


class HeldOut:
    """Scores held-out notes. Tokens are those of the default rule, with labels, as on every page with scores.

    Sub-words are counted only if all of them have targets: the likeliest tag of each, as in section 6.2, where O, B and
    I are different classes. Precision and recall count the tags other than O.
    """

    def __init__(self, notes: Sequence[Note], tagger: Tagger, placement: Placement, targets: PieceTargets) -> None:
        self._notes = notes
        self._tagger = tagger
        self._placement = placement
        self._targets = targets

    def figures(self) -> StepFigures:
        """The F1 of exact spans, and the figures of characters, tokens and sub-words; empty without notes."""
        if not self._notes:
            return {}
        labels = {span.label for _, spans in self._notes for span in spans}.union(self._tagger.labels)
        scorer = Scorer(sorted(labels), {label: label for label in labels})
        pieces: list[tuple[Any, Any]] = []
        characters = Rates(0, 0, 0, 0)
        texts = (text for text, _ in self._notes)
        found = self._tagger.scored(texts, self._placement)
        for (text, gold), (predicted, encoded, scores) in zip(self._notes, found, strict=True):
            scorer.add(text, gold, predicted)
            characters += covered_characters(gold, predicted)
            right = self._targets(encoded, gold)
            if right is not None and len(right):
                pieces.append((np.array(right), scores.argmax(axis=1)))
        table = scorer.table()
        spans, tokens = (level["micro"] for level in table["levels"] if level["granularity"] == Granularity.SUBCATEGORY)
        return StepFigures(
            f1=rounded(spans["f1"]),
            recall=rounded(characters.recall),
            precision=rounded(characters.precision),
            tokens=_figures(table["accuracy"], tokens),
            pieces=_of_pieces(pieces) if pieces else None,
        )


def _of_pieces(pieces: Sequence[tuple[Any, Any]]) -> TokenFigures:
    right, likeliest = (np.concatenate(side) for side in zip(*pieces, strict=True))
    right, likeliest = right[right != IGNORED], likeliest[right != IGNORED]
    same = right == likeliest
    rates = Rates.paired(int((same & (right != 0)).sum()), int((likeliest != 0).sum()), int((right != 0).sum()))
    return _figures(float(same.mean()) if len(same) else None, rates.as_dict())


def _figures(accuracy: float | None, rates: RatesData) -> TokenFigures:
    return TokenFigures(
        accuracy=rounded(accuracy),
        precision=rounded(rates["precision"]),
        recall=rounded(rates["recall"]),
        f1=rounded(rates["f1"]),
    )
