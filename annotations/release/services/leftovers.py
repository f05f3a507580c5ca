"""Identifiers that no label covers: known ones in every spelling, what rules and runs find, and what looks like one."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Final

from annotations.models import LeakFinding
from annotations.release.rules.leaks.encoded import Decoded, is_encoded
from annotations.release.rules.leaks.gate import ALLOWED, GENERIC, KEPT, Gate, Leak
from annotations.release.rules.leaks.needles import PART_LETTERS, Needle
from annotations.release.rules.leaks.shapes import device_addresses, full_dates, telephones
from annotations.release.rules.redaction.ages import told_in
from annotations.release.rules.redaction.date_reading import is_ambiguous
from annotations.release.rules.redaction.kinds import IdentifierType
from annotations.release.rules.redaction.offsets import piece_around, span_to_released
from annotations.release.rules.redaction.policy import Action
from annotations.release.rules.redaction.released import Released, ReplacedPiece
from annotations.release.rules.surrogates.checking import unreserved
from annotations.release.rules.surrogates.writing import staying
from annotations.release.services.replacing import Original
from annotations.release.services.searching import Sighting
from annotations.text.search import words
from annotations.text.spans import Bounds

Origin = LeakFinding.Origin
COINCIDENCE: Final = "coincidence"
_BARRIER: Final = "\0"
# Also in groups: 20210312, 2021-03-12, 12.03.21, 8812345.
_NUMBER_IN_NAME: Final = re.compile(r"\d(?:[-_. /]?\d){3,}")
_DATE_IN_NAME: Final = re.compile(
    r"(?:19|20)\d\d[-_. /]?\d{1,2}[-_. /]?\d{1,2}|\d{1,2}[-_. /]\d{1,2}[-_. /](?:19|20)?\d\d|\d{4}(?:19|20)\d\d"
)


def sighted_leaks(
    text: str,
    sightings: Iterable[Sighting],
    origin: LeakFinding.Origin,
    released: Released,
    gate: Gate,
    kept: frozenset[str],
    exceptions: Counter[str],
) -> list[Leak]:
    """The sightings in the original `text`, in order, that the release doesn't replace, or their rest.

    `kept`: the labels that the policy keeps. What stays of a sighting is a leak unless an exception lets it stay, which
    is counted. What the policy keeps is no exception for a known identifier; of what rules or runs say, people decided
    otherwise when they gave it a kept label.
    """
    leaks = []
    known = origin is Origin.KNOWN
    covering = [piece for piece in released.pieces if not known or piece.action is not Action.KEEP]
    first = 0
    for sighting in sightings:
        while first < len(covering) and covering[first].end <= sighting.start:
            first += 1
        for start, end in _uncovered(text, sighting, covering, first):
            if not known and (start, end) != (sighting.start, sighting.end) and not _says_enough(text[start:end]):
                continue  # Rules and people draw the bounds of the same string differently.
            needle = Needle(text[start:end], sighting.label, sighting.kind, origin)
            exception = KEPT if sighting.label in kept else gate.exception_of(needle)
            if exception:
                exceptions[exception] += 1
            else:
                part = (start, end) != (sighting.start, sighting.end)
                leaks.append(Leak(*span_to_released(released.pieces, start, end), needle, part))
    return leaks


def _says_enough(rest: str) -> bool:
    """Whether what is left of a string could say who it is about: a word or number of four characters."""
    return any(len(word) >= PART_LETTERS for word in words(rest))


def _uncovered(text: str, sighting: Sighting, pieces: Sequence[ReplacedPiece], first: int) -> Iterable[Bounds]:
    """What no piece, from number `first` on, covers of a sighting. It begins and ends with letters, digits, or as the
    sighting does.
    """
    cuts = [sighting.start]
    for at in range(first, len(pieces)):
        piece = pieces[at]
        if piece.start >= sighting.end:
            break
        cuts += (max(piece.start, sighting.start), min(piece.end, sighting.end))
    cuts.append(sighting.end)
    for start, end in zip(cuts[::2], cuts[1::2], strict=True):
        while sighting.start < start < end and not text[start].isalnum():
            start += 1
        while start < end < sighting.end and not text[end - 1].isalnum():
            end -= 1
        if start < end:
            yield start, end


def shape_leaks(
    released: Released, gate: Gate, labels: Mapping[IdentifierType, str], kept: frozenset[str], exceptions: Counter[str]
) -> list[Leak]:
    """What has such a shape in the released text outside of its pieces, as it is written and as its signs are read."""
    text = _outside(released)
    found = _shapes_in(text)
    if is_encoded(text):
        read = Decoded(text)
        found += ((read.written_bounds(*bounds), kind) for bounds, kind in _shapes_in(read.plain))
    leaks: list[Leak] = []
    for (start, end), kind in sorted(found, key=lambda one: (one[0][0], -one[0][1])):
        needle = Needle(text[start:end], labels.get(kind, ""), kind, Origin.SHAPE)
        exception = KEPT if kind is IdentifierType.DATE and needle.label in kept else gate.exception_of(needle)
        if exception:
            exceptions[exception] += 1
        elif not leaks or start >= leaks[-1].end:
            leaks.append(Leak(start, end, needle, part=False))
    return leaks


def _shapes_in(text: str) -> list[tuple[Bounds, IdentifierType]]:
    """E-mail, web and device addresses, telephone numbers and full dates."""
    found = [(bounds, IdentifierType.PHONE) for bounds in telephones(text)]
    found += [(bounds, IdentifierType.DATE) for bounds in full_dates(text)]
    found += device_addresses(text)
    if _has_address(text):
        found += (
            (place, IdentifierType.EMAIL if "@" in text[slice(*place)] else IdentifierType.URL)
            for place in unreserved(text)
        )
    return found


def age_leaks(released: Released, latest: int | None, label: str, gate: Gate, exceptions: Counter[str]) -> list[Leak]:
    """Ages over 89 outside of the pieces, and years of birth that tell one beside the patient's `latest` year."""
    leaks = []
    for start, end in told_in(_outside(released), latest):
        needle = Needle(released.text[start:end], label, IdentifierType.AGE, Origin.SHAPE)
        if gate.exception_of(needle) == ALLOWED:
            exceptions[ALLOWED] += 1
        else:
            leaks.append(Leak(start, end, needle, part=False))
    return sorted(leaks, key=lambda leak: leak.start)


