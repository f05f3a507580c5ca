"""The CRF's features of each token, as strings for crfsuite.

Affixes, shapes, windows and bigrams are common in named entity recognition (Tjong Kim Sang and De Meulder 2003). Header
fields, the document memory and the tags of the rules are specific to clinical notes. In a training from an earlier
model, that model's spans are features too (the method PRED of Daumé III 2007).
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from annotations.text.spans import Span
from models_runtime.backends.notes import FURTHEST, Note, touching
from models_runtime.backends.rule_tags import rule_tags, tagged_spans

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
Spelled = Sequence[Sequence[str]]
"""The features of a key, for each of the tokens that see it."""
Column = Sequence[Hashable]
"""One key per token, padded with AROUND keys at each end."""


@dataclass(frozen=True, slots=True)
class Family:
    """A family of features. A token gets the features of the keys at the distances `shifts` from it. `spell` gives the
    features of a key for each shift."""

    shifts: tuple[int, ...]
    spell: Callable[[Any], Spelled]

    def reach(self, column: Column, size: int) -> Column:
        """The keys that `size` tokens look at, beginning with the first token's key at the first shift."""
        return column[AROUND + self.shifts[0] : AROUND + size + self.shifts[-1]]


def families(lexicon: Lexicon, *, staged: bool = False) -> tuple[Family, ...]:
    """All families, in the order of the columns of `Features`. `lexicon`: the header fields of each word.

    `staged`: with the features from the spans of an earlier model.
    """

    def known(key: str | tuple[str, tuple[str, ...]]) -> Spelled:
        """Of a word's header fields in the same note, and in the notes that the lexicon was learned from."""
        lower, fields = (key, ()) if isinstance(key, str) else key
        listed = lexicon.get(lower, ())
        return [[*(f"m{at}={each}" for each in fields), *(f"l{at}={each}" for each in listed)] for at in ADJACENT]

    earlier = (_around(ADJACENT, "p"), Family(HERE, lambda key: [[f"pc={key[0]}|{key[1]}"]])) if staged else ()
    return (
        Family(HERE, lambda word: [word.own if word else ()]),
        Family(HERE, _field),
        Family(HERE, _into),
        Family(HERE, _line),
        Family(HERE, _edges),
        Family(ADJACENT, known),
        _around(NORMS, "w"),
        _around(SHAPES, "s"),
        _around(ADJACENT, "r"),
        _pairs(NORM_PAIRS, "w"),
        _pairs(SHAPE_PAIRS, "s"),
        Family((-1,), lambda three: [[f"s3={'|'.join(three)}"]]),
        Family((-2,), lambda five: [[f"s5={'|'.join(five)}"]]),
        *earlier,
    )


def _around(shifts: tuple[int, ...], name: str) -> Family:
    return Family(shifts, lambda key: [[f"{name}{at}={key}"] for at in shifts])


def _pairs(shifts: tuple[int, ...], name: str) -> Family:
    return Family(shifts, lambda key: [[f"{name}{at}{name}{at + 1}={key[0]}|{key[1]}"] for at in shifts])


def _field(key: tuple[str, int, str]) -> Spelled:
    name, since, short = key
    return [["bias", f"f={name}", f"f{since}={name}", f"fs={name}|{short}"]]


def _into(key: tuple[int, str, str]) -> Spelled:
    at, start, short = key
    return [[f"in={at}", f"start={start}", f"starts={start}|{short}"]]


def _line(key: tuple[str, int, int, int]) -> Spelled:
    before, top, bottom, length = key
    return [[f"before={before}", f"top={top}", f"bottom={bottom}", f"length={length}"]]


def _edges(bits: int) -> Spelled:
    """Of whether a token touches the one before it (8) and behind it (4), and begins (2) or ends (1) a line."""
    return [[f"glued={bits >> 3 & 1}{bits >> 2 & 1}", *["first"] * (bits >> 1 & 1), *["last"] * (bits & 1)]]


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
    fields, begins, lines, ends = [], [], [], []
    glued = touching(note.tokens).tolist()
    for (first, past), (start, line) in zip(note.edges, lines_of(note), strict=True):
        lines += [line] * (past - first)
        for at in range(first, past):
            short, (_, into, field, since) = note.words[at].short, note.positions[at]
            fields.append((field, since, short))
            begins.append((min(into, FURTHEST), start, short))
            ends.append(glued[at] << 3 | glued[at + 1] << 2 | (at == first) << 1 | (at == past - 1))
    return fields, begins, lines, ends


def lines_of(note: Note) -> list[tuple[str, tuple[str, int, int, int]]]:
    """For each line, its first two words, and its key: those of the line before, the distances from the first and the
    last line, and its length."""
    words, edges = note.words, note.edges
    starts = [" ".join(word.lower for word in words[first : min(past, first + 2)]) for first, past in edges]
    last = len(edges) - 1
    return [
        (start, (starts[at - 1] if at else NOTHING, min(at, 20), min(last - at, 6), min((past - first) // 5, 6)))
        for at, (start, (first, past)) in enumerate(zip(starts, edges, strict=True))
    ]


def _of_earlier(note: Note, spans: Sequence[Span]) -> tuple[Column, Column]:
    """For each token, the tag of the earlier model's span, also with the tenth in which the span's confidence is."""
    tags = [(tag, int((span.confidence or 0) * 10) if span else 0) for tag, span in tagged_spans(note, spans)]
    return _padded([tag for tag, _ in tags], NOTHING), _padded(tags, None)


def _runs(values: Sequence[str], length: int) -> Iterator[tuple[str, ...]]:
    """Runs of `length` consecutive values."""
    return zip(*(values[at:] for at in range(length)), strict=False)
