"""What the CRF knows of each token: strings, as crfsuite learns them.

Affixes, shapes, windows and bigrams are the usual ones (E. F. Tjong Kim Sang and F. De Meulder, CoNLL-2003); header
fields, the document memory and what the rules say are what clinical notes add to them.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from annotations.domain.spans import Span
from models_runtime.backends.notes.note import Note, Word
from models_runtime.backends.notes.said import rule_tags

AROUND: Final = 4
NOTHING: Final = "_"
# How far from the token each kind of feature looks.
HERE: Final = (0,)
BESIDE: Final = (-1, 0, 1)
NORMS: Final = (-4, -3, -2, -1, 1, 2, 3, 4)
SHAPES: Final = (-3, -2, -1, 1, 2, 3)
NORM_PAIRS: Final = (-2, -1, 0, 1)
SHAPE_PAIRS: Final = (-1, 0)

Lexicon = Mapping[str, Sequence[str]]
Column = Sequence[Hashable]
"""A key for each token, with AROUND more before the first one and after the last."""


@dataclass(frozen=True, slots=True)
class Family:
    """Features that one key stands for. A token has those of the keys that stand `shifts` on from it: `spell` gives the
    features of a key for each shift."""

    shifts: tuple[int, ...]
    spell: Callable[[Any], Sequence[Sequence[str]]]

    def reach(self, column: Column, size: int) -> Column:
        """The keys that `size` tokens look at, from that of the first token at the first shift on."""
        return column[AROUND + self.shifts[0] : AROUND + size + self.shifts[-1]]


def families(lexicon: Lexicon) -> tuple[Family, ...]:
    """All there are, in the order of the columns of `Features`. `lexicon`: what a word is known for."""

    def known(key: str | tuple[str, tuple[str, ...]]) -> list[list[str]]:
        lower, fields = (key, ()) if isinstance(key, str) else key
        found = lexicon.get(lower, ())
        return [[*(f"m{at}={field}" for field in fields), *(f"l{at}={field}" for field in found)] for at in BESIDE]

    return (
        Family(HERE, _own),
        Family(HERE, lambda x: [["bias", f"f={x[0]}", f"f{x[1]}={x[0]}", f"fs={x[0]}|{x[2]}"]]),
        Family(HERE, lambda x: [[f"in={x[0]}", f"start={x[1]}", f"starts={x[1]}|{x[2]}"]]),
        Family(HERE, lambda x: [[f"before={x[0]}", f"top={x[1]}", f"bottom={x[2]}", f"length={x[3]}"]]),
        Family(HERE, lambda x: [[f"glued={x >> 3 & 1}{x >> 2 & 1}", *["first"] * (x >> 1 & 1), *["last"] * (x & 1)]]),
        Family(BESIDE, known),
        Family(NORMS, lambda x: [[f"w{at}={x}"] for at in NORMS]),
        Family(SHAPES, lambda x: [[f"s{at}={x}"] for at in SHAPES]),
        Family(BESIDE, lambda x: [[f"r{at}={x}"] for at in BESIDE]),
        Family(NORM_PAIRS, lambda x: [[f"w{at}w{at + 1}={x[0]}|{x[1]}"] for at in NORM_PAIRS]),
        Family(SHAPE_PAIRS, lambda x: [[f"s{at}s{at + 1}={x[0]}|{x[1]}"] for at in SHAPE_PAIRS]),
        Family((-1,), lambda x: [[f"s3={'|'.join(x)}"]]),
        Family((-2,), lambda x: [[f"s5={'|'.join(x)}"]]),
    )


def _own(word: Word | None) -> list[tuple[str, ...]]:
    return [word.own if word else ()]


class Features:
    """The keys of one note, a column for each family. `said` are the rules' spans."""

    def __init__(self, note: Note, said: Sequence[Span]) -> None:
        words, memory = note.words, note.memory
        norms = _padded([word.norm for word in words], NOTHING)
        shapes = _padded([word.shape for word in words], NOTHING)
        shorts = _padded([word.short for word in words], NOTHING)
        self._columns: tuple[Column, ...] = (
            _padded(words, None),
            *(_padded(column, None) for column in _placed(note)),
            _padded([(word.lower, memory[word.lower]) if word.lower in memory else word.lower for word in words], ""),
            norms,
            shapes,
            _padded(rule_tags(note, said), NOTHING),
            list(pairwise(norms)),
            list(pairwise(shapes)),
            list(_runs(shapes, 3)),
            list(_runs(shorts, 5)),
        )

    def of(self, first: int, past: int) -> list[Column]:
        """Of a stretch of tokens the columns. Those of pairs and of longer runs end so much earlier."""
        return [column[first : past + 2 * AROUND] for column in self._columns]


def _padded(column: Sequence[Any], nothing: Any) -> list[Any]:
    return [*[nothing] * AROUND, *column, *[nothing] * AROUND]


def _placed(note: Note) -> tuple[list[Any], ...]:
    """What the place of a token tells: its header field, the start of its line, the line in the note, its edges."""
    edges, words = note.edges, note.words
    starts = [" ".join(word.lower for word in words[first : min(past, first + 2)]) for first, past in edges]
    fields, begins, lines, ends = [], [], [], []
    # Whether nothing stands between a token and the one before it; one more for the end.
    glued = [False, *(one.end == two.start for one, two in pairwise(note.tokens)), False]
    for number, (first, past) in enumerate(edges):
        start, before = starts[number], starts[number - 1] if number else NOTHING
        below = len(edges) - 1 - number
        lines += [(before, min(number, 20), min(below, 6), min((past - first) // 5, 6))] * (past - first)
        for at in range(first, past):
            short, (_, into, field, since) = words[at].short, note.places[at]
            fields.append((field, since, short))
            begins.append((min(into, 9), start, short))
            ends.append(glued[at] << 3 | glued[at + 1] << 2 | (at == first) << 1 | (at == past - 1))
    return fields, begins, lines, ends


def _runs(values: Sequence[str], length: int) -> Iterator[tuple[str, ...]]:
    """Each value with those after it, `length` in all."""
    return zip(*(values[at:] for at in range(length)), strict=False)
