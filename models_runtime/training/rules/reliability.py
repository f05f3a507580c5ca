"""Reliability of confidences: groups of spans with their mean confidence and their observed precision."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, Final

from annotations.scores.rules.intervals import wilson

Counted = tuple[float, int, int]
"""A confidence, the number of spans that have it, and the number of these that are right."""

GROUPS: Final = 10


@dataclass(frozen=True, slots=True)
class ConfidenceBin:
    """Spans of similar confidence: the mean confidence, the number of spans, and the number of right spans."""

    confidence: float
    spans: int
    right: int

    @property
    def share(self) -> float:
        return self.right / self.spans

    def as_dict(self) -> dict[str, Any]:
        low, high = wilson(self.right, self.spans) or (0.0, 1.0)
        own = {"confidence": round(self.confidence, 4), "share": self.share, "low": low, "high": high}
        return asdict(self) | own


@dataclass(frozen=True, slots=True)
class Reliability:
    """Figures of reliability.

    `ece`: the expected calibration error, which is the mean difference between a group's confidence and its share of
    right spans, weighted by spans (Naeini et al., AAAI 2015; here with groups of equal size). `brier`: the mean squared
    difference between each span's confidence and 1 (right) or 0 (wrong) (Brier 1950).
    """

    spans: int
    right: int
    confidence: float
    ece: float
    brier: float
    groups: list[ConfidenceBin]

    @classmethod
    def of(cls, points: Iterable[Counted]) -> "Reliability":
        """Compute the figures from counted confidences. Raises ValueError if there is no span."""
        counted = sorted(points)
        spans, right = sum(n for _, n, _ in counted), sum(r for _, _, r in counted)
        if not spans:
            raise ValueError("Reliability needs at least one span.")
        groups = list(_groups(counted, spans))
        return cls(
            spans=spans,
            right=right,
            confidence=sum(x * n for x, n, _ in counted) / spans,
            ece=sum(group.spans * abs(group.confidence - group.share) for group in groups) / spans,
            brier=sum(r * (1 - x) ** 2 + (n - r) * x**2 for x, n, r in counted) / spans,
            groups=groups,
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"groups": [group.as_dict() for group in self.groups]}


def _groups(counted: list[Counted], spans: int) -> Iterator[ConfidenceBin]:
    """At most GROUPS groups of about the same size; spans of equal confidence stay together."""
    mass, n, r, before = 0.0, 0, 0, 0
    for confidence, more, right in counted:
        mass, n, r = mass + confidence * more, n + more, r + right
        if (before + n) * GROUPS >= spans * (before * GROUPS // spans + 1):
            yield ConfidenceBin(mass / n, n, r)
            mass, n, r, before = 0.0, 0, 0, before + n
    if n:
        yield ConfidenceBin(mass / n, n, r)


# Counts of right suggestions by label and confidence. Memory doesn't grow with the number of spans.


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
