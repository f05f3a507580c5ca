"""Counts of right suggestions by label and confidence. Memory doesn't grow with the number of spans."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator
from math import isfinite
from typing import Final

from models_runtime.training.rules.curves import Counted

# Cross-fitting by patient: figures come from curves that were fitted without the patient's fold.
FOLDS: Final = 5
# Confidences are counted with four digits, because backends round to four digits.
STEPS: Final = 10_000


def fold_of(patient: str) -> int:
    """The fold, from 0, of all notes of a patient."""
    return int.from_bytes(hashlib.sha256(patient.encode()).digest()[:4]) % FOLDS


class Outcomes:
    """Counts of all and of right suggestions, by label, confidence (0 to 1) and fold."""

    def __init__(self) -> None:
        # By label and step: the number of spans in each fold, then the number of right spans in each fold.
        self._counts: dict[str, defaultdict[int, list[int]]] = {}

    def add(self, label: str, confidence: float | None, *, right: bool, fold: int) -> None:
        """Count one span. Spans without a finite confidence don't count."""
        if confidence is None or not isfinite(confidence):
            return
        steps = self._counts.get(label)
        if steps is None:
            steps = self._counts[label] = defaultdict(lambda: [0] * (2 * FOLDS))
        counts = steps[round(confidence * STEPS)]
        counts[fold] += 1
        counts[FOLDS + fold] += right

    @property
    def labels(self) -> list[str]:
        return sorted(self._counts)

    def points(self, label: str = "", *, folds: Collection[int] = range(FOLDS)) -> list[Counted]:
        """The counts of a label (empty: of all labels) in some folds, by rising confidence."""
        found: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
        for name in [label] if label else self._counts:
            for step, counts in self._counts.get(name, {}).items():
                found[step][0] += sum(counts[fold] for fold in folds)
                found[step][1] += sum(counts[FOLDS + fold] for fold in folds)
        return [(step / STEPS, spans, right) for step, (spans, right) in sorted(found.items()) if spans]

    def cells(self) -> Iterator[tuple[str, int, Counted]]:
        """All counts, as label, fold and counts for one confidence."""
        for label in self.labels:
            for step, counts in self._counts[label].items():
                for fold in range(FOLDS):
                    if counts[fold]:
                        yield label, fold, (step / STEPS, counts[fold], counts[FOLDS + fold])
