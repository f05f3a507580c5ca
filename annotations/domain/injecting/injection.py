"""One injected error, and where it comes from."""

from dataclasses import dataclass
from enum import StrEnum


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
