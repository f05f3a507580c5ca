"""Self-training: labels that a model or several runs gave to notes without gold, and where these labels are sure.

A line of such a note is learned from only if every label in it, and every stretch without a label, is sure. The method
is self-training (Yarowsky 1995) with labels of one model, and co-training (Blum and Mitchell 1998) with labels on which
several models agree.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from annotations.text.spans import Bounds, Span
from models_runtime.backends.marginals import ABOVE, GivesMarginals, is_added, spans_above

# The probability from which a label, or a token without one, is sure.
SURE: Final = 0.95
# The weight of a token of these notes in the loss; a token of a gold note has the weight 1.
WEIGHT: Final = 0.5


@dataclass(frozen=True)
class SelfLabeled:
    """A note without gold: its text, the labels that it was given, and the stretches of whole lines to learn from."""

    text: str
    spans: Sequence[Span]
    sure: Sequence[Bounds]


def self_labeled(text: str, sure: Sequence[Span], unsure: Sequence[Span]) -> SelfLabeled | None:
    """The note with its sure spans and the lines that no unsure span touches; None if there is no such line.

    A sure span that touches a left-out line is left out with all its lines, so that no part of a span is learned from.
    """
    lines = _lines(text)
    starts = [start for start, _ in lines]
    # The lines that each span touches. A span is gone through once for each of its lines.
    touched: dict[int, list[int]] = {}
    for number, span in enumerate(sure):
        for at in _lines_of(span, starts):
            touched.setdefault(at, []).append(number)
    out: set[int] = set()
    left_out: set[int] = set()
    pending = list(unsure)
    while pending:
        new = {at for span in pending for at in _lines_of(span, starts)} - out
        out |= new
        reached = {number for at in new for number in touched.get(at, ())} - left_out
        left_out |= reached
        pending = [sure[number] for number in sorted(reached)]
    kept = [span for number, span in enumerate(sure) if number not in left_out]
    found: list[Bounds] = []
    for at, (start, end) in enumerate(lines):
        if at in out:
            continue
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return SelfLabeled(text, kept, found) if any(text[start:end].strip() for start, end in found) else None


def labeled_by(backend: GivesMarginals, text: str) -> SelfLabeled | None:
    """The note as the backend labels it: sure where its probability of each token's label, or of none, is SURE."""
    (marked,) = backend.predict_marginals([text])
    found = spans_above(text, marked, 1 - SURE, ABOVE)
    unsure = [span for span in found if not is_sure(span)]
    return self_labeled(text, [span for span in found if is_sure(span)], unsure)


def is_sure(span: Span) -> bool:
    """Whether the span is on the best path and sure."""
    return not is_added(span.source) and (span.confidence is None or span.confidence >= SURE)


def _lines_of(span: Span, starts: Sequence[int]) -> range:
    """The indexes of the lines that a span touches. `starts`: where the lines start."""
    return range(bisect_right(starts, span.start) - 1, bisect_left(starts, span.end))


def _lines(text: str) -> list[Bounds]:
    """The bounds of the lines with their line breaks; together they are the whole text."""
    found, at = [], 0
    for line in text.splitlines(keepends=True):
        found.append((at, at + len(line)))
        at += len(line)
    return found
