"""Planted leaks: known identifiers that are hidden from a note's suggestions, to measure how many reviewers find.

The share of planted identifiers that reviewers find tells how many others they missed (error seeding: Mills 1972). The
draw depends on a key and on ids alone, so that repeating it gives the same result.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from typing import Final

from annotations.review.rules.precision import Rate
from annotations.text.spans import Parts, Stretch, overlap_length, overlaps

# A note with fewer candidates has at most one planted leak; with this many or more it may have two.
ROOM_FOR_TWO: Final = 6
# `Candidate.known` of a candidate that is only likely an identifier: it is drawn only where none is certain.
LIKELY: Final = "string"
# The page gives no hints about other occurrences of shorter words (static/js/review/hints.js).
_SHORTEST: Final = 3


class PlantedFate(StrEnum):
    """What the review did with a planted leak. `elsewhere`: not found by the reviewer, but in gold by other means."""

    FOUND = "found"
    PARTLY = "partly"
    MISSED = "missed"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A suggestion in the note: its bounds (code points, end-exclusive); `known` says how it is known, if it is."""

    pk: int
    start: int
    end: int
    known: str = ""


@dataclass(frozen=True, slots=True)
class GoldSpan:
    """A span in gold. `by_review`: a person marked it while reviewing this run's suggestions."""

    start: int
    end: int
    label: int = 0
    by_review: bool = True
    by: str = ""


def chance(key: bytes, *about: object) -> float:
    """A pseudorandom number from 0 (inclusive) to 1 (exclusive) that depends on the key and on `about` alone."""
    hashed = "\x1f".join(str(each) for each in about).encode()
    return int.from_bytes(hashlib.blake2b(hashed, key=key[:64], digest_size=7).digest()) / 2**56


def is_drawn(key: bytes, run: int, note: int, share: int) -> bool:
    """Whether the note is drawn for planted leaks. `share` is the percentage of notes."""
    return chance(key, "note", run, note) < share / 100


def choose(
    key: bytes, run: int, note: int, candidates: Sequence[Candidate], fits: Callable[[Candidate], bool] = bool
) -> list[Candidate]:
    """The planted leaks of a drawn note: one or two of the candidates that fit, or none if none fits.

    Candidates are tried in the order of the draw, and only until enough are found.
    """
    order = sorted(
        candidates, key=lambda one: (one.known == LIKELY, chance(key, "which", run, note, one.start, one.end), one.pk)
    )
    found = list(islice(filter(fits, order), ROOM_FOR_TWO))
    two = len(found) == ROOM_FOR_TWO and chance(key, "two", run, note) < 0.5
    return found[: 2 if two else 1]


class VisibleNote:
    """What the page of a note still shows when a suggestion is hidden."""

    def __init__(self, text: str, suggestions: Sequence[Candidate], gold: Iterable[Stretch]) -> None:
        self._shown: list[tuple[Stretch, str]] = [(each, _words(text, each)) for each in [*suggestions, *gold]]
        self._text = text

    def hides(self, one: Candidate) -> bool:
        """Whether nothing else on the page gives the suggestion away.

        No other suggestion or gold span may overlap it, nor may its text contain their words: the page points out
        where else in the note the same words occur.
        """
        words = _words(self._text, one)
        return not any(
            overlaps(other, one) or (len(others) >= _SHORTEST and others in words)
            for other, others in self._shown
            if other is not one
        )


def _words(text: str, stretch: Stretch) -> str:
    return " ".join(text[stretch.start : stretch.end].split()).casefold()


def outcome(text: str, leak: Stretch, gold: Iterable[GoldSpan]) -> tuple[PlantedFate, bool]:
    """What the review did with a planted leak, given the gold spans afterwards; and whether gold covers all its tokens.

    Labels don't matter. Found: gold spans overlap each token of the leak; partly: some tokens; missed: none.
    """
    touching = [span for span in gold if overlaps(span, leak)]
    tokens = Parts(text).inside(leak.start, leak.end)
    covered = [any(overlaps(span, token) for span in touching) for token in tokens]
    if not any(covered):
        return PlantedFate.MISSED, False
    if not any(span.by_review for span in touching):
        return PlantedFate.ELSEWHERE, all(covered)
    return (PlantedFate.FOUND, True) if all(covered) else (PlantedFate.PARTLY, False)


def nearest(leak: Stretch, gold: Iterable[GoldSpan]) -> GoldSpan | None:
    """The gold span that shares the most characters with the leak; None if none overlaps it."""
    touching = [span for span in gold if overlaps(span, leak)]
    return max(touching, key=lambda span: (overlap_length(span, leak), -(span.end - span.start)), default=None)


# ── Estimates from the planted leaks ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class PlantedCounts:
    """Counts of planted leaks that are identifiers, by what the review did with them."""

    found: int = 0
    partly: int = 0
    missed: int = 0

    @property
    def rate(self) -> Rate:
        """The share of planted leaks that was missed."""
        return Rate(self.missed, self.found + self.partly + self.missed)


@dataclass(frozen=True, slots=True)
class RemainingEstimate:
    """Estimated number of identifiers that no run suggested and no reviewer marked."""

    least: float
    expected: float
    most: float


def left_over(by_hand: int, rate: Rate) -> RemainingEstimate | None:
    """Estimate the missed identifiers from the `by_hand` ones that reviewers added without a suggestion.

    Of n such identifiers, reviewers find n (1 - missed share). The bounds follow from the interval of that share. None
    if too few leaks were planted, or if all of them were missed.
    """
    if rate.few or rate.share is None or rate.interval is None or rate.share >= 1.0:
        return None
    low, high = rate.interval

    def unfound(missed: float) -> float:
        return by_hand * missed / (1 - missed)

    return RemainingEstimate(unfound(low), unfound(rate.share), unfound(min(high, 0.999)))


# Aliases for ids, used where a gap between consecutive ids would give something away.
#
# The suggestions of a note have consecutive ids, so a suggestion that is hidden from the page would leave a visible
# gap. Aliases come from a keyed, reversible permutation (a balanced Feistel network of 52 bits: Luby and Rackoff 1988)
# and follow no order. One higher bit marks an alias, so that it can't be mistaken for an id. JavaScript numbers hold
# aliases exactly.


_BITS: Final = 26
_HALF: Final = (1 << _BITS) - 1
_MARK: Final = 1 << (2 * _BITS)
_ROUNDS: Final = 4
_KEPT: Final = 1 << 13


class Aliases:
    """The aliases under one key. An id of 2**52 or more has no alias and is returned unchanged."""

    def __init__(self, key: bytes) -> None:
        self._key = key[:64]
        # Cached, because the response to every decision lists all suggestions of the note.
        self.of: Callable[[int], int] = lru_cache(_KEPT)(self._of)

    def _of(self, pk: int) -> int:
        if not 0 <= pk < _MARK:
            return pk
        left, right = pk >> _BITS, pk & _HALF
        for number in range(_ROUNDS):
            left, right = right, left ^ self._round(number, right)
        return _MARK | left << _BITS | right

    def back(self, alias: int) -> int:
        """The id that an alias stands for; an id is returned unchanged."""
        if not _MARK <= alias < 2 * _MARK:
            return alias
        left, right = alias >> _BITS & _HALF, alias & _HALF
        for number in reversed(range(_ROUNDS)):
            left, right = right ^ self._round(number, left), left
        return left << _BITS | right

    def _round(self, number: int, half: int) -> int:
        block = number.to_bytes(1) + half.to_bytes(4)
        return int.from_bytes(hashlib.blake2b(block, key=self._key, digest_size=4).digest()) & _HALF
