"""Units of agreement, their granularity, and the patterns of their values.

A unit has a value from each annotator who submitted the note: `O` where they marked nothing. An annotator who didn't
submit the note has no value. Units with fewer than two values don't count. All figures are computed from how often each
pattern of values occurs (see `counting`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from operator import itemgetter

from annotations.text.bio import OUTSIDE, Precedence
from annotations.text.spans import Bounds, Span, Token, Tokenizer, covered, split_at, tokenize

Pattern = tuple[str | None, ...]
"""The values of one unit, one for each annotator in a fixed order; None stands for a missing value."""

MARKED = "MARKED"
"""The only value besides `O` at binary granularity."""


class ComparedUnit(StrEnum):
    """What is compared: all tokens; tokens that somebody marked; characters; all distinct bounds of spans."""

    TOKEN = "token"  # noqa: S105 - a unit of text
    MARKED = "marked"
    CHARACTER = "character"
    ENTITY = "entity"


class Granularity(StrEnum):
    """How finely labels are compared. BIO also distinguishes the first token of a span; it is for tokens only."""

    BINARY = "binary"
    CATEGORY = "category"
    SUBCATEGORY = "subcategory"
    BIO = "bio"


@dataclass(frozen=True, slots=True)
class NoteAnnotationSets:
    """A note with its submitted annotation sets, by annotator.

    `note` identifies the note in figures by note. `round` is its guideline round; `mixed` is True if its annotation
    sets are from several rounds. `tokenizer` makes the tokens of the note.
    """

    text: str
    annotation_sets: Mapping[str, Sequence[Span]]
    note: int = 0
    round: int = 1
    mixed: bool = False
    tokenizer: Tokenizer = tokenize


@dataclass(frozen=True, slots=True)
class Setup:
    """The annotators who are compared, in order, the label codes in order, and each label's category."""

    annotators: Sequence[str]
    labels: Sequence[str] = ()
    category_of: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _ReadingOptions:
    """How notes are read: the annotators in order, the value of a BIO tag, and which of two labels counts first."""

    annotators: Sequence[str]
    value: Callable[[str], str]
    label_order: Sequence[str]

    def shared(self, notes: Iterable[NoteAnnotationSets]) -> Iterator[NoteAnnotationSets]:
        """The notes that at least two of the annotators submitted."""
        return (note for note in notes if sum(name in note.annotation_sets for name in self.annotators) > 1)


def table(
    notes: Iterable[NoteAnnotationSets],
    annotators: Sequence[str],
    *,
    unit: ComparedUnit,
    granularity: Granularity,
    category_of: Mapping[str, str],
    label_order: Sequence[str],
) -> Iterator[tuple[NoteAnnotationSets, Bounds, Pattern]]:
    """The units that the figures count, one by one, with their bounds. The unit must have the granularity.

    Characters come as stretches over which no annotator's label changes: such a row stands for as many units as it has
    characters.
    """
    how = _ReadingOptions(annotators, valuer(granularity, category_of), label_order)
    for note in how.shared(notes):
        found: Iterable[tuple[Bounds, Pattern]]
        if unit is ComparedUnit.ENTITY:
            found = sorted(_entities(note, how), key=itemgetter(0))
        elif unit is ComparedUnit.CHARACTER:
            found = _stretches(note, how)
        else:
            tokens = split_at(note.tokenizer(note.text), list(_edges(note, annotators)))
            values = _aligned(note, how, tokens)
            rows = (((token.start, token.end), pattern) for token, pattern in zip(tokens, values, strict=True))
            found = (row for row in rows if unit is ComparedUnit.TOKEN or is_marked(row[1]))
        for bounds, pattern in found:
            yield note, bounds, pattern


def granularities(unit: ComparedUnit) -> list[Granularity]:
    """The granularities of a unit, the coarsest first; BIO is for tokens only."""
    tokens = unit in (ComparedUnit.TOKEN, ComparedUnit.MARKED)
    return [granularity for granularity in Granularity if tokens or granularity is not Granularity.BIO]


def span_granularity(granularity: Granularity) -> Granularity:
    """The granularity of spans; BIO is the same as labels."""
    return Granularity.SUBCATEGORY if granularity is Granularity.BIO else granularity


def is_marked(pattern: Pattern) -> bool:
    """Whether anybody marked the unit."""
    return any(value not in (None, OUTSIDE) for value in pattern)


