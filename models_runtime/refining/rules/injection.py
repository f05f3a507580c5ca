"""One injected error, and where it comes from."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

Place = tuple[int, int, str]
"""Start, end and the code of the wrong label, in code points, end-exclusive."""


class Strategy(StrEnum):
    """How an error was made (Xu et al. 2026, section 5)."""

    RULE = "rule"
    SYSTEMIC = "systemic"
    LOG = "log"


@dataclass(frozen=True, slots=True, order=True)
class Injection:
    """An error in a note: the wrong span, and the label code that gold has at exactly its bounds.

    `start` and `end` are code points, end-exclusive. `was` is empty for a spurious span, which overlaps no gold.
    """

    start: int
    end: int
    label: str
    was: str
    rule: str
    strategy: Strategy = Strategy.RULE


class SpuriousSpans(Protocol):
    """What makes spurious spans besides the ten rules. `rule` is its name in commands, files and figures."""

    @property
    def rule(self) -> str: ...

    @property
    def strategy(self) -> Strategy: ...

    @property
    def notes(self) -> Collection[int]:
        """The notes that get none of these errors."""
        ...

    def places(self, text: str) -> Iterator[Place]:
        """Where errors can stand in a text, the best first. Those that overlap gold or another error are left out."""
        ...
