"""Precision, recall and F1 from counts, and their averages over classes (micro, macro, weighted)."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from typing import TypedDict

from annotations.text.spans import Span


class RatesData(TypedDict):
    """Rates in their JSON form."""

    precision: float | None
    recall: float | None
    f1: float | None
    predicted: int
    right: int
    gold: int
    found: int


class AverageData(TypedDict):
    """Averages over classes. `f1` is that of the averaged precision and recall (Catelli 2021, eq. 3.23).

    `classes` is the number of classes with gold, over which recall is averaged. Precision is averaged over the
    `precision_classes` that have gold or predictions: a class with gold that was never predicted counts as 0 (Catelli
    2021, table 4.2, FAX). The spreads are standard deviations over these classes, as weighted as the average.
    """

    precision: float | None
    recall: float | None
    f1: float | None
    precision_spread: float | None
    recall_spread: float | None
    classes: int
    precision_classes: int


@dataclass(frozen=True, slots=True)
class Rates:
    """Counts of predictions and right predictions, and of gold spans and found gold spans.

    `right` and `found` are equal if predictions and gold are paired one to one.
    """

    predicted: int
    right: int
    gold: int
    found: int

    @classmethod
    def paired(cls, pairs: int, predicted: int, gold: int) -> "Rates":
        """Rates for predictions and gold that are paired one to one."""
        return cls(predicted, pairs, gold, pairs)

    @property
    def precision(self) -> float | None:
        """The precision; None without predictions."""
        return self.right / self.predicted if self.predicted else None

    @property
    def recall(self) -> float | None:
        """The recall; None without gold."""
        return self.found / self.gold if self.gold else None

    @property
    def f1(self) -> float | None:
        """The F1; None without gold and predictions, 0 if there is only one of them."""
        return _harmonic(self.precision, self.recall)

    @property
    def spurious(self) -> int:
        return self.predicted - self.right

    @property
    def missed(self) -> int:
        return self.gold - self.found

    def __add__(self, other: "Rates") -> "Rates":
        return Rates(
            self.predicted + other.predicted, self.right + other.right, self.gold + other.gold, self.found + other.found
        )

    def as_dict(self) -> RatesData:
        return {name: getattr(self, name) for name in RatesData.__annotations__}  # type: ignore[return-value] # its keys


NOTHING = Rates(0, 0, 0, 0)


def _harmonic(precision: float | None, recall: float | None) -> float | None:
    """The F1, where one undefined rate counts as 0; None if both are undefined."""
    if precision is None and recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision and recall else 0.0


def micro(classes: Iterable[Rates]) -> Rates:
    """The micro average: all counts added up."""
    return sum(classes, NOTHING)


def macro(classes: Iterable[Rates]) -> AverageData:
    """The macro average: every class has the same weight."""
    return _average([(rates, 1.0) for rates in classes])


def weighted(classes: Iterable[Rates]) -> AverageData:
    """The average weighted by gold spans (Catelli 2021, section 3.4); its recall is equal to the micro recall."""
    return _average([(rates, float(rates.gold)) for rates in classes if rates.gold])


def _average(classes: list[tuple[Rates, float]]) -> AverageData:
    precisions = [(rates.precision or 0.0, weight) for rates, weight in classes if rates.predicted or rates.gold]
    recalls = [(r, weight) for rates, weight in classes if (r := rates.recall) is not None]
    precision, precision_spread = _mean(precisions)
    recall, recall_spread = _mean(recalls)
    return {
        "precision": precision,
        "recall": recall,
        "f1": _harmonic(precision, recall),
        "precision_spread": precision_spread,
        "recall_spread": recall_spread,
        "classes": len(recalls),
        "precision_classes": len(precisions),
    }


def _mean(values: list[tuple[float, float]]) -> tuple[float | None, float | None]:
    whole = sum(weight for _, weight in values)
    if not whole:
        return None, None
    mean = sum(value * weight for value, weight in values) / whole
    return mean, sqrt(sum(weight * (value - mean) ** 2 for value, weight in values) / whole)


def covered_characters(gold: Iterable[Span], predicted: Iterable[Span]) -> Rates:
    """Rates over the marked code points of one note, whatever the labels: what masking would miss and hide.

    A code point counts once however many spans cover it.
    """
    ours, theirs = (
        {at for span in spans for at in range(span.start, span.end)} for spans in (list(gold), list(predicted))
    )
    return Rates.paired(len(ours & theirs), len(theirs), len(ours))
