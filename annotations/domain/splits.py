"""Train, dev and test: a split by patient, so that no patient stands on both sides.

The same seed, shares and patients give the same split. A patient who has a side in an earlier split with the same seed
keeps it, so that what was tested on is never trained on later.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Side(StrEnum):
    TRAIN = "train"
    DEV = "dev"
    TEST = "test"


class SplitError(ValueError):
    """Shares that can't be; the message says what is wrong and what is allowed."""


@dataclass(frozen=True, slots=True)
class Patient:
    """All notes of one patient (a note without a patient is one of its own): how many, and how many gold spans."""

    key: str
    notes: int
    spans: int = 0


Shares = Mapping[Side, int]
"""Percent of the notes for each side."""

# Whoever ever stood in test stays there, even where two patients turn out to be one.
_STRICTEST: Final = (Side.TEST, Side.DEV, Side.TRAIN)
_ROUNDS: Final = 10_000


def check_shares(shares: Mapping[str, int]) -> dict[Side, int]:
    """The shares by side, all three of them. Raises SplitError unless they are whole percents that make 100."""
    if unknown := set(shares) - set(Side):
        raise SplitError(f"there is no side {', '.join(sorted(map(str, unknown)))}; there are: {', '.join(Side)}")
    found = {side: shares.get(side, 0) for side in Side}
    if any(share < 0 for share in found.values()) or sum(found.values()) != 100:
        given = ", ".join(f"{side} {share}" for side, share in found.items())
        raise SplitError(f"the shares must be whole percents that make 100 together, not {given}")
    if not found[Side.TRAIN]:
        raise SplitError("the share of train must be above 0")
    return found


def strictest(sides: Iterable[Side]) -> Side:
    """The side for a patient whose notes stood on several: test before dev before train."""
    given = set(sides)
    return next(side for side in _STRICTEST if side in given)


def split_patients(
    patients: Iterable[Patient], *, seed: str, shares: Shares, kept: Mapping[str, Side] | None = None
) -> dict[str, Side]:
    """A side for every patient, by key. The counts of notes come as near to the shares as whole patients allow.

    Patients in `kept` stay where they are. The others are placed the largest first, in an order that the seed gives,
    each where most notes are wanting (then most spans); then patients move or change places while that brings the
    counts of notes nearer to the shares.
    """
    given = sorted(patients, key=lambda patient: (-patient.notes, _rank(seed, patient.key)))
    if len({patient.key for patient in given}) != len(given):
        raise ValueError("a patient is named twice")
    sides = dict(kept or {})
    room = _Room(given, shares)
    free: list[Patient] = []
    for patient in given:
        if patient.key in sides:
            room.place(patient, sides[patient.key])
        else:
            free.append(patient)
    found = {patient.key: sides[patient.key] for patient in given if patient.key in sides}
    placed: dict[tuple[Side, int], list[Patient]] = defaultdict(list)
    for patient in free:
        side = room.emptiest()
        room.place(patient, side)
        placed[side, patient.notes].append(patient)
    _improve(room, placed)
    for (side, _), members in placed.items():
        found.update((patient.key, side) for patient in members)
    return found


def _rank(seed: str, key: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{key}".encode()).digest()


class _Room:
    """How many notes and spans each side has, beside how many it should have."""

    def __init__(self, patients: Sequence[Patient], shares: Shares) -> None:
        notes, spans = sum(p.notes for p in patients), sum(p.spans for p in patients)
        self.sides = [side for side in Side if shares.get(side, 0) > 0]
        # In hundredths, so that all sums are whole numbers.
        self.wanting = {side: notes * shares.get(side, 0) for side in Side}
        self._spans = {side: spans * shares.get(side, 0) for side in Side}

    def place(self, patient: Patient, side: Side) -> None:
        self.wanting[side] -= 100 * patient.notes
        self._spans[side] -= 100 * patient.spans

    def emptiest(self) -> Side:
        return max(self.sides, key=lambda side: (self.wanting[side], self._spans[side]))

    def gain(self, giver: Side, taker: Side, notes: int) -> int:
        """How much nearer (in squares) both come to their shares if so many notes go from one to the other."""
        moved = 100 * notes
        before = self.wanting[giver] ** 2 + self.wanting[taker] ** 2
        return before - (self.wanting[giver] + moved) ** 2 - (self.wanting[taker] - moved) ** 2


def _improve(room: _Room, placed: dict[tuple[Side, int], list[Patient]]) -> None:
    """Single patients move and pairs change places, always the best of these, until none of them helps."""
    for _ in range(_ROUNDS):
        best = max(_steps(room, placed), default=None)
        if best is None or best[0] <= 0:
            return
        _, giver, given, taker, taken = best
        moving = placed[giver, given].pop()
        if taken:
            back = placed[taker, taken].pop()
            room.place(back, giver)
            room.place(Patient("", -back.notes, -back.spans), taker)
            placed[giver, taken].append(back)
        room.place(moving, taker)
        room.place(Patient("", -moving.notes, -moving.spans), giver)
        placed[taker, given].append(moving)


def _steps(room: _Room, placed: Mapping[tuple[Side, int], list[Patient]]) -> Iterable[tuple[int, Side, int, Side, int]]:
    """What could move: gain, from, a patient of how many notes, to, and for one of how many notes (0: for none)."""
    sizes = {
        side: sorted(size for (where, size), members in placed.items() if where == side and members) for side in Side
    }
    for giver in room.sides:
        for taker in room.sides:
            if giver == taker:
                continue
            for given in sizes[giver]:
                for taken in [0, *sizes[taker]]:
                    if given > taken:
                        yield room.gain(giver, taker, given - taken), giver, given, taker, taken
