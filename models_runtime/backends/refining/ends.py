"""A logistic model that tells where an identifier begins and ends: an annotation may have a token too many or too few.

It learns from gold: the ends that gold has are right, and those a token or two away are wrong. crfsuite fits it.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pycrfsuite

from annotations.domain.spans import Span
from annotations.domain.tokens import covered
from models_runtime.backends.notes.note import Note
from models_runtime.backends.refining.candidates import EDGE

NEAR: Final = 2
"""Ends at most so many tokens away are compared with the annotation's own."""
RIGHT, WRONG = "1", "0"
_PARAMS: Final[dict[str, Any]] = {"c1": 0.0, "c2": 0.3, "max_iterations": 60}


class Ends(NamedTuple):
    """The tokens of a stretch: the first one and the one after the last."""

    first: int
    past: int


EndExample = tuple[pycrfsuite.ItemSequence, str]
"""The features of a begin or an end, and whether it is right."""


def end_examples(note: Note, gold: Sequence[Span]) -> list[EndExample]:
    """What gold teaches about begins and ends, for `learn_ends`."""
    found = []
    for span in gold:
        own = Ends(*covered(note.tokens, span.start, span.end))
        if own.first < own.past:
            found += [
                (_items(note, ends, span.label, last), RIGHT if ends == own else WRONG)
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


def _items(note: Note, ends: Ends, label: str, last: bool) -> pycrfsuite.ItemSequence:
    inner, outer, step = (ends.past - 1, ends.past, 1) if last else (ends.first, ends.first - 1, -1)
    side = f"{'e' if last else 'b'}|{label}"

    def norm(at: int) -> str:
        line = note.positions[inner].line
        return note.words[at].norm if 0 <= at < len(note.words) and note.positions[at].line == line else EDGE

    def short(at: int) -> str:
        return EDGE if norm(at) == EDGE else note.words[at].short

    size = min(ends.past - ends.first, 5)
    found = [
        side,
        f"{side} n={size}",
        f"{side} i={norm(inner)}",
        f"{side} o={norm(outer)}",
        f"{side} is={short(inner)}",
        f"{side} os={short(outer)}",
        f"{side} i={norm(inner - step)} {norm(inner)}",
        f"{side} o={norm(outer)} {norm(outer + step)}",
        f"{side} io={norm(inner)} {norm(outer)}",
        f"{side} ios={short(inner)} {short(outer)}",
        f"{side} iios={short(inner - step)} {short(inner)} {short(outer)}",
        f"{side} ioos={short(inner)} {short(outer)} {short(outer + step)}",
        f"{side} iio={norm(inner - step)} {norm(inner)} {norm(outer)}",
        f"{'e' if last else 'b'} io={norm(inner)} {norm(outer)}",
    ]
    if norm(outer) != EDGE:
        a, b = sorted((inner, outer))
        found.append(f"{side} gap={note.text[note.tokens[a].end : note.tokens[b].start] == ''}")
    return pycrfsuite.ItemSequence([found])


class EndsModel:
    """Probabilities of begins and ends."""

    def __init__(self, file: Path) -> None:
        self._tagger = pycrfsuite.Tagger()
        self._tagger.open(str(file))

    def chances(self, note: Note, span: Span, last: bool) -> dict[tuple[int, int], float]:
        """The probability that the begin (or with `last` the end) is right, for the span's bounds and those near it."""
        own = Ends(*covered(note.tokens, span.start, span.end))
        if own.first >= own.past:
            return {}
        found = {}
        for ends in _moved(note, own, last):
            self._tagger.set(_items(note, ends, span.label, last))
            if last:
                bounds = span.start, span.end if ends == own else note.tokens[ends.past - 1].end
            else:
                bounds = span.start if ends == own else note.tokens[ends.first].start, span.end
            found[bounds] = self._tagger.marginal(RIGHT, 0)
        return found


def learn_ends(notes: Iterable[Sequence[EndExample]]) -> EndsModel:
    """Learn from the examples of notes, of which there is at least one. Deterministic."""
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", params=_PARAMS, verbose=False)
    for note in notes:
        for items, one in note:
            trainer.append(items, [one])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model")
        trainer.train(str(file))
        return EndsModel(file)
