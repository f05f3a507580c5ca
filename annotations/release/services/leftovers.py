"""Identifiers that no label covers: the patient's known ones in every spelling, and what looks like an identifier."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Final

from annotations.domain.knowing.mention import Mention
from annotations.domain.leaks.gate import KEPT, Gate, Leak
from annotations.domain.leaks.needles import Needle
from annotations.domain.leaks.shapes import telephones
from annotations.domain.redaction.kinds import Kind
from annotations.domain.redaction.offsets import span_to_released
from annotations.domain.redaction.policy import Action
from annotations.domain.redaction.released import Piece, Released
from annotations.domain.spans import Bounds
from annotations.domain.surrogates.checking import unreserved
from annotations.models import LeakFinding

Origin = LeakFinding.Origin
_BARRIER: Final = "\0"


def known_leaks(
    text: str,
    mentions: Iterable[Mention],
    released: Released,
    gate: Gate,
    labels: Mapping[Kind, str],
    kept: frozenset[str],
    exceptions: Counter[str],
) -> list[Leak]:
    """The mentions of known identifiers in the original `text` that the release doesn't replace, or their rest.

    `labels`: the label of each kind; `kept`: the labels that the policy keeps. What stays of a mention is a leak unless
    an exception lets it stay, which is counted.
    """
    leaks = []
    replaced = [piece for piece in released.pieces if piece.action is not Action.KEEP]
    first = 0
    for mention in mentions:
        while first < len(replaced) and replaced[first].end <= mention.start:
            first += 1
        label = labels.get(mention.kind, "")
        for start, end in _uncovered(text, mention, replaced, first):
            needle = Needle(text[start:end], label, mention.kind, Origin.KNOWN)
            exception = KEPT if label and label in kept else gate.exception_of(needle)
            if exception:
                exceptions[exception] += 1
            else:
                part = (start, end) != (mention.start, mention.end)
                leaks.append(Leak(*span_to_released(released.pieces, start, end), needle, part))
    return leaks


def _uncovered(text: str, mention: Mention, replaced: Sequence[Piece], first: int) -> Iterable[Bounds]:
    """What no piece, from number `first` on, replaces of a mention. It begins and ends with letters, digits, or as the
    mention does.
    """
    cuts = [mention.start]
    for at in range(first, len(replaced)):
        piece = replaced[at]
        if piece.start >= mention.end:
            break
        cuts += (max(piece.start, mention.start), min(piece.end, mention.end))
    cuts.append(mention.end)
    for start, end in zip(cuts[::2], cuts[1::2], strict=True):
        while mention.start < start < end and not text[start].isalnum():
            start += 1
        while start < end < mention.end and not text[end - 1].isalnum():
            end -= 1
        if start < end:
            yield start, end


def shape_leaks(released: Released, gate: Gate, labels: Mapping[Kind, str], exceptions: Counter[str]) -> list[Leak]:
    """E-mail addresses, web addresses and telephone numbers in the released text outside of its pieces."""
    text = _outside(released)
    found = [(bounds, Kind.PHONE) for bounds in telephones(text)]
    if _has_address(text):
        found += ((place, Kind.EMAIL if "@" in text[slice(*place)] else Kind.URL) for place in unreserved(text))
    leaks: list[Leak] = []
    for (start, end), kind in sorted(found, key=lambda one: (one[0][0], -one[0][1])):
        needle = Needle(text[start:end], labels.get(kind, ""), kind, Origin.SHAPE)
        exception = gate.exception_of(needle)
        if exception:
            exceptions[exception] += 1
        elif not leaks or start >= leaks[-1].end:
            leaks.append(Leak(start, end, needle, part=False))
    return leaks


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
