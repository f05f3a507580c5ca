"""Comparison of two people's reviews of one note: their decisions on suggestions, and the spans that they added."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypedDict

LabeledBounds = tuple[int, int, int]
"""Start, end (code points, end-exclusive) and label id."""


class OutcomeData(TypedDict):
    """An outcome in its JSON form."""

    suggestions: dict[str, list[int] | None]
    others: list[list[int]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One review: for each suggestion its span in gold (None: rejected), and the gold spans without a suggestion."""

    suggestions: Mapping[int, LabeledBounds | None]
    others: frozenset[LabeledBounds] = field(default_factory=frozenset)

    @classmethod
    def of(cls, suggestions: Mapping[int, LabeledBounds | None], gold: Iterable[LabeledBounds]) -> "Outcome":
        """Make an outcome from the decided suggestions and all gold spans."""
        gold = set(gold)
        return cls(suggestions, frozenset(gold - {bounds for bounds in suggestions.values() if bounds}))

    def data(self) -> OutcomeData:
        """The outcome in its JSON form."""
        suggestions = {str(key): bounds and list(bounds) for key, bounds in self.suggestions.items()}
        return {"suggestions": suggestions, "others": sorted(map(list, self.others))}

    @classmethod
    def from_data(cls, data: OutcomeData) -> "Outcome":
        suggestions = {int(key): _bounds(bounds) for key, bounds in data["suggestions"].items()}
        return cls(suggestions, frozenset((start, end, label) for start, end, label in data["others"]))


def _bounds(values: Iterable[int] | None) -> LabeledBounds | None:
    if values is None:
        return None
    start, end, label = values
    return start, end, label


@dataclass(frozen=True, slots=True)
class Compared:
    """The number of suggestions and other spans that either reviewer decided on, and on how many both agree."""

    units: int
    equal: int

    @property
    def differ(self) -> int:
        return self.units - self.equal


def compare(first: Outcome, second: Outcome, before: Iterable[LabeledBounds]) -> Compared:
    """Compare two reviews. Gold spans from `before` that both left unchanged are no decisions and don't count."""
    there = frozenset(before)
    units = equal = 0
    for suggestion in first.suggestions.keys() | second.suggestions.keys():
        one, two = first.suggestions.get(suggestion), second.suggestions.get(suggestion)
        if one != two or one not in there:
            units, equal = units + 1, equal + (one == two)
    for span in first.others | second.others:
        both = span in first.others and span in second.others
        if not (both and span in there):
            units, equal = units + 1, equal + both
    return Compared(units, equal)
