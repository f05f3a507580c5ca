"""What became of proposals, as counts: memory depends on labels and digits, not on how many spans there are."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator
from math import isfinite
from typing import Final

from annotations.domain.calibration.curves import Counted

# Figures of a calibration are of curves that didn't see the patient.
FOLDS: Final = 5
# Confidences are told apart to four digits, as backends round them.
STEPS: Final = 10_000


def fold_of(patient: str) -> int:
    """The fold, from 0, that all notes of a patient are in."""
    return int.from_bytes(hashlib.sha256(patient.encode()).digest()[:4]) % FOLDS


class Outcomes:
    """Proposals by label, confidence (0 to 1) and fold: how many there are, and how many are right."""

    def __init__(self) -> None:
        # By label and step: the spans of each fold, then the right ones of each fold.
        self._counts: dict[str, defaultdict[int, list[int]]] = {}

    def add(self, label: str, confidence: float | None, *, right: bool, fold: int) -> None:
        """One span. Without a confidence, or with one that is no number, it doesn't count."""
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
        """The counts of a label (empty: of all) in some folds, by rising confidence."""
        found: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
        for name in [label] if label else self._counts:
            for step, counts in self._counts.get(name, {}).items():
                found[step][0] += sum(counts[fold] for fold in folds)
                found[step][1] += sum(counts[FOLDS + fold] for fold in folds)
        return [(step / STEPS, spans, right) for step, (spans, right) in sorted(found.items()) if spans]

    def cells(self) -> Iterator[tuple[str, int, Counted]]:
        """Label, fold and counts, one by one."""
        for label in self.labels:
            for step, counts in self._counts[label].items():
                for fold in range(FOLDS):
                    if counts[fold]:
                        yield label, fold, (step / STEPS, counts[fold], counts[FOLDS + fold])
