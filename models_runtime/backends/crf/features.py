"""What the CRF knows of each token: strings, as crfsuite takes them.

Affixes, shapes, windows and bigrams are the usual ones (E. F. Tjong Kim Sang and F. De Meulder, CoNLL-2003); header
fields, the document memory and what the rules say are what clinical notes add to them.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from annotations.domain.spans import Span
from models_runtime.backends.crf.alphabet import Alphabet, Places, Row, Table
from models_runtime.backends.notes.note import Note
from models_runtime.backends.notes.said import rule_tags

AROUND: Final = 4
NOTHING: Final = "_"
# How far from the token each kind of column looks.
NORMS: Final = (-4, -3, -2, -1, 1, 2, 3, 4)
SHAPES: Final = (-3, -2, -1, 1, 2, 3)
BESIDE: Final = (-1, 0, 1)
NORM_PAIRS: Final = (-2, -1, 0, 1)
SHAPE_PAIRS: Final = (-1, 0)

Lexicon = Mapping[str, Sequence[str]]
Columns = list[Places]


class Tables:
    """The feature strings of one model, by what each is made of. `lexicon`: what a word is known for."""

    def __init__(self, lexicon: Lexicon | None = None, known: frozenset[bytes] | None = None) -> None:
        letters, words = Alphabet(known), lexicon or {}
        row, only = letters.places, letters.only
        self.norms = Table[str, Places](lambda x: row(f"w{at}={x}" for at in NORMS))
        self.shapes = Table[str, Places](lambda x: row(f"s{at}={x}" for at in SHAPES))
        self.rules = Table[str, Places](lambda x: row(f"r{at}={x}" for at in BESIDE))
        self.norm_pairs = Table[tuple[str, str], Places](
            lambda x: row(f"w{at}w{at + 1}={x[0]}|{x[1]}" for at in NORM_PAIRS)
        )
        self.shape_pairs = Table[tuple[str, str], Places](
            lambda x: row(f"s{at}s{at + 1}={x[0]}|{x[1]}" for at in SHAPE_PAIRS)
        )
        self.three = Table[tuple[str, ...], Places](lambda x: row([f"s3={'|'.join(x)}"]))
        self.five = Table[tuple[str, ...], Places](lambda x: row([f"s5={'|'.join(x)}"]))
        self.own = Table[tuple[str, ...], Row](only)
        self.field = Table[tuple[str, int, str], Row](
            lambda x: only(("bias", f"f={x[0]}", f"f{x[1]}={x[0]}", f"fs={x[0]}|{x[2]}"))
        )
        self.start = Table[tuple[int, str, str], Row](
            lambda x: only((f"in={x[0]}", f"start={x[1]}", f"starts={x[1]}|{x[2]}"))
        )
        self.line = Table[tuple[str, int, int, int], Row](
            lambda x: only((f"before={x[0]}", f"top={x[1]}", f"bottom={x[2]}", f"length={x[3]}"))
        )
        self.edge = Table[tuple[bool, bool, bool, bool], Row](
            lambda x: only((f"glued={x[0]:d}{x[1]:d}", *["first"] * x[2], *["last"] * x[3]))
        )
        self.memory = Table[tuple[int, str], Row](lambda x: only([f"m{x[0]}={x[1]}"]))
        self.lexicon = Table[tuple[int, str], Row](lambda x: only(f"l{x[0]}={field}" for field in words.get(x[1], ())))


class Features:
    """The features of one note; `of` gives those of a stretch of its tokens. `said` are the rules' spans."""

    def __init__(self, note: Note, said: Sequence[Span], tables: Tables) -> None:
        self._note, self._tables = note, tables
        pad = [NOTHING] * AROUND
        self._norms = [*pad, *(word.norm for word in note.words), *pad]
        self._shapes = [*pad, *(word.shape for word in note.words), *pad]
        self._shorts = [*pad, *(word.short for word in note.words), *pad]
        self._rules = [*pad, *rule_tags(note, said), *pad]
        self._starts = [
            " ".join(word.lower for word in note.words[first : min(past, first + 2)]) for first, past in note.edges
        ]
        tokens = note.tokens
        # Whether nothing stands between a token and the one before it; one more for the end.
        self._glued = [False, *(one.end == two.start for one, two in pairwise(tokens)), False]

    def of(self, first: int, past: int) -> list[list[bytes]]:
        """For each token of the stretch its features."""
        return [
            [*marks, *filter(None, window)]
            for marks, window in zip(
                self._marks(first, past), zip(*self._columns(first, past), strict=True), strict=True
            )
        ]

    def _columns(self, first: int, past: int) -> Columns:
        """Windows, column by column: what a neighbour says is looked up once, and shifted."""
        tables, size = self._tables, past - first
        norms, shapes, shorts, rules = (
            values[first : past + 2 * AROUND] for values in (self._norms, self._shapes, self._shorts, self._rules)
        )
        columns = _shifted([tables.norms[x] for x in norms], NORMS, size)
        columns += _shifted([tables.shapes[x] for x in shapes], SHAPES, size)
        columns += _shifted([tables.rules[x] for x in rules], BESIDE, size)
        columns += _shifted([tables.norm_pairs[x] for x in pairwise(norms)], NORM_PAIRS, size)
        columns += _shifted([tables.shape_pairs[x] for x in pairwise(shapes)], SHAPE_PAIRS, size)
        columns += _shifted([tables.three[x] for x in _runs(shapes, 3)], (-1,), size)
        columns += _shifted([tables.five[x] for x in _runs(shorts, 5)], (-2,), size)
        return columns

    def _marks(self, first: int, past: int) -> Iterator[list[bytes]]:
        """What a token tells by itself and by its place: line, field, neighbours in the text, memory, lexicon."""
        note, tables = self._note, self._tables
        words, starts, glued = note.words, self._starts, self._glued
        lines = [self._line(number) for number in range(note.places[first].line, note.places[past - 1].line + 1)]
        number = note.places[first].line
        for at in range(first, past):
            line, into, field, since = note.places[at]
            begin, end = note.edges[line]
            word = words[at]
            yield [
                *tables.own[word.own],
                *tables.field[field, since, word.short],
                *tables.start[min(into, 9), starts[line], word.short],
                *lines[line - number],
                *tables.edge[glued[at], glued[at + 1], at == begin, at == end - 1],
                *(feature for beside in BESIDE for feature in self._known(at, beside)),
            ]

    def _line(self, line: int) -> Row:
        first, past = self._note.edges[line]
        before = self._starts[line - 1] if line else NOTHING
        below = len(self._note.edges) - 1 - line
        return self._tables.line[before, min(line, 20), min(below, 6), min((past - first) // 5, 6)]

    def _known(self, at: int, beside: int) -> Row:
        """What the note's memory and the lexicon say of the word there."""
        if not 0 <= at + beside < len(self._note.words):
            return ()
        lower, tables = self._note.words[at + beside].lower, self._tables
        found = tables.lexicon[beside, lower]
        if fields := self._note.memory.get(lower):
            return (*(each for field in fields for each in tables.memory[beside, field]), *found)
        return found


def _shifted(rows: Sequence[Places], shifts: Sequence[int], size: int) -> Columns:
    """Row `AROUND + at` is that of token `at`; column i is place i of the rows `shifts[i]` on, for `size` tokens."""
    return [
        column[AROUND + shift : AROUND + shift + size]
        for column, shift in zip(zip(*rows, strict=True), shifts, strict=True)
    ]


def _runs(values: Sequence[str], length: int) -> Iterator[tuple[str, ...]]:
    """Each value with those after it, `length` in all."""
    return zip(*(values[at:] for at in range(length)), strict=False)
