"""The text that an auditor reads: the released text with at most one planted leak, and its places in the original.

A planted leak is an identifier of the same note, shown in place of what the release wrote instead. It looks like any
other text that the release left as it was. Offsets are code points, end-exclusive.
"""

import re
from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum

from annotations.release.rules.redaction.policy import Action
from annotations.release.rules.redaction.released import Pieces, ReplacedPiece
from annotations.text.spans import Bounds, tokenize

_NUMBER = re.compile(r"[0-9]+(?=\D?$)")  # "[NAME 2]"
# Shorter words beside a planted leak are titles or prepositions, and no leak of their own.
_WORD = 4


class PartKind(StrEnum):
    """What a part of the shown text is: as in the original, replaced, or kept because the policy keeps its label."""

    SAME = "same"
    REPLACED = "replaced"
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class AuditedPart:
    """A part of the shown text and of the original. `label` is the code of a replaced or kept identifier."""

    start: int
    end: int
    original_start: int
    original_end: int
    kind: PartKind
    label: str = ""


def can_plant(original: str, released: str, piece: ReplacedPiece) -> bool:
    """Whether the release replaced the piece, so that its identifier can be planted."""
    words = original[piece.start : piece.end]
    return (
        piece.action != Action.KEEP
        and any(character.isalnum() for character in words)
        and words != released[piece.new_start : piece.new_end]
    )


class AuditedText:
    """The shown text of a note. `planted` are the bounds of the planted identifier in the original, if there is one.

    Masks of the labels in `numbered` are numbered anew beside it: a gap would say that a name is missing.
    """

    def __init__(
        self,
        original: str,
        released: str,
        pieces: Pieces,
        planted: Bounds | None = None,
        numbered: Collection[str] = (),
    ) -> None:
        self._original = original
        self.planted: Bounds | None = None
        self.parts: list[AuditedPart] = []
        texts: list[str] = []
        numbers: dict[str, dict[str, int]] = {label: {} for label in numbered}
        at = shown = 0

        def add(text: str, end: int, kind: PartKind, label: str = "") -> None:
            nonlocal at, shown
            part = AuditedPart(shown, shown + len(text), at, end, kind, label)
            if self.parts and self.parts[-1].kind == kind == PartKind.SAME:
                # Their border would give a planted leak away.
                self.parts[-1] = replace(self.parts[-1], end=part.end, original_end=end)
            elif text or end > at:
                self.parts.append(part)
            texts.append(text)
            at, shown = end, part.end

        for piece in pieces:
            add(original[at : piece.start], piece.start, PartKind.SAME)
            own = original[piece.start : piece.end]
            if (piece.start, piece.end) == planted:
                self.planted = planted
                add(own, piece.end, PartKind.SAME)
                continue
            new = released[piece.new_start : piece.new_end]
            if planted and piece.action == Action.MASK and piece.label in numbers:
                new = _renumbered(new, numbers[piece.label])
            kept = piece.action == Action.KEEP and new == own
            add(new, piece.end, PartKind.KEPT if kept else PartKind.REPLACED, piece.label)
        add(original[at:], len(original), PartKind.SAME)
        self._starts = [part.start for part in self.parts]
        self.text = "".join(texts)

    def to_original(self, start: int, end: int) -> tuple[int, int]:
        """Bounds in the original of a stretch of the shown text. Replaced parts count as a whole.

        Raises ValueError for an empty stretch and outside the text.
        """
        if not 0 <= start < end <= len(self.text):
            raise ValueError("The stretch is empty or leaves the text.")
        first, last = self._part_at(start), self._part_at(end - 1)
        return (
            first.original_start + (0 if first.kind == PartKind.REPLACED else start - first.start),
            last.original_end if last.kind == PartKind.REPLACED else last.original_start + end - last.start,
        )

    def to_shown(self, start: int, end: int) -> tuple[int, int]:
        """Bounds in the shown text of a stretch of the original. Replaced parts count as a whole."""
        touching = [part for part in self.parts if part.original_start < end and start < part.original_end]
        first, last = touching[0], touching[-1]
        return (
            first.start + (0 if first.kind == PartKind.REPLACED else max(0, start - first.original_start)),
            last.end if last.kind == PartKind.REPLACED else min(last.end, last.start + end - last.original_start),
        )

    def is_replaced(self, start: int, end: int) -> bool:
        """Whether a stretch of the original has no letter or digit that the shown text still has."""
        return not any(
            character.isalnum()
            for part in self.parts
            if part.kind != PartKind.REPLACED
            for character in self._original[max(start, part.original_start) : min(end, part.original_end)]
        )

    def finds_planted(self, start: int, end: int) -> bool:
        """Whether a marked stretch of the original overlaps the planted leak."""
        return self.planted is not None and self.planted[0] < end and start < self.planted[1]

    def is_leak(self, start: int, end: int) -> bool:
        """Whether a marked stretch of the original is a leak of the release, and not only a planted one.

        Beside a planted leak, only numbers and words of at least four letters count: "Dr." does not.
        """
        if not self.finds_planted(start, end):
            return True
        return any(
            (end_ - start_ >= _WORD or self._original[start_:end_].isdecimal())
            and not self.finds_planted(start_, end_)
            and not self.is_replaced(start_, end_)
            for start_, end_ in (
                (start + token.start, start + token.end) for token in tokenize(self._original[start:end])
            )
            if self._original[start_:end_].isalnum()
        )

    def _part_at(self, offset: int) -> AuditedPart:
        return self.parts[bisect_right(self._starts, offset) - 1]


def _renumbered(mask: str, numbers: dict[str, int]) -> str:
    """The mask with the new number of its old one. A number that is new gets the next one."""
    return _NUMBER.sub(lambda found: str(numbers.setdefault(found[0], len(numbers) + 1)), mask)