def ambiguous_dates(text: str, pieces: Iterable[ReplacedPiece]) -> list[Leak]:
    """Dates that were shifted although nothing tells whether the day or the month comes first.

    A day too early or too late would change what happened when, and each is a finding that holds its note back.
    """
    return [
        Leak(
            piece.new_start, piece.new_end, Needle(written, piece.label, IdentifierType.DATE, Origin.SHAPE), part=False
        )
        for piece in pieces
        if piece.action is Action.SHIFT and is_ambiguous(written := text[piece.start : piece.end])
    ]


def numbers_in_name(name: str, labels: Mapping[IdentifierType, str], least: int = 6) -> list[Leak]:
    """Dates and numbers of `least` digits in a name or an attribute, whether or not somebody labeled them."""
    found = []
    for match in _NUMBER_IN_NAME.finditer(name):
        if sum(map(str.isdigit, match[0])) < least:
            continue
        kind = IdentifierType.DATE if _DATE_IN_NAME.fullmatch(match[0]) else IdentifierType.ID
        needle = Needle(match[0], labels.get(kind, ""), kind, Origin.SHAPE)
        found.append(Leak(*match.span(), needle, part=False))
    return found


def _has_address(text: str) -> bool:
    """Whether the text has a sign that every address has. Only a text with "w." is copied to lower case."""
    return "@" in text or "://" in text or (("w." in text or "W." in text) and "www." in text.lower())


def _outside(released: Released) -> str:
    """The released text with a barrier in place of each character of a piece."""
    parts: list[str] = []
    done = 0
    for piece in released.pieces:
        parts += (released.text[done : piece.new_start], _BARRIER * (piece.new_end - piece.new_start))
        done = piece.new_end
    return "".join([*parts, released.text[done:]])


class _Places:
    """The places of leaks, with which other leaks are compared in logarithmic time."""

    def __init__(self, leaks: Iterable[Leak]) -> None:
        places = sorted((leak.start, leak.end) for leak in leaks)
        self._starts = [start for start, _end in places]
        self._furthest = list(accumulate((end for _start, end in places), max, initial=0))

    def overlap(self, leak: Leak) -> bool:
        """Whether one of the places shares a character with the leak."""
        return self._furthest[bisect_left(self._starts, leak.end)] > leak.start

    def cover(self, leak: Leak) -> bool:
        """Whether one of the places is longer than the leak, and has all of it."""
        before, upto = bisect_left(self._starts, leak.start), bisect_right(self._starts, leak.start)
        return self._furthest[before] >= leak.end or self._furthest[upto] > leak.end


def with_longer(leaks: Sequence[Leak], others: Sequence[Leak]) -> list[Leak]:
    """Leaks of two searches in order: of two that overlap the longer one, else that of the first search."""
    longer = _Places(others)
    return merged([leak for leak in leaks if not longer.cover(leak)], others)


def merged(first: Sequence[Leak], second: Sequence[Leak]) -> list[Leak]:
    """Leaks of two searches in order, without those of the second that overlap one of the first."""
    taken = _Places(first)
    added = [leak for leak in second if not taken.overlap(leak)]
    return sorted([*first, *added], key=lambda leak: leak.start)


def in_surrogate(leak: Leak, note: Original, text: str, pieces: Sequence[ReplacedPiece]) -> str:
    """The exception that lets a part of an identifier, or a single word, stay in a surrogate; empty if there is none.

    `coincidence`: the surrogate replaces something else, which does not have the word. Entities that patients share,
    such as physicians and streets, have their surrogates before the next patient's names are known. `generic`: the
    maker of surrogates keeps words that say what a place or an institution is.
    """
    found = words(text[leak.start : leak.end])
    if not leak.part and (len(found) > 1 or not found[0].isalpha()):
        return ""
    piece = piece_around(pieces, leak.start, leak.end)
    if piece is None or piece.action is not Action.SURROGATE:
        return ""
    if not set(found) & set(words(note.text[piece.start : piece.end])):
        return COINCIDENCE
    return GENERIC if all(word in kept_words() for word in found) else ""


@cache
def kept_words() -> frozenset[str]:
    """The words that may stay in surrogates, because they name nobody, folded as the leak gate folds."""
    return frozenset(word for one in staying() for word in words(one))
