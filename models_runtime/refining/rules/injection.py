"""One injected error, and where it comes from."""

import hashlib
import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

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

    rule: str
    strategy: Strategy
    notes: Collection[int]
    """The notes that get none of these errors."""

    def places(self, text: str) -> Iterator[Place]:
        """Where errors can stand in a text, the best first. Those that overlap gold or another error are left out."""
        ...


# Draw errors from all that the rules can make, in turn by rule, by a seed.


LEAST_RATE: Final = 0.001
MOST_RATE: Final = 1.0


@dataclass(frozen=True, slots=True, order=True)
class Ticket:
    """A possible error in a drawing. The order of tickets is random, and the same for the same note and seed."""

    order: int
    note: int
    injection: Injection


def ticket(injection: Injection, note: int, sha256: str, seed: int) -> Ticket:
    """Return the ticket of an error in the note `note`, whose text has this SHA-256.

    The order depends on the text, so it is the same in another database, where notes have other ids.
    """
    key = f"{seed} {sha256} {injection.start} {injection.end} {injection.label} {injection.was} {injection.rule}"
    return Ticket(int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big"), note, injection)


class Draw:
    """Collects tickets, and draws at most `most`. It keeps at most `most` tickets of each rule in memory."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: defaultdict[str, list[tuple[int, int, Ticket]]] = defaultdict(list)
        self.possible: defaultdict[str, int] = defaultdict(int)

    def add(self, tickets: Iterable[Ticket]) -> None:
        for one in tickets:
            rule = one.injection.rule
            self.possible[rule] += 1
            heap = self._kept[rule]
            entry = (-one.order, -self.possible[rule], one)
            if len(heap) < self._most:
                heapq.heappush(heap, entry)
            elif heap:
                heapq.heappushpop(heap, entry)

    def drawn(self, rules: Sequence[str]) -> list[Ticket]:
        """The drawn errors: one of each rule in turn, by the order of `rules`, until there are enough or no more."""
        queues = [sorted(entry[2] for entry in self._kept[rule])[::-1] for rule in rules]
        found: list[Ticket] = []
        while len(found) < self._most and any(queues):
            for queue in queues:
                if queue and len(found) < self._most:
                    found.append(queue.pop())
        return found
