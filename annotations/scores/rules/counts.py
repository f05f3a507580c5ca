"""Counts of the score of rewritten text, by whatever rule occurrences are counted."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypedDict

from annotations.scores.rules.rates import Rates


class Counting(StrEnum):
    """How often a gold text occurs in a note.

    tokens: occurrences of whole tokens, of overlapping texts only the longest, outside placeholders (`rewritten`).
    substring: the plain string, wherever it is (Miranda et al. 2025, section 4.3; `substrings`).
    """

    TOKENS = "tokens"
    SUBSTRING = "substring"


class CountsData(TypedDict):
    """Counts in their JSON form."""

    tp: int
    fn: int
    fp: int
    precision: float | None
    recall: float | None
    f1: float | None
    gold: int
    unmarked: int
    placeholders: int


class LabelCounts(CountsData):
    label: str


class RewrittenData(TypedDict):
    micro: CountsData
    labels: list[LabelCounts]


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of one label.

    `removed`, `remaining`: occurrences of gold texts. `extra`: superfluous placeholders. `gold`: gold spans.
    `unmarked`: occurrences in the original that gold doesn't mark, but that are counted nevertheless. `placeholders`:
    placeholders that the rewriting added (`Counting.SUBSTRING`: all in the rewritten text).
    """

    removed: int = 0
    remaining: int = 0
    extra: int = 0
    gold: int = 0
    unmarked: int = 0
    placeholders: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.removed + other.removed,
            self.remaining + other.remaining,
            self.extra + other.extra,
            self.gold + other.gold,
            self.unmarked + other.unmarked,
            self.placeholders + other.placeholders,
        )

    def as_dict(self) -> CountsData:
        rates = Rates.paired(self.removed, self.removed + self.extra, self.removed + self.remaining)
        return {
            "tp": self.removed,
            "fn": self.remaining,
            "fp": self.extra,
            "precision": rates.precision,
            "recall": rates.recall,
            "f1": rates.f1,
            "gold": self.gold,
            "unmarked": self.unmarked,
            "placeholders": self.placeholders,
        }


def placeholder_pattern(placeholders: Iterable[str]) -> "re.Pattern[str] | None":
    """A pattern that finds placeholders, and the longer one if one is a prefix of another."""
    known = sorted(filter(None, set(placeholders)), key=lambda one: (-len(one), one))
    return re.compile("|".join(map(re.escape, known))) if known else None
