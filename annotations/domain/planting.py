"""Planted leaks: known identifiers left out of a note's proposals, to measure how many of them the reading finds.

Faults of a known number are put among the unknown ones; the share of them that is found tells how many of the others
were not (error seeding: Mills 1972). What is drawn depends on a key and on ids alone, so that a second look draws the
same.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from annotations.domain.precision import Rate
from annotations.domain.spans import Stretch, overlap_length, overlaps
from annotations.domain.tokens import Parts

# With fewer candidates than these a note has one planted leak at the most; with more it may have two.
ROOM_FOR_TWO: Final = 6
# Shorter words in gold are no hint of their other occurrences (static/js/review/hints.js), so they give nothing away.
_SHORTEST: Final = 3


class Found(StrEnum):
    """What the reading made of a planted leak. `elsewhere`: gold had it by other means, so it says nothing."""

    FOUND = "found"
    PARTLY = "partly"
    MISSED = "missed"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposal of the note: where it stands (code points, end-exclusive); `known` says how it is known, if it is."""

    pk: int
    start: int
    end: int
    known: str = ""


@dataclass(frozen=True, slots=True)
class Marked:
    """A span in gold. `by_reading`: it is there since a person marked it while reading this run's proposals."""

    start: int
    end: int
    label: int = 0
    by_reading: bool = True
    by: str = ""


def chance(key: bytes, *about: object) -> float:
    """From 0 to 1, without 1; the same for the same key and things, and otherwise as if by chance."""
    told = "\x1f".join(str(each) for each in about).encode()
    return int.from_bytes(hashlib.blake2b(told, key=key[:64], digest_size=7).digest()) / 2**56


def choose(key: bytes, run: int, note: int, share: int, candidates: Sequence[Candidate]) -> list[Candidate]:
    """What is planted in the note: nothing, or one or two of the candidates. `share` is the percentage of notes."""
    if not candidates or chance(key, "note", run, note) >= share / 100:
        return []
    two = len(candidates) >= ROOM_FOR_TWO and chance(key, "two", run, note) < 0.5
    order = sorted(candidates, key=lambda one: (chance(key, "which", run, note, one.start, one.end), one.pk))
    return order[: 2 if two else 1]


def eligible(text: str, proposals: Sequence[Candidate], gold: Iterable[Stretch]) -> list[Candidate]:
    """The known ones that nothing else on the page gives away.

    So no other proposal and nothing in gold overlaps it, and none of their words stand in it: the page shows the same
    words where they stand elsewhere in the note.
    """
    there = list(gold)
    return [
        one
        for one in proposals
        if one.known
        and not any(_tells(text, other, one) for other in proposals if other is not one)
        and not any(_tells(text, span, one) for span in there)
    ]


def _tells(text: str, other: Stretch, one: Stretch) -> bool:
    words = _words(text, other)
    return overlaps(other, one) or (len(words) >= _SHORTEST and words in _words(text, one))


def _words(text: str, place: Stretch) -> str:
    return " ".join(text[place.start : place.end].split()).casefold()


def outcome(text: str, place: Stretch, gold: Iterable[Marked]) -> tuple[Found, bool]:
    """What became of a planted leak, with `gold` as the reading left it; and whether all of it is marked.

    Labels don't count. Found: each of its words (tokens) is touched by a span; partly: some are; missed: none is.
    """
    touching = [span for span in gold if overlaps(span, place)]
    tokens = Parts(text).inside(place.start, place.end)
    covered = [any(overlaps(span, token) for span in touching) for token in tokens]
    if not any(covered):
        return Found.MISSED, False
    if not any(span.by_reading for span in touching):
        return Found.ELSEWHERE, all(covered)
    return (Found.FOUND, True) if all(covered) else (Found.PARTLY, False)


def nearest(place: Stretch, gold: Iterable[Marked]) -> Marked | None:
    """The gold span that shares the most with the place; None where none overlaps it."""
    touching = [span for span in gold if overlaps(span, place)]
    return max(touching, key=lambda span: (overlap_length(span, place), -(span.end - span.start)), default=None)


# ── What it says of the rest ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Missed:
    """Planted leaks that were identifiers indeed, and what reading found of them."""

    found: int = 0
    partly: int = 0
    missed: int = 0

    @property
    def rate(self) -> Rate:
        """The share that was missed: of which not one word was marked."""
        return Rate(self.missed, self.found + self.partly + self.missed)


@dataclass(frozen=True, slots=True)
class Left:
    """How many identifiers that nobody proposed are still unmarked, as far as the planted ones tell."""

    least: float
    expected: float
    most: float


def left_over(by_hand: int, rate: Rate) -> Left | None:
    """Of identifiers that no run proposed `by_hand` were found by reading: n were there, n (1 - missed) were found.

    With the interval of the share that is missed. None where too few were planted, or all of them were missed.
    """
    if rate.few or rate.share is None or rate.interval is None or rate.share >= 1.0:
        return None
    low, high = rate.interval

    def unfound(missed: float) -> float:
        return by_hand * missed / (1 - missed)

    return Left(unfound(low), unfound(rate.share), unfound(min(high, 0.999)))
