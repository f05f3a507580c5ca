"""Which suggestions a bulk act can't put into gold, because they overlap what stands there or each other."""

from collections.abc import Iterable
from typing import NamedTuple

Place = tuple[int, int, int]
"""Start, end (code points, end-exclusive) and label id."""


class Candidate(NamedTuple):
    """A suggestion as it would stand in gold. `reading`: its annotation set; `runs`: whose it is in a merged list."""

    pk: int
    place: Place
    reading: int = 0
    runs: frozenset[int] = frozenset()


def conflicting(candidates: Iterable[Candidate], gold: Iterable[Place], *, settled: bool) -> set[int]:
    """The ids of the suggestions of one note that are left open for a person.

    A suggestion conflicts with an overlapping span of the same label that has other ends, whether that span is in gold
    or suggested too. Where a person has finished the gold (`settled`), it conflicts with every gold span that it
    overlaps, whatever the label. Rivals of one merged list don't conflict: accepting one of them rejects the others.
    """
    spans: list[tuple[Place, Candidate | None]] = [(place, None) for place in gold]
    spans += [(candidate.place, candidate) for candidate in candidates]
    spans.sort(key=lambda span: span[0])
    found: set[int] = set()
    active: list[tuple[Place, Candidate | None]] = []
    for place, candidate in spans:
        active = [one for one in active if one[0][1] > place[0]]
        for other, before in active:
            if place != other and (place[2] == other[2] or (settled and (candidate is None or before is None))):
                found |= _left_open(candidate, before)
        active.append((place, candidate))
    return found


def _left_open(one: Candidate | None, other: Candidate | None) -> set[int]:
    if one and other and _rivals(one, other):
        return set()
    return {candidate.pk for candidate in (one, other) if candidate}


def _rivals(one: Candidate, other: Candidate) -> bool:
    """As domain.merging says it of two that overlap."""
    return bool(one.runs and other.runs) and one.reading == other.reading and not one.runs & other.runs
