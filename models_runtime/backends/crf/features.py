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
from models_runtime.backends.notes import FURTHEST, Note, Word, touching
from models_runtime.backends.rule_tags import rule_tags, tagged_spans

AROUND: Final = 4
NOTHING: Final = "_"
# Stands for the form of a token before or behind the note. No token is empty.
NOWHERE: Final = ""
# The neighbors that each family of features looks at.
HERE: Final = (0,)
ADJACENT: Final = (-1, 0, 1)
NORMS: Final = (-4, -3, -2, -1, 1, 2, 3, 4)
SHAPES: Final = (-3, -2, -1, 1, 2, 3)
NORM_PAIRS: Final = (-2, -1, 0, 1)
SHAPE_PAIRS: Final = (-1, 0)
# The beginnings of the features of norms, and of pairs of norms.
NORMS_SEEN: Final = frozenset(f"w{at}" for at in NORMS)
PAIRS_SEEN: Final = frozenset(f"w{at}w{at + 1}" for at in NORM_PAIRS)

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


class SpellingFeatures:
    """The features of keys, as strings. Each method gives them for each of the tokens that see the key, in the order of
    their distances."""

    def around(self, norm: str | None, shape: str, fields: Sequence[str]) -> Spelled:
        """Of a token seen at the distances NORMS: its norm, its shape, and its fields in the lexicon."""
        found: dict[int, list[str]] = {at: [] for at in NORMS}
        families = [(SHAPES, self.shape(shape)), ((-1, 1), self.listed(fields)[::2])]
        for shifts, spelled in families if norm is None else [(NORMS, self.norm(norm)), *families]:
            for at, features in zip(shifts, spelled, strict=True):
                found[at] += features
        return list(found.values())

    def own(self, each: Word | None) -> Spelled:
        return [each.own if each else ()]

    def own_listed(self, each: Word, fields: Sequence[str]) -> Spelled:
        """Of a word, with its own fields in the lexicon."""
        return [[*each.own, *self.listed(fields)[1]]]

    def norm(self, norm: str) -> Spelled:
        return [[f"w{at}={norm}"] for at in NORMS]

    def shape(self, shape: str) -> Spelled:
        return [[f"s{at}={shape}"] for at in SHAPES]

    def listed(self, fields: Sequence[str]) -> Spelled:
        """Of a word's header fields in the notes that the lexicon was learned from."""
        return [[f"l{at}={field}" for field in fields] for at in ADJACENT]

    def memory(self, fields: Sequence[str]) -> Spelled:
        """Of a word's header fields in the same note."""
        return [[f"m{at}={field}" for field in fields] for at in ADJACENT]

    def field(self, name: str, since: int, short: str) -> Spelled:
        return [["bias", f"f={name}", f"f{since}={name}", f"fs={name}|{short}"]]

    def into(self, at: int, start: str, short: str) -> Spelled:
        return [[f"in={at}", f"start={start}", f"starts={start}|{short}"]]

    def line(self, before: str, top: int, bottom: int, length: int) -> Spelled:
        return [[f"before={before}", f"top={top}", f"bottom={bottom}", f"length={length}"]]

    def edges(self, bits: int) -> Spelled:
        """Of whether a token touches the one before it (8) and behind it (4), and begins (2) or ends (1) a line."""
        return [[f"glued={bits >> 3 & 1}{bits >> 2 & 1}", *["first"] * (bits >> 1 & 1), *["last"] * (bits & 1)]]

    def rule(self, tag: str) -> Spelled:
        return [[f"r{at}={tag}"] for at in ADJACENT]

    def norm_pair(self, one: str, two: str) -> Spelled:
        return [[f"w{at}w{at + 1}={one}|{two}"] for at in NORM_PAIRS]

    def shape_pair(self, one: str, two: str) -> Spelled:
        return [[f"s{at}s{at + 1}={one}|{two}"] for at in SHAPE_PAIRS]

    def shapes(self, three: Sequence[str]) -> Spelled:
        """Of the shapes of a token and its two neighbors."""
        before, behind = self.shape_pair(*three[:2])[0], self.shape_pair(*three[1:])[1]
        return [[*before, *behind, f"s3={'|'.join(three)}"]]

    def shorts(self, five: Sequence[str]) -> Spelled:
        return [[f"s5={'|'.join(five)}"]]

    def earlier(self, tag: str) -> Spelled:
        return [[f"p{at}={tag}"] for at in ADJACENT]

    def tenth(self, tag: str, tenth: int) -> Spelled:
        return [[f"pc={tag}|{tenth}"]]


def families(lexicon: Lexicon, *, staged: bool = False) -> tuple[Family, ...]:
    """All families, in the order of the columns of `Features`. `lexicon`: the header fields of each word.

    `staged`: with the features from the spans of an earlier model.
    """
    spelling = SpellingFeatures()

    def known(key: str | tuple[str, tuple[str, ...]]) -> Spelled:
        lower, fields = (key, ()) if isinstance(key, str) else key
        both = zip(spelling.memory(fields), spelling.listed(lexicon.get(lower, ())), strict=True)
        return [[*memory, *listed] for memory, listed in both]

    return (
        Family(HERE, spelling.own),
        Family(HERE, lambda x: spelling.field(*x)),
        Family(HERE, lambda x: spelling.into(*x)),
        Family(HERE, lambda x: spelling.line(*x)),
        Family(HERE, spelling.edges),
        Family(ADJACENT, known),
        Family(NORMS, spelling.norm),
        Family(SHAPES, spelling.shape),
        Family(ADJACENT, spelling.rule),
        Family(NORM_PAIRS, lambda x: spelling.norm_pair(*x)),
        Family(SHAPE_PAIRS, lambda x: spelling.shape_pair(*x)),
        Family((-1,), lambda x: [[f"s3={'|'.join(x)}"]]),
        Family((-2,), spelling.shorts),
        *((Family(ADJACENT, spelling.earlier), Family(HERE, lambda x: spelling.tenth(*x))) if staged else ()),
    )


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


def earlier_tags(note: Note, spans: Sequence[Span]) -> list[tuple[str, int]]:
    """For each token, the tag of the earlier model's span, and the tenth in which the span's confidence is."""
    return [(tag, int((span.confidence or 0) * 10) if span else 0) for tag, span in tagged_spans(note, spans)]


def _of_earlier(note: Note, spans: Sequence[Span]) -> tuple[Column, Column]:
    tags = earlier_tags(note, spans)
    return _padded([tag for tag, _ in tags], NOTHING), _padded(tags, None)


def _runs(values: Sequence[str], length: int) -> Iterator[tuple[str, ...]]:
    """Runs of `length` consecutive values."""
    return zip(*(values[at:] for at in range(length)), strict=False)
