"""Two people's reviews of one note beside each other: what each said of every proposal, and what else is in gold."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Place = tuple[int, int, int]
"""Start, end (code points, end-exclusive) and label id."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """By proposal where it stands in gold, None where it was rejected; and the gold spans of no proposal."""

    proposals: Mapping[int, Place | None]
    others: frozenset[Place] = field(default_factory=frozenset)

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> "Outcome":
        """From a review as it stands (review.selectors.state). What is open is in neither."""
        decided = [proposal for proposal in state["proposals"] if proposal["state"] != "open"]
        proposals = {one["id"]: _place(one["place"]) for one in decided}
        gold = {(span["start"], span["end"], span["label"]) for span in state["gold"]}
        return cls(proposals, frozenset(gold - {place for place in proposals.values() if place}))

    def data(self) -> dict[str, Any]:
        """As JSON keeps it."""
        proposals = {str(key): place and list(place) for key, place in self.proposals.items()}
        return {"proposals": proposals, "others": sorted(map(list, self.others))}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Outcome":
        proposals = {int(key): _place(place) for key, place in data["proposals"].items()}
        return cls(proposals, frozenset((start, end, label) for start, end, label in data["others"]))


def _place(values: Iterable[int] | None) -> Place | None:
    if values is None:
        return None
    start, end, label = values
    return start, end, label


@dataclass(frozen=True, slots=True)
class Compared:
    """How many proposals and other spans either of the two decided on, and on how many of them they say the same."""

    units: int
    alike: int

    @property
    def differ(self) -> int:
        return self.units - self.alike


def compare(first: Outcome, second: Outcome, before: Iterable[Place]) -> Compared:
    """What gold held `before` both, and both left as it was, is no decision of theirs and doesn't count."""
    there = frozenset(before)
    units = alike = 0
    for proposal in first.proposals.keys() | second.proposals.keys():
        one, two = first.proposals.get(proposal), second.proposals.get(proposal)
        if one != two or one not in there:
            units, alike = units + 1, alike + (one == two)
    for span in first.others | second.others:
        both = span in first.others and span in second.others
        if not (both and span in there):
            units, alike = units + 1, alike + both
    return Compared(units, alike)
