"""Discontinuous spans: the pieces of a span that a line break cut, and all others."""

from collections.abc import Sequence
from itertools import pairwise

from annotations.text.characters import WHITE_SPACE
from annotations.text.segments import BREAK
from annotations.text.spans import Bounds


def first_gap(text: str, pieces: Sequence[Bounds]) -> Bounds | None:
    """The first gap between pieces that makes a span discontinuous; None if the pieces are one span.

    Between the pieces of one span there is only white space with a line break. Bounds are code points.
    """
    for (_, end), (start, _) in pairwise(pieces):
        gap = text[end:start]
        if not BREAK.search(gap) or any(character not in WHITE_SPACE for character in gap):
            return end, start
    return None


def joined(text: str, pieces: Sequence[Bounds]) -> list[Bounds]:
    """The spans that pieces make, in order: more than one if they are discontinuous. Touching pieces are one span."""
    spans = [pieces[0]]
    for piece in pieces[1:]:
        if spans[-1][1] == piece[0] or not first_gap(text, [spans[-1], piece]):
            spans[-1] = (spans[-1][0], piece[1])
        else:
            spans.append(piece)
    return spans


def split_message(count: int) -> str:
    """The warning for a discontinuous span of which each part is imported."""
    return f"The span has {count} parts with other text between them. Each part was imported as a span of its own."
