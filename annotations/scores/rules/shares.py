"""Which categories the errors are in: shares of false positives and false negatives, and tokens per span.

As in figures 4.1 and 4.2 of Catelli 2021, computed from the figures of a score.
"""

from collections.abc import Sequence
from typing import TypedDict

from annotations.agreement.rules import Granularity
from annotations.scores.rules.rates import RatesData
from annotations.scores.rules.table import LabelData, LevelData


class UnitShares(TypedDict):
    """False positives and false negatives of a category, and their shares of those of all categories.

    A share is None if no category has any.
    """

    spurious: int
    spurious_share: float | None
    missed: int
    missed_share: float | None


class CategoryShares(TypedDict):
    """The errors of one category, by exact spans and by tokens. `tokens_per_span` is None without gold spans."""

    category: str
    entity: UnitShares
    token: UnitShares
    tokens_per_span: float | None


def category_shares(levels: Sequence[LevelData], labels: Sequence[LabelData]) -> list[CategoryShares]:
    """The shares of each category that gold or the predictions have, in the order of the score."""
    by_unit = {level["unit"]: level["classes"] for level in levels if level["granularity"] == Granularity.CATEGORY}
    units = {unit: _shares(classes) for unit, classes in by_unit.items()}
    return [
        {
            "category": name,
            "entity": units["entity"][name],
            "token": units["token"][name],
            "tokens_per_span": _tokens_per_span([label for label in labels if label["category"] == name]),
        }
        for name in units["entity"]
    ]


def _shares(classes: dict[str, RatesData]) -> dict[str, UnitShares]:
    spurious = {name: rates["predicted"] - rates["right"] for name, rates in classes.items()}
    missed = {name: rates["gold"] - rates["found"] for name, rates in classes.items()}
    all_spurious, all_missed = sum(spurious.values()), sum(missed.values())
    return {
        name: {
            "spurious": spurious[name],
            "spurious_share": spurious[name] / all_spurious if all_spurious else None,
            "missed": missed[name],
            "missed_share": missed[name] / all_missed if all_missed else None,
        }
        for name in classes
    }


def _tokens_per_span(labels: Sequence[LabelData]) -> float | None:
    """The gold tokens of a category by its gold spans: the mean of its labels' ratios, weighted by gold spans."""
    spans = sum(label["entity"]["gold"] for label in labels)
    tokens = sum((label["tokens_per_span"] or 0.0) * label["entity"]["gold"] for label in labels)
    return tokens / spans if spans else None
