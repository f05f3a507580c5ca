"""Places in a note and in its released text that correspond, in both directions.

Outside the pieces the map is exact. Inside a piece no place corresponds to another, so a start goes to the start of the
piece, and an end to its end. Offsets are code points, end-exclusive.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import attrgetter

from annotations.release.rules.redaction.released import ReplacedPiece
from annotations.text.spans import Bounds

_start: Callable[[ReplacedPiece], int] = attrgetter("start")
_new_start: Callable[[ReplacedPiece], int] = attrgetter("new_start")


def to_released(pieces: Sequence[ReplacedPiece], offset: int) -> int:
    """The place in the released text of an offset in the note; inside a piece, the start of the piece."""
    at = bisect_right(pieces, offset, key=_start) - 1
    if at < 0:
        return offset
    piece = pieces[at]
    return piece.new_start if offset < piece.end else offset - piece.end + piece.new_end


def to_original(pieces: Sequence[ReplacedPiece], offset: int) -> int:
    """The place in the note of an offset in the released text; inside a piece, the start of the piece.

    Where text was removed, several places of the note correspond to the offset: it is the one after the removed text.
    """
    at = bisect_right(pieces, offset, key=_new_start) - 1
    if at < 0:
        return offset
    piece = pieces[at]
    return piece.start if offset < piece.new_end else offset - piece.new_end + piece.end


def span_to_released(pieces: Sequence[ReplacedPiece], start: int, end: int) -> Bounds:
    """The bounds in the released text of a span of the note. A span that touches a piece's inside covers all of it.

    The result is empty if everything in the span was removed.
    """
    return to_released(pieces, start), max(to_released(pieces, start), _end_to_released(pieces, end))


def span_to_original(pieces: Sequence[ReplacedPiece], start: int, end: int) -> Bounds:
    """The bounds in the note of a span of the released text. A span that touches a piece's inside covers all of it."""
    if start == end:
        return to_original(pieces, start), to_original(pieces, start)
    return to_original(pieces, start), _end_to_original(pieces, end)


def piece_around(pieces: Sequence[ReplacedPiece], start: int, end: int) -> ReplacedPiece | None:
    """The piece that has all of this span of the released text; None if there is none."""
    at = bisect_right(pieces, start, key=_new_start) - 1
    return pieces[at] if at >= 0 and end <= pieces[at].new_end else None


def _end_to_released(pieces: Sequence[ReplacedPiece], end: int) -> int:
    """An end belongs to the character before it."""
    at = bisect_right(pieces, end - 1, key=_start) - 1
    if at < 0:
        return end
    piece = pieces[at]
    return piece.new_end if end <= piece.end else end - piece.end + piece.new_end


def _end_to_original(pieces: Sequence[ReplacedPiece], end: int) -> int:
    at = bisect_right(pieces, end - 1, key=_new_start) - 1
    if at < 0:
        return end
    piece = pieces[at]
    return piece.end if end <= piece.new_end else end - piece.new_end + piece.end
