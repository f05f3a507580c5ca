"""Replace parts of an annotated text and move its spans along."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from annotations.text.spans import Span
from annotations.text.whitespace import trim


class Edit(NamedTuple):
    """Replace `text[start:end]` by `new`; code points, end-exclusive."""

    start: int
    end: int
    new: str


def edited(text: str, spans: Sequence[Span], edits: Sequence[Edit]) -> tuple[str, list[Span]]:
    """Apply edits, which are in order and don't overlap; returns the text and its spans, in order.

    A span that begins or ends inside an edit gets the whole new text of that edit. A span of which only white space
    remains is dropped, and white space at the ends of the others is left out if an edit cut them.
    """
    pieces: list[str] = []
    starts, shifts, at = [edit.start for edit in edits], [0], 0
    for start, end, new in edits:
        pieces += (text[at:start], new)
        at = end
        shifts.append(shifts[-1] + len(new) - (end - start))
    pieces.append(text[at:])
    result = "".join(pieces)

    def moved(offset: int, *, end: bool) -> int:
        # The last edit that begins before an end, or at or before a start.
        at = bisect_right(starts, offset - 1 if end else offset) - 1
        if at >= 0 and offset < edits[at].end:
            new_start = edits[at].start + shifts[at]
            return new_start + len(edits[at].new) if end else new_start
        return offset + shifts[at + 1]

    found = []
    for span in spans:
        first, past = moved(span.start, end=False), moved(span.end, end=True)
        if result[first:past] != text[span.start : span.end]:
            first, past = trim(result, first, past)
        if first < past:
            found.append(Span(first, past, span.label))
    return result, sorted(found)
