"""Self-training: labels that a model or several runs gave to notes without gold, and where these labels are sure.

A line of such a note is learned from only if every label in it, and every stretch without a label, is sure. The method
is self-training (Yarowsky 1995) with labels of one model, and co-training (Blum and Mitchell 1998) with labels on which
several models agree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from annotations.domain.spans import Bounds, Span
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
    out: set[int] = set()
    pending, kept = list(unsure), list(sure)
    while pending:
        for span in pending:
            out.update(at for at, (start, end) in enumerate(lines) if span.start < end and start < span.end)
        cut = [lines[at] for at in sorted(out)]
        pending = [span for span in kept if any(span.start < end and start < span.end for start, end in cut)]
        kept = [span for span in kept if span not in pending]
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


def _lines(text: str) -> list[Bounds]:
    """The bounds of the lines with their line breaks; together they are the whole text."""
    found, at = [], 0
    for line in text.splitlines(keepends=True):
        found.append((at, at + len(line)))
        at += len(line)
    return found
