"""What an auditor sees of a note."""

from annotations.models import AuditNote, ReleasedNote
from annotations.release.rules.audits.shown import Bounds, Shown
from annotations.release.rules.redaction.policy import Action
from annotations.release.rules.redaction.released import Piece


def pieces_of(note: ReleasedNote) -> list[Piece]:
    """The replaced and kept stretches of a released note."""
    return [
        Piece(start, end, new_start, new_end, label, Action(action))
        for start, end, new_start, new_end, label, action in note.pieces
    ]


def shown_of(row: AuditNote) -> Shown:
    """The text that an auditor reads, with its planted leak. A release that was prepared again may have lost that."""
    planted, numbered = None, []
    if row.planted_start is not None and row.planted_end is not None:
        planted = Bounds(row.planted_start, row.planted_end)
        numbered = [code for code, rule in row.plan.release.policy.rules.items() if rule.get("numbered")]
    return Shown(row.note.document.text, row.note.text, pieces_of(row.note), planted, numbered)
