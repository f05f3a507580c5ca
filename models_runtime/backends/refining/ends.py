"""A logistic model that tells where an identifier begins and ends: an annotation may have a token too many or too few.

It learns from gold: the ends that gold has are right, and those a token or two away are wrong.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from annotations.text.spans import Bounds, Span, covered
from models_runtime.backends.notes import Note
from models_runtime.backends.refining.candidates import EDGE
from models_runtime.backends.refining.logistic import DecisionExample, Logistic, Vocabulary

NEAR: Final = 2
"""Ends at most so many tokens away are compared with the annotation's own."""


class Ends(NamedTuple):
    """The tokens of a stretch: the first one and the one after the last."""

    first: int
    past: int


def end_examples(note: Note, gold: Sequence[Span], vocabulary: Vocabulary) -> list[DecisionExample]:
    """What gold teaches about begins and ends."""
    found = []
    for span in gold:
        own = Ends(*covered(note.tokens, span.start, span.end))
        if own.first < own.past:
            found += [
                DecisionExample(vocabulary.add(_features(note, ends, span.label, last)), ends == own)
                for last in (False, True)
                for ends in _moved(note, own, last)
            ]
    return found


def _moved(note: Note, own: Ends, last: bool) -> Iterator[Ends]:
    """The stretch itself, and those whose first or last token is at most NEAR tokens away, in the same line."""
    edge = own.past - 1 if last else own.first
    for by in range(-NEAR, NEAR + 1):
        ends = Ends(own.first, own.past + by) if last else Ends(own.first + by, own.past)
        at = ends.past - 1 if last else ends.first
        if 0 <= ends.first < ends.past <= len(note.tokens) and note.positions[at].line == note.positions[edge].line:
            yield ends


def _features(note: Note, ends: Ends, label: str, last: bool) -> list[str]:
    """The features of a begin, or with `last` of an end: two tokens on each side, in the line of the inner one."""
    inner, outer, step = (ends.past - 1, ends.past, 1) if last else (ends.first, ends.first - 1, -1)
    words, positions = note.words, note.positions
    line = positions[inner].line
    near = [
        words[at] if 0 <= at < len(words) and positions[at].line == line else None
        for at in (inner - step, inner, outer, outer + step)
    ]
    ii, i, o, oo = [EDGE if one is None else one.norm for one in near]
    iis, is_, os, oos = [EDGE if one is None else one.short for one in near]
    letter = "e" if last else "b"
    side = f"{letter}|{label}"
    found = [
        side,
        f"{side} n={min(ends.past - ends.first, 5)}",
        f"{side} i={i}",
        f"{side} o={o}",
        f"{side} is={is_}",
        f"{side} os={os}",
        f"{side} i={ii} {i}",
        f"{side} o={o} {oo}",
        f"{side} io={i} {o}",
        f"{side} ios={is_} {os}",
        f"{side} iios={iis} {is_} {os}",
        f"{side} ioos={is_} {os} {oos}",
        f"{side} iio={ii} {i} {o}",
        f"{letter} io={i} {o}",
    ]
    if near[2] is not None:
        a, b = sorted((inner, outer))
        found.append(f"{side} gap={note.tokens[a].end == note.tokens[b].start}")
    return found


def end_chances(model: Logistic, note: Note, span: Span, last: bool) -> dict[Bounds, float]:
    """The probability that the begin (or with `last` the end) is right, for the span's bounds and those near it."""
    own = Ends(*covered(note.tokens, span.start, span.end))
    if own.first >= own.past:
        return {}
    found = {}
    for ends in _moved(note, own, last):
        if last:
            bounds = span.start, span.end if ends == own else note.tokens[ends.past - 1].end
        else:
            bounds = span.start if ends == own else note.tokens[ends.first].start, span.end
        found[bounds] = model.probability(_features(note, ends, span.label, last))
    return found
