"""Precision, recall and F1 of counts, and their averages over classes (micro, macro, weighted)."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from typing import Any


@dataclass(frozen=True, slots=True)
class Rates:
    """What was predicted and how much of it is right; what is gold and how much of it was found.

    `right` and `found` are the same number wherever predictions and gold are paired one to one.
    """

    predicted: int
    right: int
    gold: int
    found: int

    @classmethod
    def paired(cls, pairs: int, predicted: int, gold: int) -> "Rates":
        return cls(predicted, pairs, gold, pairs)

    @property
    def precision(self) -> float | None:
        """None where nothing was predicted."""
        return self.right / self.predicted if self.predicted else None

    @property
    def recall(self) -> float | None:
        """None where there is no gold."""
        return self.found / self.gold if self.gold else None

    @property
    def f1(self) -> float | None:
        """None where there is neither gold nor prediction; 0 where there is one without the other."""
        if not self.predicted and not self.gold:
            return None
        return _harmonic(self.precision or 0.0, self.recall or 0.0)

    @property
    def spurious(self) -> int:
        return self.predicted - self.right

    @property
    def missed(self) -> int:
        return self.gold - self.found

    def __add__(self, other: "Rates") -> "Rates":
        return Rates(
            self.predicted + other.predicted,
            self.right + other.right,
            self.gold + other.gold,
            self.found + other.found,
        )

    def swapped(self) -> "Rates":
        """As if gold were the prediction and the prediction gold."""
        return Rates(self.gold, self.found, self.predicted, self.right)

    def as_dict(self) -> dict[str, Any]:
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "predicted": self.predicted,
            "right": self.right,
            "gold": self.gold,
            "found": self.found,
        }


NOTHING = Rates(0, 0, 0, 0)


def _harmonic(a: float, b: float) -> float:
    return 2 * a * b / (a + b) if a + b else 0.0


@dataclass(frozen=True, slots=True)
class Average:
    """Averages over classes. `f1` is of the averaged precision and recall (002, formula 3.23), not the mean of F1s.

    A class counts in an average where its own figure is defined: `classes` have a recall (gold), `predicted_classes`
    a precision. The spreads are standard deviations over these classes.
    """

    precision: float | None
    recall: float | None
    precision_spread: float | None
    recall_spread: float | None
    classes: int
    predicted_classes: int

    @property
    def f1(self) -> float | None:
        if self.precision is None and self.recall is None:
            return None
        return _harmonic(self.precision or 0.0, self.recall or 0.0)

    def as_dict(self) -> dict[str, Any]:
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "precision_spread": self.precision_spread,
            "recall_spread": self.recall_spread,
            "classes": self.classes,
            "predicted_classes": self.predicted_classes,
        }


def micro(classes: Iterable[Rates]) -> Rates:
    """All counts added up."""
    return sum(classes, NOTHING)


def macro(classes: Iterable[Rates]) -> Average:
    """Every class counts the same."""
    return _average([(rates, 1.0) for rates in classes])


def weighted(classes: Iterable[Rates]) -> Average:
    """Every class counts by how much gold it has (002, section 3.4); its recall is the micro recall."""
    return _average([(rates, float(rates.gold)) for rates in classes if rates.gold])


def _average(classes: list[tuple[Rates, float]]) -> Average:
    precisions = [(p, weight) for rates, weight in classes if (p := rates.precision) is not None]
    recalls = [(r, weight) for rates, weight in classes if (r := rates.recall) is not None]
    precision, precision_spread = _mean(precisions)
    recall, recall_spread = _mean(recalls)
    return Average(precision, recall, precision_spread, recall_spread, len(recalls), len(precisions))


def _mean(values: list[tuple[float, float]]) -> tuple[float | None, float | None]:
    whole = sum(weight for _, weight in values)
    if not whole:
        return None, None
    mean = sum(value * weight for value, weight in values) / whole
    return mean, sqrt(sum(weight * (value - mean) ** 2 for value, weight in values) / whole)
