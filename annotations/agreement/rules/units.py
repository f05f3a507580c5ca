"""Units of agreement, their granularity, and the patterns of their values.

A unit has a value from each annotator who submitted the note: `O` where they marked nothing. An annotator who didn't
submit the note has no value. Units with fewer than two values don't count. All figures are computed from how often each
pattern of values occurs (see `counting`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from itertools import pairwise, repeat

from annotations.agreement.rules.disagreement import Location, Version, attributes_in, locations
from annotations.text.bio import OUTSIDE, Precedence, encode_tokens
from annotations.text.matching import match
from annotations.text.spans import Bounds, Span, Token, Tokenizer, overlaps, split_at, tokenize, tokens_at

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
    value = cache(valuer(granularity, category_of))
    for note in notes:
        sets = [note.annotation_sets.get(name) for name in annotators]
        if sum(spans is not None for spans in sets) < 2:
            continue
        edges = {edge for spans in sets for span in spans or () for edge in (span.start, span.end)}
        if unit is ComparedUnit.ENTITY:
            found = _entities(sets, value, label_order)
        elif unit is ComparedUnit.CHARACTER:
            found = _aligned(tokens_at(pairwise(sorted(edges | {0, len(note.text)}))), sets, value, label_order)
        else:
            found = _aligned(split_at(note.tokenizer(note.text), edges), sets, value, label_order)
        for bounds, pattern in found:
            if unit is not ComparedUnit.MARKED or is_marked(pattern):
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


def _aligned(
    tokens: list[Token],
    sets: Iterable[Sequence[Span] | None],
    value: Callable[[str], str],
    label_order: Sequence[str],
) -> Iterator[tuple[Bounds, Pattern]]:
    """The bounds and the pattern of each token; the tokens are split at the start and end of every span."""
    columns = [
        repeat(None, len(tokens))
        if spans is None
        else map(value, encode_tokens(tokens, spans, label_order=label_order).tags)
        for spans in sets
    ]
    return zip(tokens, zip(*columns, strict=True), strict=True)


def _entities(
    sets: Iterable[Sequence[Span] | None], value: Callable[[str], str], label_order: Sequence[str]
) -> Iterator[tuple[Bounds, Pattern]]:
    """A pattern for each distinct bounds; if an annotator has two labels there, the first in label order counts."""
    order = Precedence(label_order)
    tags = [
        None
        if spans is None
        else {(span.start, span.end): f"B-{span.label}" for span in sorted(spans, key=order)[::-1]}
        for spans in sets
    ]
    for bounds in sorted({bounds for own in tags for bounds in own or ()}):
        yield bounds, tuple(None if own is None else value(own.get(bounds, OUTSIDE)) for own in tags)


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
