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

from annotations.agreement.rules.disagreement import Location, Version, attributes_in, locations
from annotations.text.bio import OUTSIDE, Precedence
from annotations.text.matching import match
from annotations.text.spans import Bounds, Span, Token, Tokenizer, covered, overlaps, split_at, tokenize

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


# Adjudication of one note: which locations are open, decided, or changed since they were decided.
#
# Decisions are stored by location. When an annotation set changes, the decision stays until an adjudicator changes it;
# its location is `changed` where an annotator's spans or their attributes differ from those that the decision was
# based on. Offsets are code points, end-exclusive.


class LocationState(StrEnum):
    """The state of a location.

    `agreed`: all annotators marked the same spans with the same attributes, and nobody has accepted them yet.
    """

    OPEN = "open"
    AGREED = "agreed"
    DECIDED = "decided"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class AdjudicatedLocation:
    """The adjudicated spans between `start` and `end`; none of them reaches outside.

    `heard` holds each annotator's spans there at the time of the decision, by author id.
    """

    start: int
    end: int
    spans: Version
    heard: Mapping[str, Version]


@dataclass(frozen=True, slots=True)
class Item:
    """A location with its decisions and its state.

    A location has more than one decision where a new annotation set joins two locations into one.
    """

    location: Location
    decisions: tuple[AdjudicatedLocation, ...]
    state: LocationState

    @property
    def start(self) -> int:
        return self.location.start

    @property
    def end(self) -> int:
        return self.location.end

    @property
    def outcome(self) -> Version:
        """The adjudicated spans, in order."""
        return tuple(sorted(span for decision in self.decisions for span in decision.spans))


def items(
    annotation_sets: Mapping[str, Sequence[Span]],
    decisions: Sequence[AdjudicatedLocation],
    *,
    besides: Iterable[tuple[int, int]] = (),
) -> list[Item]:
    """All locations of the note in order: those of the annotation sets (by author id), and those with a decision."""
    found = locations(annotation_sets, besides=[*((d.start, d.end) for d in decisions), *besides])
    waiting = sorted(decisions, key=lambda decision: decision.start)
    out = []
    at = 0
    for location in found:
        own = []
        while at < len(waiting) and waiting[at].start < location.end:
            own.append(waiting[at])
            at += 1
        out.append(Item(location, tuple(own), _state(location, own)))
    return out


def _state(location: Location, decisions: Sequence[AdjudicatedLocation]) -> LocationState:
    if not decisions:
        return LocationState.AGREED if location.unanimous else LocationState.OPEN
    if len(decisions) > 1 or (decisions[0].start, decisions[0].end) != (location.start, location.end):
        return LocationState.CHANGED
    decision = decisions[0]
    for annotator, now in location.versions.items():
        # An annotator who submitted after the decision changes its state only if their spans differ from the outcome.
        then = decision.heard.get(annotator, decision.spans)
        if then != now or attributes_in(then) != attributes_in(now):
            return LocationState.CHANGED
    # An annotator who has reopened the note has no submitted set; until they submit again the decision stands.
    return LocationState.DECIDED


def touched(found: Sequence[Item], start: int, end: int) -> list[Item]:
    """The locations that share a character with `start`-`end`."""
    return [item for item in found if item.start < end and start < item.end]


def with_own(found: Sequence[Item], span: Span) -> tuple[int, int, Version]:
    """The start and end that an adjudicator's own span decides, and the adjudicated spans there afterwards.

    The decision covers every location that the span overlaps. Adjudicated spans that overlap the new span are replaced;
    the others stay.
    """
    parts = touched(found, span.start, span.end)
    start = min([span.start, *(item.start for item in parts)])
    end = max([span.end, *(item.end for item in parts)])
    kept = {old for item in parts for old in item.outcome if not overlaps(old, span)}
    return start, end, tuple(sorted(kept | {span}))


def without(item: Item, span: Span) -> Version:
    """The adjudicated spans of a location without one of them."""
    return tuple(old for old in item.outcome if old != span)


# ── How one annotator's spans fared in the adjudicated set of the same note ───────────────────────────────────────────


class Fate(StrEnum):
    """What happened to a span. `missed`: it is in the adjudicated set, but the annotator didn't mark it."""

    KEPT = "kept"
    CHANGED = "changed"
    LEFT_OUT = "left-out"
    MISSED = "missed"


@dataclass(frozen=True, slots=True)
class SpanOutcome:
    """One row of the comparison: the annotator's span (`own`) and the adjudicated one (`now`); one may be None."""

    fate: Fate
    own: Span | None
    now: Span | None

    @property
    def start(self) -> int:
        return (self.own or self.now or Span(0, 0, "")).start

    @property
    def relabeled(self) -> bool:
        return self.own is not None and self.now is not None and self.own.label != self.now.label

    @property
    def moved(self) -> bool:
        return (
            self.own is not None
            and self.now is not None
            and (self.own.start, self.own.end) != (self.now.start, self.now.end)
        )


def outcome(own: Sequence[Span], adjudicated: Sequence[Span]) -> list[SpanOutcome]:
    """Every span of both sets once, in text order; overlapping spans are matched one to one."""
    pairs = match(own, adjudicated)
    found = [
        SpanOutcome(Fate.KEPT if own[at] == adjudicated[to] else Fate.CHANGED, own[at], adjudicated[to])
        for at, to in pairs
    ]
    mine, theirs = {at for at, _ in pairs}, {to for _, to in pairs}
    found += [SpanOutcome(Fate.LEFT_OUT, span, None) for at, span in enumerate(own) if at not in mine]
    found += [SpanOutcome(Fate.MISSED, None, span) for to, span in enumerate(adjudicated) if to not in theirs]
    return sorted(found, key=lambda each: (each.start, each.fate))
