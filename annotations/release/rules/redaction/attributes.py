"""The attributes of spans in a released text."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from annotations.release.rules.redaction.released import ReplacedPiece
from annotations.text.attributes import Attributes
from annotations.text.spans import Span


def attributes_of_pieces(pieces: Sequence[ReplacedPiece], spans: Iterable[Span]) -> list[Attributes]:
    """The attributes of each piece: those of the longest, then earliest span there that has the piece's label.

    `pieces` are those of one note, in order; `spans` are the annotations of the original.
    """
    ends = [piece.end for piece in pieces]
    found: list[Span | None] = [None] * len(pieces)
    for span in sorted(spans):
        at = bisect_right(ends, span.start)
        while at < len(pieces) and pieces[at].start < span.end:
            before = found[at]
            longer = before is None or span.end - span.start > before.end - before.start
            if longer and span.label == pieces[at].label:
                found[at] = span
            at += 1
    return [span.attributes if span else () for span in found]