def valuer(granularity: Granularity, category_of: Mapping[str, str]) -> Callable[[str], str]:
    """A function from a BIO tag to the value that is compared.

    The value of a label or category that is itself called `O` is `B-O`, to distinguish it from the tag `O`.
    """
    if granularity is Granularity.BIO:
        return str
    if granularity is Granularity.BINARY:
        return lambda tag: tag if tag == OUTSIDE else MARKED
    if granularity is Granularity.CATEGORY:
        return lambda tag: tag if tag == OUTSIDE else _value_of(category_of[tag[2:]])
    return lambda tag: tag if tag == OUTSIDE else _value_of(tag[2:])


def _value_of(name: str) -> str:
    return name if name != OUTSIDE else f"B-{name}"


def compared(tagged: Sequence[Pattern], granularity: Granularity, category_of: Mapping[str, str]) -> list[Pattern]:
    """Patterns of BIO tags, converted to the values of a granularity.

    `category_of` maps labels to categories. Category granularity raises KeyError for a missing label.
    """
    value = valuer(granularity, category_of)
    known = {tag: tag if tag is None else value(tag) for pattern in tagged for tag in pattern}
    return [tuple([known[tag] for tag in pattern]) for pattern in tagged]


def _aligned(note: NoteAnnotationSets, how: _ReadingOptions, tokens: list[Token]) -> Iterator[Pattern]:
    starts = {token.start: at for at, token in enumerate(tokens)}
    ends = {token.end: at for at, token in enumerate(tokens, start=1)}
    columns: list[list[str] | list[None]] = []
    for name in how.annotators:
        if name not in note.annotation_sets:
            columns.append([None] * len(tokens))
            continue
        tags = _tags(tokens, starts, ends, note.annotation_sets[name], how.label_order)
        known = {tag: how.value(tag) for tag in set(tags)}
        columns.append([known[tag] for tag in tags])
    return zip(*columns, strict=True)


def _tags(
    tokens: list[Token],
    starts: Mapping[int, int],
    ends: Mapping[int, int],
    spans: Sequence[Span],
    label_order: Sequence[str],
) -> list[str]:
    """Do what `encode_tokens` does, for tokens that are split at all spans: winners overwrite the other spans."""
    past = 0
    for span in spans:
        if span.start < past:
            spans = sorted(spans, key=Precedence(label_order), reverse=True)
            break
        past = span.end
    owner = [-1] * len(tokens)
    for index, span in enumerate(spans):
        first, last = starts.get(span.start), ends.get(span.end)
        if first is None or last is None:  # An end of the span is not an end of a token.
            first, last = covered(tokens, span.start, span.end)
        if first < last:
            owner[first:last] = [index] * (last - first)
    tags, before = [], -1
    for index in owner:
        if index < 0:
            tags.append(OUTSIDE)
        else:
            tags.append(("I-" if index == before else "B-") + spans[index].label)
        before = index
    return tags


def _edges(note: NoteAnnotationSets, annotators: Sequence[str]) -> Iterator[int]:
    for name in annotators:
        for span in note.annotation_sets.get(name, ()):
            yield span.start
            yield span.end


def _stretches(note: NoteAnnotationSets, how: _ReadingOptions) -> Iterator[tuple[Bounds, Pattern]]:
    """Patterns of characters, each with a stretch over which no annotator's labels change."""
    edges = sorted({0, len(note.text), *_edges(note, how.annotators)})
    stretches = [Token(start, end) for start, end in pairwise(edges)]
    for token, pattern in zip(stretches, _aligned(note, how, stretches), strict=True):
        yield (token.start, token.end), pattern


def _entities(note: NoteAnnotationSets, how: _ReadingOptions) -> Iterator[tuple[Bounds, Pattern]]:
    """A pattern for each distinct bounds; if an annotator has two labels there, the first in label order counts."""
    said: dict[Bounds, dict[str, str]] = {}
    order = Precedence(how.label_order)
    for name in how.annotators:
        for span in sorted(note.annotation_sets.get(name, ()), key=order):
            said.setdefault((span.start, span.end), {}).setdefault(name, how.value(f"B-{span.label}"))
    given = [(name, OUTSIDE if name in note.annotation_sets else None) for name in how.annotators]
    for bounds, values in said.items():
        yield bounds, tuple(values.get(name, otherwise) for name, otherwise in given)
