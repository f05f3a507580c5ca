"""Reliability of confidences: groups of spans with their mean confidence and their observed precision."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from annotations.scores.rules.intervals import wilson
from models_runtime.training.rules.curves import Counted

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
        return {
            "confidence": round(self.confidence, 4),
            "spans": self.spans,
            "right": self.right,
            "share": self.share,
            "low": low,
            "high": high,
        }


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
        return {
            "spans": self.spans,
            "right": self.right,
            "confidence": self.confidence,
            "ece": self.ece,
            "brier": self.brier,
            "groups": [group.as_dict() for group in self.groups],
        }


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
