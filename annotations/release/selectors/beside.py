"""An original and its released text beside each other, line by line, with the stretches that correspond.

Between the replaced stretches both texts are equal. So a line break outside of them is in both, and ends a row.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from annotations.models import LeakFinding
from annotations.notes.selectors.in_context import LabelLook
from annotations.release.rules.redaction.offsets import span_to_released
from annotations.release.rules.redaction.policy import Action
from annotations.release.rules.redaction.released import ReplacedPiece
from annotations.text.segments import BREAK


@dataclass(frozen=True, slots=True)
class Marked:
    """A finding of the leak gate in the released text. `pk` is 0 in a preview, which stores nothing."""

    start: int
    end: int
    pk: int = 0
    decision: str = ""


@dataclass(frozen=True, slots=True)
class Bit:
    """A part of a line: plain text, or a stretch (`piece` is its number), or a finding, or both."""

    text: str
    piece: int | None = None
    action: Action | None = None
    look: LabelLook | None = None
    finding: Marked | None = None
    last: bool = True


@dataclass(frozen=True, slots=True)
class SideBySideLine:
    """A line, or several lines that a stretch joins. `number` is that of the first line, in the original.

    `same`: nothing in the row was replaced or found.
    """

    number: int
    same: bool
    before: Sequence[Bit]
    after: Sequence[Bit]


def stored_pieces(rows: Iterable[Sequence[int | str]]) -> list[ReplacedPiece]:
    """Pieces as ReleasedNote.pieces stores them."""
    return [
        ReplacedPiece(int(start), int(end), int(new_start), int(new_end), str(label), Action(str(action)))
        for start, end, new_start, new_end, label, action in rows
    ]


def stored_findings(findings: Iterable[LeakFinding], pieces: Sequence[ReplacedPiece]) -> list[Marked]:
    """Findings in the released text with these pieces, for display: what was replaced is marked in its new form."""
    marks = []
    for finding in findings:
        start, end = finding.start, finding.end
        if finding.decision == LeakFinding.Answer.REPLACE:
            start, end = span_to_released(pieces, finding.original_start, finding.original_end)
        if finding.where == LeakFinding.Where.TEXT and start < end:
            marks.append(Marked(start, end, finding.pk, finding.decision))
    return sorted(marks, key=lambda mark: (mark.start, mark.end))


def beside(
    text: str,
    released: str,
    pieces: Sequence[ReplacedPiece],
    findings: Sequence[Marked] = (),
    *,
    looks: Mapping[str, LabelLook],
) -> list[SideBySideLine]:
    """The rows of both texts. Offsets are code points, end-exclusive; pieces are in order and don't overlap."""
    rows: list[SideBySideLine] = []
    ordered = sorted(findings, key=lambda one: (one.start, one.end))
    at, new_at, begun, number = 0, 0, 0, 1
    for end, new_end, after, new_after in _breaks(text, released, pieces):
        ending = begun
        while ending < len(pieces) and pieces[ending].end <= end and pieces[ending].new_end <= new_end:
            ending += 1
        mine = list(enumerate(pieces))[begun:ending] if ending > begun else []
        found = [one for one in ordered if one.start < new_end and new_at < one.end]
        before = _bits(text, at, end, [(n, piece, piece.start, piece.end) for n, piece in mine], (), looks)
        replaced = [(n, piece, piece.new_start, piece.new_end) for n, piece in mine]
        new = _bits(released, new_at, new_end, replaced, found, looks)
        rows.append(SideBySideLine(number, not mine and not found, before, new))
        number += sum(1 for _break in BREAK.finditer(text, at, after))
        at, new_at, begun = after, new_after, ending
    return rows


def _breaks(text: str, released: str, pieces: Sequence[ReplacedPiece]) -> Iterable[tuple[int, int, int, int]]:
    """The end of each row in both texts, and where the next row begins."""
    at, new_at = 0, 0
    for piece in pieces:
        for match in BREAK.finditer(text, at, piece.start):
            moved = new_at - at
            yield match.start(), match.start() + moved, match.end(), match.end() + moved
        at, new_at = piece.end, piece.new_end
    for match in BREAK.finditer(text, at):
        moved = new_at - at
        yield match.start(), match.start() + moved, match.end(), match.end() + moved
    yield len(text), len(released), len(text), len(released)


def _bits(
    text: str,
    start: int,
    end: int,
    pieces: Sequence[tuple[int, ReplacedPiece, int, int]],
    findings: Sequence[Marked],
    looks: Mapping[str, LabelLook],
) -> list[Bit]:
    bits: list[Bit] = []
    at = start
    for number, piece, low, high in pieces:
        bits += _cut(text, at, low, findings)
        look = looks.get(piece.label) or LabelLook(piece.label, piece.label)
        inside = _cut(text, low, high, findings) or [Bit("")]
        for position, bit in enumerate(inside):
            last = position == len(inside) - 1
            bits.append(Bit(bit.text, number, piece.action, look, bit.finding, last))
        at = high
    return bits + _cut(text, at, end, findings)


def _cut(text: str, start: int, end: int, findings: Sequence[Marked]) -> list[Bit]:
    """`text[start:end]`, cut where a finding begins or ends. Of overlapping findings, the first is shown."""
    bits: list[Bit] = []
    at = start
    for finding in findings:
        low, high = max(finding.start, at), min(finding.end, end)
        if low >= high:
            continue
        if low > at:
            bits.append(Bit(text[at:low]))
        bits.append(Bit(text[low:high], finding=finding))
        at = high
    if at < end:
        bits.append(Bit(text[at:end]))
    return bits
