"""Comparison of two people's reviews of one note: their decisions on suggestions, and the spans that they added."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NotRequired, TypedDict

LabeledBounds = tuple[int, int, int]
"""Start, end (code points, end-exclusive) and label id."""


class OutcomeData(TypedDict):
    """An outcome in its JSON form."""

    suggestions: dict[str, list[int] | None]
    others: list[list[int]]
    # Missing in outcomes from before refiners proposed removals.
    removals: NotRequired[dict[str, list[int] | None]]


@dataclass(frozen=True, slots=True)
class ReviewOutcome:
    """One review: for each suggestion its span in gold (None: rejected), and the gold spans without a suggestion.

    `removals`: for each proposed removal, by number, the span that stays in gold (None: accepted).
    """

    suggestions: Mapping[int, LabeledBounds | None]
    others: frozenset[LabeledBounds] = field(default_factory=frozenset)
    removals: Mapping[int, LabeledBounds | None] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        suggestions: Mapping[int, LabeledBounds | None],
        gold: Iterable[LabeledBounds],
        removals: Mapping[int, LabeledBounds | None] | None = None,
    ) -> "ReviewOutcome":
        """Make an outcome from the decided suggestions and proposed removals, and all gold spans."""
        removals = removals or {}
        named = {bounds for bounds in (*suggestions.values(), *removals.values()) if bounds}
        return cls(suggestions, frozenset(set(gold) - named), removals)

    def data(self) -> OutcomeData:
        """The outcome in its JSON form."""
        found: OutcomeData = {"suggestions": _data(self.suggestions), "others": sorted(map(list, self.others))}
        if self.removals:
            found["removals"] = _data(self.removals)
        return found

    @classmethod
    def from_data(cls, data: OutcomeData) -> "ReviewOutcome":
        suggestions, removals = (
            {int(key): _bounds(bounds) for key, bounds in rows.items()}
            for rows in (data["suggestions"], data.get("removals", {}))
        )
        return cls(suggestions, frozenset((start, end, label) for start, end, label in data["others"]), removals)


def _data(decided: Mapping[int, LabeledBounds | None]) -> dict[str, list[int] | None]:
    return {str(key): bounds and list(bounds) for key, bounds in decided.items()}


def _bounds(values: Iterable[int] | None) -> LabeledBounds | None:
    if values is None:
        return None
    start, end, label = values
    return start, end, label


@dataclass(frozen=True, slots=True)
class Compared:
    """How many suggestions, removals and other spans either reviewer decided on, and on how many both agree."""

    units: int
    equal: int

    @property
    def differ(self) -> int:
        return self.units - self.equal


def compare(first: ReviewOutcome, second: ReviewOutcome, before: Iterable[LabeledBounds]) -> Compared:
    """Compare two reviews. Gold spans from `before` that both left unchanged are no decisions and don't count."""
    there = frozenset(before)
    units = equal = 0
    for here, beside in ((first.suggestions, second.suggestions), (first.removals, second.removals)):
        for number in here.keys() | beside.keys():
            one, two = here.get(number), beside.get(number)
            if one != two or one not in there:
                units, equal = units + 1, equal + (one == two)
    for span in first.others | second.others:
        both = span in first.others and span in second.others
        if not (both and span in there):
            units, equal = units + 1, equal + both
    return Compared(units, equal)
