"""Comparison of two people's reviews of one note: their decisions on suggestions, and the spans that they added."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, NotRequired, TypedDict

from annotations.review.rules.conflicts import LabeledBounds


class ReviewOutcome(TypedDict):
    """One review, as it is stored: for each suggestion its span in gold (None: rejected), and all other gold spans.

    `removals`: for each proposed removal, by number, the span that stays in gold (None: accepted). Missing in outcomes
    from before refiners proposed removals.
    """

    suggestions: Mapping[str, Sequence[int] | None]
    removals: NotRequired[Mapping[str, Sequence[int] | None]]
    others: Collection[Sequence[int]]


Decided = Mapping[int, LabeledBounds | None]


def outcome_of(suggestions: Decided, gold: Iterable[LabeledBounds], removals: Decided | None = None) -> ReviewOutcome:
    """Make an outcome from the decided suggestions and proposed removals, and all gold spans."""
    made = [suggestions, removals or {}]
    named = {bounds for decided in made for bounds in decided.values() if bounds}
    decided, removed = ({str(pk): bounds and list(bounds) for pk, bounds in each.items()} for each in made)
    return {"suggestions": decided, "removals": removed, "others": sorted(map(list, set(gold) - named))}


class ReviewerAgreement(NamedTuple):
    """How many suggestions, removals and other spans either reviewer decided on, and on how many both agree."""

    units: int
    equal: int

    @property
    def differ(self) -> int:
        return self.units - self.equal


def compare(first: ReviewOutcome, second: ReviewOutcome, before: Iterable[Sequence[int]]) -> ReviewerAgreement:
    """Compare two reviews. Gold spans from `before` that both left unchanged are not decisions and don't count."""
    there = set(map(tuple, before))
    units = equal = 0
    parts = [(each["suggestions"], each.get("removals", {})) for each in (first, second)]
    for here, beside in zip(*parts, strict=True):
        for number in here.keys() | beside.keys():
            one, two = here.get(number), beside.get(number)
            if one != two or one is None or tuple(one) not in there:
                units, equal = units + 1, equal + (one == two)
    ours, theirs = (set(map(tuple, each["others"])) for each in (first, second))
    for span in ours | theirs:
        both = span in ours and span in theirs
        if not (both and span in there):
            units, equal = units + 1, equal + both
    return ReviewerAgreement(units, equal)
