"""Suggestions that a bulk act can't accept, because they overlap gold spans or each other."""

from collections.abc import Iterable
from typing import NamedTuple

LabeledBounds = tuple[int, int, int]
"""Start, end (code points, end-exclusive) and label id."""


class Candidate(NamedTuple):
    """A suggestion that a bulk act would accept. `runs`: in a merged list, the runs that suggested it."""

    pk: int
    bounds: LabeledBounds
    annotation_set: int = 0
    runs: frozenset[str] = frozenset()


def conflicting(candidates: Iterable[Candidate], gold: Iterable[LabeledBounds], *, has_finished_gold: bool) -> set[int]:
    """The ids of the suggestions of one note that conflict and so are left to a reviewer.

    A suggestion conflicts with an overlapping span that has the same label and other bounds, in gold or suggested. If a
    reviewer has finished the note (`has_finished_gold`), a suggestion conflicts with every gold span that it overlaps,
    whatever the label. Spans that conflict in one merged list don't count here: accepting one of them rejects the
    others.
    """
    spans: list[tuple[LabeledBounds, Candidate | None]] = [(bounds, None) for bounds in gold]
    spans += [(candidate.bounds, candidate) for candidate in candidates]
    spans.sort(key=lambda span: span[0])
    found: set[int] = set()
    active: list[tuple[LabeledBounds, Candidate | None]] = []
    for bounds, candidate in spans:
        active = [one for one in active if one[0][1] > bounds[0]]
        for other, before in active:
            if bounds != other and (bounds[2] == other[2] or (has_finished_gold and None in (candidate, before))):
                found |= _left_open(candidate, before)
        active.append((bounds, candidate))
    return found


def _left_open(one: Candidate | None, other: Candidate | None) -> set[int]:
    if one and other and _in_merged_list(one, other):
        return set()
    return {candidate.pk for candidate in (one, other) if candidate}


def _in_merged_list(one: Candidate, other: Candidate) -> bool:
    """Whether two overlapping suggestions conflict in one merged list, by the rule of `text.combining`."""
    return bool(one.runs and other.runs) and one.annotation_set == other.annotation_set and not one.runs & other.runs
