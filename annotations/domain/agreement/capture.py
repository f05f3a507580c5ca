"""How much readers miss, estimated from their own overlap (capture-recapture).

A span that several readers may find is an animal that several traps may catch: from how many were found once, twice
and so on follows how many were found by nobody. With z_i spans that reader i alone found and f2 that exactly two did,

    found by nobody = Σ over pairs i < j of z_i · z_j / (f2 + 1)

which for two readers is Chapman's estimator (University of California Publications in Statistics 1, 1951) and for more
Chao's lower bound for readers of different thoroughness (Biometrics 45, 1989, bias-corrected). It assumes that readers
miss independently of each other. Spans that are hard for everybody make the estimate of the recall too high.

Notes are grouped by who read them; found and missed are summed over the groups.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations
from math import comb

from annotations.domain.agreement.coefficients import NO_UNITS, NOTHING_MARKED, Value
from annotations.domain.agreement.units import NoteReadings
from annotations.domain.spans import Span

READERS = (1, 2, 3)


class Matching(StrEnum):
    """When two readers found the same: any overlap, or the same place exactly. Labels don't count."""

    OVERLAP = "overlap"
    EXACT = "exact"


@dataclass(slots=True)
class Group:
    """Notes that the same annotators read. For each note: found by 1, 2, … of them; alone by each; at all by each."""

    readers: tuple[str, ...]
    notes: list[int] = field(default_factory=list)
    found_by: list[list[int]] = field(default_factory=list)
    alone: list[list[int]] = field(default_factory=list)
    found: list[list[int]] = field(default_factory=list)

    def add(self, note: int, histories: Iterable[int]) -> None:
        """A note (its place among all notes) and for each of its spans who found it (`histories`)."""
        size = len(self.readers)
        found_by, alone, found = [0] * size, [0] * size, [0] * size
        for history, times in Counter(histories).items():
            who = [place for place in range(size) if history >> place & 1]
            found_by[len(who) - 1] += times
            for place in who:
                found[place] += times
            if len(who) == 1:
                alone[who[0]] += times
        self.notes.append(note)
        self.found_by.append(found_by)
        self.alone.append(alone)
        self.found.append(found)


class Captures:
    """What was found by whom, note by note."""

    def __init__(self) -> None:
        self.notes = 0
        self.groups: dict[Matching, dict[tuple[str, ...], Group]] = {matching: {} for matching in Matching}

    def add(self, note: NoteReadings, readers: Sequence[str]) -> None:
        """A note and those who read it, in the project's order."""
        key = tuple(readers)
        for matching, found in histories(note.readings, key).items():
            groups = self.groups[matching]
            group = groups.get(key)
            if group is None:
                group = groups[key] = Group(key)
            group.add(self.notes, found)
        self.notes += 1


def histories(readings: Mapping[str, Sequence[Span]], readers: Sequence[str]) -> dict[Matching, list[int]]:
    """For each span that anybody found, who found it: bit i for the i-th of the readers.

    By overlap, spans that hang together by overlapping one another count as one.
    """
    said: dict[tuple[int, int], int] = {}
    for place, reader in enumerate(readers):
        bit = 1 << place
        for span in readings[reader]:
            at = (span.start, span.end)
            said[at] = said.get(at, 0) | bit
    together: list[int] = []
    reach = 0
    for start, end in sorted(said):
        if together and start < reach:
            together[-1] |= said[start, end]
            reach = max(reach, end)
        else:
            together.append(said[start, end])
            reach = end
    return {Matching.OVERLAP: together, Matching.EXACT: list(said.values())}


@dataclass(slots=True)
class Found:
    """Sums over groups. `by[j]`: what j readers, taken at random, find; `of[j]`: what there was for them to find."""

    known: float = 0.0
    hidden: float = 0.0
    twice: float = 0.0
    most: int = 0
    by: dict[int, float] = field(default_factory=lambda: dict.fromkeys(READERS, 0.0))
    of: dict[int, float] = field(default_factory=lambda: dict.fromkeys(READERS, 0.0))
    reader_by: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    reader_of: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(
        self, readers: Sequence[str], found_by: Sequence[float], alone: Sequence[float], found: Sequence[float]
    ) -> None:
        """A group's totals."""
        known = sum(found_by)
        hidden = sum(a * b for a, b in combinations(alone, 2)) / (found_by[1] + 1)
        self.most = max(self.most, len(readers))
        self.known += known
        self.hidden += hidden
        self.twice += sum(found_by[1:])
        for j in READERS:
            if j <= len(readers):
                self.by[j] += sum(n * chance(times, len(readers), j) for times, n in enumerate(found_by, start=1))
                self.of[j] += known + hidden
        for reader, n in zip(readers, found, strict=True):
            self.reader_by[reader] += n
            self.reader_of[reader] += known + hidden

    def recall(self, readers: int) -> Value:
        """The share that so many readers find. Where no note had so many, from that of two and of one: independent."""
        if not self.most:
            return Value(None, NO_UNITS)
        if not self.known:
            return Value(None, NOTHING_MARKED)
        if not self.twice:
            return Value(None, "nothing was found by two readers: how much was missed by all can't be told")
        if not self.projected_for(readers):
            return Value(self.by[readers] / self.of[readers])
        one, two = self.by[1] / self.of[1], self.by[2] / self.of[2]
        return Value(1 - (1 - two) * (1 - one))

    def recall_of(self, reader: str) -> Value:
        whole = self.recall(1)
        if whole.value is None or not self.reader_of[reader]:
            return Value(None, whole.why or "nobody marked anything in the notes that they read")
        return Value(self.reader_by[reader] / self.reader_of[reader])

    def projected_for(self, readers: int) -> bool:
        """Whether no note had so many readers."""
        return readers > self.most


def chance(times: int, readers: int, taken: int) -> float:
    """That of `taken` readers, drawn from `readers`, at least one is among the `times` who found a span."""
    return 1 - comb(readers - times, taken) / comb(readers, taken)


def found_in(groups: Mapping[tuple[str, ...], Group]) -> Found:
    """The sums over all notes."""
    found = Found()
    for group in groups.values():
        totals = [
            [sum(column) for column in zip(*rows, strict=True)] for rows in (group.found_by, group.alone, group.found)
        ]
        found.add(group.readers, *totals)
    return found


def _columns(rows: Sequence[Sequence[int]]) -> list[int]:
    return [sum(column) for column in zip(*rows, strict=True)]
