"""The CRF's features of each token, as strings for crfsuite.

Affixes, shapes, windows and bigrams are common in named entity recognition (Tjong Kim Sang and De Meulder 2003). Header
fields, the document memory and the tags of the rules are specific to clinical notes. In a training from an earlier
model, that model's spans are features too (the method PRED of Daumé III 2007).
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from annotations.domain.spans import Span
from models_runtime.backends.notes.note import Note, Word
from models_runtime.backends.notes.rule_tags import rule_tags, tagged_spans

AROUND: Final = 4
NOTHING: Final = "_"
# The neighbors that each family of features looks at.
HERE: Final = (0,)
ADJACENT: Final = (-1, 0, 1)
NORMS: Final = (-4, -3, -2, -1, 1, 2, 3, 4)
SHAPES: Final = (-3, -2, -1, 1, 2, 3)
NORM_PAIRS: Final = (-2, -1, 0, 1)
SHAPE_PAIRS: Final = (-1, 0)

Lexicon = Mapping[str, Sequence[str]]
Column = Sequence[Hashable]
"""One key per token, padded with AROUND keys at each end."""


@dataclass(frozen=True, slots=True)
class Family:
    """A family of features. A token gets the features of the keys at the distances `shifts` from it. `spell` gives the
    features of a key for each shift."""

    shifts: tuple[int, ...]
    spell: Callable[[Any], Sequence[Sequence[str]]]

    def reach(self, column: Column, size: int) -> Column:
        """The keys that `size` tokens look at, beginning with the first token's key at the first shift."""
        return column[AROUND + self.shifts[0] : AROUND + size + self.shifts[-1]]


def families(lexicon: Lexicon, *, staged: bool = False) -> tuple[Family, ...]:
    """All families, in the order of the columns of `Features`. `lexicon`: the header fields of each word.

    `staged`: with the features from the spans of an earlier model.
    """

    def known(key: str | tuple[str, tuple[str, ...]]) -> list[list[str]]:
        lower, fields = (key, ()) if isinstance(key, str) else key
        found = lexicon.get(lower, ())
        return [[*(f"m{at}={field}" for field in fields), *(f"l{at}={field}" for field in found)] for at in ADJACENT]

    return (
        Family(HERE, _own),
        Family(HERE, lambda x: [["bias", f"f={x[0]}", f"f{x[1]}={x[0]}", f"fs={x[0]}|{x[2]}"]]),
        Family(HERE, lambda x: [[f"in={x[0]}", f"start={x[1]}", f"starts={x[1]}|{x[2]}"]]),
        Family(HERE, lambda x: [[f"before={x[0]}", f"top={x[1]}", f"bottom={x[2]}", f"length={x[3]}"]]),
        Family(HERE, lambda x: [[f"glued={x >> 3 & 1}{x >> 2 & 1}", *["first"] * (x >> 1 & 1), *["last"] * (x & 1)]]),
        Family(ADJACENT, known),
        Family(NORMS, lambda x: [[f"w{at}={x}"] for at in NORMS]),
        Family(SHAPES, lambda x: [[f"s{at}={x}"] for at in SHAPES]),
        Family(ADJACENT, lambda x: [[f"r{at}={x}"] for at in ADJACENT]),
        Family(NORM_PAIRS, lambda x: [[f"w{at}w{at + 1}={x[0]}|{x[1]}"] for at in NORM_PAIRS]),
        Family(SHAPE_PAIRS, lambda x: [[f"s{at}s{at + 1}={x[0]}|{x[1]}"] for at in SHAPE_PAIRS]),
        Family((-1,), lambda x: [[f"s3={'|'.join(x)}"]]),
        Family((-2,), lambda x: [[f"s5={'|'.join(x)}"]]),
        *(_OF_EARLIER if staged else ()),
    )


_OF_EARLIER: Final = (
    Family(ADJACENT, lambda x: [[f"p{at}={x}"] for at in ADJACENT]),
    Family(HERE, lambda x: [[f"pc={x[0]}|{x[1]}"]]),
)


def _own(word: Word | None) -> list[tuple[str, ...]]:
    return [word.own if word else ()]


class Features:
    """The keys of a note, one column per family.

    `rule_spans`: the spans of the rules. `earlier`: the spans of the earlier model, for families that are staged.
    """

    def __init__(self, note: Note, rule_spans: Sequence[Span], earlier: Sequence[Span] | None = None) -> None:
        words, memory = note.words, note.memory
        norms = _padded([word.norm for word in words], NOTHING)
        shapes = _padded([word.shape for word in words], NOTHING)
        shorts = _padded([word.short for word in words], NOTHING)
        self._columns: tuple[Column, ...] = (
            _padded(words, None),
            *(_padded(column, None) for column in _positional(note)),
            _padded([(word.lower, memory[word.lower]) if word.lower in memory else word.lower for word in words], ""),
            norms,
            shapes,
            _padded(rule_tags(note, rule_spans), NOTHING),
            list(pairwise(norms)),
            list(pairwise(shapes)),
            list(_runs(shapes, 3)),
            list(_runs(shorts, 5)),
            *(() if earlier is None else _of_earlier(note, earlier)),
        )

    def of(self, first: int, past: int) -> list[Column]:
        """The columns of a sequence of tokens. Columns of pairs and longer runs are shorter by the run's length."""
        return [column[first : past + 2 * AROUND] for column in self._columns]


def _padded(column: Sequence[Any], nothing: Any) -> list[Any]:
    return [*[nothing] * AROUND, *column, *[nothing] * AROUND]


def _positional(note: Note) -> tuple[list[Any], ...]:
    """Keys from a token's position: its header field, the start of its line, the line in the note, its neighbors."""
    edges, words = note.edges, note.words
    starts = [" ".join(word.lower for word in words[first : min(past, first + 2)]) for first, past in edges]
    fields, begins, lines, ends = [], [], [], []
    # Whether a token directly follows the one before it; one more value for the end.
    glued = [False, *(one.end == two.start for one, two in pairwise(note.tokens)), False]
    for number, (first, past) in enumerate(edges):
        start, before = starts[number], starts[number - 1] if number else NOTHING
        below = len(edges) - 1 - number
        lines += [(before, min(number, 20), min(below, 6), min((past - first) // 5, 6))] * (past - first)
        for at in range(first, past):
            short, (_, into, field, since) = words[at].short, note.positions[at]
            fields.append((field, since, short))
            begins.append((min(into, 9), start, short))
            ends.append(glued[at] << 3 | glued[at + 1] << 2 | (at == first) << 1 | (at == past - 1))
    return fields, begins, lines, ends


def _of_earlier(note: Note, spans: Sequence[Span]) -> tuple[Column, Column]:
    """The tags of the earlier model's spans, and the tags with the tenth in which the span's confidence is."""
    tags = tagged_spans(note, spans)
    tenths = [(tag, int((span.confidence or 0) * 10) if span else 0) for tag, span in tags]
    return _padded([tag for tag, _ in tags], NOTHING), _padded(tenths, None)


def _runs(values: Sequence[str], length: int) -> Iterator[tuple[str, ...]]:
    """Runs of `length` consecutive values."""
    return zip(*(values[at:] for at in range(length)), strict=False)
