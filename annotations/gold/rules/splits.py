"""Splits into train, dev and test by patient, so that all notes of a patient are in one of them.

The same seed, shares and patients give the same split. A patient keeps the split from an earlier version with the same
seed, so that test notes are never trained on later.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Split(StrEnum):
    """Which models learn from a note (train), are tuned on it (dev) or are scored on it (test)."""

    TRAIN = "train"
    DEV = "dev"
    TEST = "test"


class SplitError(ValueError):
    """Invalid shares of a split. The message is a sentence that says what is wrong and what is allowed."""


@dataclass(frozen=True, slots=True)
class Patient:
    """The number of notes and gold spans of one patient. A note without a patient counts as a patient of its own."""

    key: str
    notes: int
    spans: int = 0


Shares = Mapping[Split, int]
"""The percentage of notes for each split."""

# A patient who was ever in test stays there, even if two patients turn out to be the same person.
_STRICTEST: Final = (Split.TEST, Split.DEV, Split.TRAIN)
_ROUNDS: Final = 10_000


def check_shares(shares: Mapping[str, int]) -> dict[Split, int]:
    """The shares of all three splits. Raises SplitError unless they are whole percentages that add up to 100."""
    if unknown := set(shares) - set(Split):
        names = ", ".join(f"“{name}”" for name in sorted(map(str, unknown)))
        raise SplitError(f"The shares name unknown splits: {names}. The splits are {', '.join(Split)}.")
    found = {split: shares.get(split, 0) for split in Split}
    if any(share < 0 for share in found.values()) or sum(found.values()) != 100:
        given = ", ".join(f"{split} {share}" for split, share in found.items())
        raise SplitError(f"The shares must be whole percentages that add up to 100, not {given}.")
    if not found[Split.TRAIN]:
        raise SplitError("The share of train must be above 0.")
    return found


def strictest(splits: Iterable[Split]) -> Split:
    """The split for a patient whose notes were in several splits: test before dev before train."""
    given = set(splits)
    return next(split for split in _STRICTEST if split in given)


def split_patients(
    patients: Iterable[Patient], *, seed: str, shares: Shares, kept: Mapping[str, Split] | None = None
) -> dict[str, Split]:
    """Assign every patient, by key, to a split, so that the numbers of notes come as near to the shares as possible.

    Patients in `kept` keep their split. The others are assigned the largest first, in an order that depends on the
    seed, each to the split that lacks most notes (then most spans). Then patients are moved or swapped as long as that
    brings the numbers of notes nearer to the shares.
    """
    given = sorted(patients, key=lambda patient: (-patient.notes, _rank(seed, patient.key)))
    if len({patient.key for patient in given}) != len(given):
        raise ValueError("The list contains a patient twice.")
    splits = dict(kept or {})
    room = _Room(given, shares)
    free: list[Patient] = []
    for patient in given:
        if patient.key in splits:
            room.put(patient, splits[patient.key])
        else:
            free.append(patient)
    found = {patient.key: splits[patient.key] for patient in given if patient.key in splits}
    members_of: dict[tuple[Split, int], list[Patient]] = defaultdict(list)
    for patient in free:
        split = room.emptiest()
        room.put(patient, split)
        members_of[split, patient.notes].append(patient)
    _improve(room, members_of)
    for (split, _), members in members_of.items():
        found.update((patient.key, split) for patient in members)
    return found


def _rank(seed: str, key: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{key}".encode()).digest()


class _Room:
    """How many notes and spans each split still lacks."""

    def __init__(self, patients: Sequence[Patient], shares: Shares) -> None:
        notes, spans = sum(p.notes for p in patients), sum(p.spans for p in patients)
        self.splits = [split for split in Split if shares.get(split, 0) > 0]
        # Counted in hundredths of a note, so that all sums are whole numbers.
        self.wanting = {split: notes * shares.get(split, 0) for split in Split}
        self._spans = {split: spans * shares.get(split, 0) for split in Split}

    def put(self, patient: Patient, split: Split) -> None:
        self.wanting[split] -= 100 * patient.notes
        self._spans[split] -= 100 * patient.spans

    def emptiest(self) -> Split:
        return max(self.splits, key=lambda split: (self.wanting[split], self._spans[split]))

    def gain(self, giver: Split, taker: Split, notes: int) -> int:
        """How much the sum of squared distances from the shares drops if `notes` notes move from giver to taker."""
        moved = 100 * notes
        before = self.wanting[giver] ** 2 + self.wanting[taker] ** 2
        return before - (self.wanting[giver] + moved) ** 2 - (self.wanting[taker] - moved) ** 2


def _improve(room: _Room, members_of: dict[tuple[Split, int], list[Patient]]) -> None:
    """Make the best move of a patient, or the best swap of two, until neither helps."""
    for _ in range(_ROUNDS):
        best = max(_steps(room, members_of), default=None)
        if best is None or best[0] <= 0:
            return
        _, giver, given, taker, taken = best
        moving = members_of[giver, given].pop()
        if taken:
            back = members_of[taker, taken].pop()
            room.put(back, giver)
            room.put(Patient("", -back.notes, -back.spans), taker)
            members_of[giver, taken].append(back)
        room.put(moving, taker)
        room.put(Patient("", -moving.notes, -moving.spans), giver)
        members_of[taker, given].append(moving)


def _steps(
    room: _Room, members_of: Mapping[tuple[Split, int], list[Patient]]
) -> Iterable[tuple[int, Split, int, Split, int]]:
    """All possible moves and swaps: gain, giver, notes of the moving patient, taker, notes of the swapped one or 0."""
    sizes = {
        split: sorted(size for (where, size), members in members_of.items() if where == split and members)
        for split in Split
    }
    for giver in room.splits:
        for taker in room.splits:
            if giver == taker:
                continue
            for given in sizes[giver]:
                for taken in [0, *sizes[taker]]:
                    if given > taken:
                        yield room.gain(giver, taker, given - taken), giver, given, taker, taken
