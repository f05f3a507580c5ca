"""What is compared: units of a note, how finely their values are told apart, and how often each pattern occurs.

A unit has a value from each annotator who read the note. Whoever submitted the note and says nothing about a unit says
`O`; whoever did not is missing. Units with fewer than two values don't count. Every figure is derived from how often
each pattern of values occurs, so that a million tokens cost one pass.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from annotations.domain.bio import OUTSIDE, Precedence
from annotations.domain.spans import Span
from annotations.domain.tokens import Token, Tokenizer, covered, split_at, tokenize, tokenize_inside

Pattern = tuple[str | None, ...]
"""The values of one unit, one for each annotator in a fixed order; None is missing."""

MARKED = "MARKED"
"""The one value besides `O` at binary granularity."""


class Unit(StrEnum):
    """What is compared: all tokens; tokens somebody labelled; characters; the union of exact spans."""

    TOKEN = "token"  # noqa: S105 - a unit of text
    MARKED = "marked"
    CHARACTER = "character"
    ENTITY = "entity"


class Granularity(StrEnum):
    """How fine a value is. BIO tells tokens that begin a span from those inside; it exists for tokens only."""

    BINARY = "binary"
    CATEGORY = "category"
    SUBCATEGORY = "subcategory"
    BIO = "bio"


@dataclass(frozen=True, slots=True)
class NoteReadings:
    """A note with the submitted readings of it, by annotator. Bounds in code points, end-exclusive.

    `note` names it where figures are given note by note. `round` is the guideline round it belongs to; `mixed` says
    that its readings are from several.
    """

    text: str
    readings: Mapping[str, Sequence[Span]]
    note: int = 0
    round: int = 1
    mixed: bool = False


def patterns(
    notes: Iterable[NoteReadings],
    annotators: Sequence[str],
    *,
    unit: Unit = Unit.TOKEN,
    granularity: Granularity = Granularity.SUBCATEGORY,
    category_of: Mapping[str, str] | None = None,
    label_order: Sequence[str] = (),
    tokenizer: Tokenizer = tokenize,
) -> Counter[Pattern]:
    """How often each pattern of values occurs. Tokens are split at the ends of exactly the spans compared.

    `category_of` maps labels to categories and is needed for category granularity (KeyError for a label it lacks).
    Raises ValueError for BIO on anything but tokens, and for an annotator named twice.
    """
    counted: Counter[Pattern] = Counter()
    for _, found in by_note(
        notes,
        annotators,
        unit=unit,
        granularity=granularity,
        category_of=category_of,
        label_order=label_order,
        tokenizer=tokenizer,
    ):
        counted.update(found)
    return counted


def by_note(
    notes: Iterable[NoteReadings],
    annotators: Sequence[str],
    *,
    unit: Unit = Unit.TOKEN,
    granularity: Granularity = Granularity.SUBCATEGORY,
    category_of: Mapping[str, str] | None = None,
    label_order: Sequence[str] = (),
    tokenizer: Tokenizer = tokenize,
) -> Iterator[tuple[NoteReadings, dict[Pattern, int]]]:
    """As `patterns`, each note by itself; notes with fewer than two readers are left out."""
    if len(set(annotators)) != len(annotators):
        raise ValueError("an annotator is named twice: each reading counts once")
    if granularity not in granularities(unit):
        raise ValueError("BIO tags are of tokens: choose the unit token or marked")
    yield from _counted(notes, annotators, unit, valuer(granularity, category_of or {}), label_order, tokenizer)


def tagged_by_note(
    notes: Iterable[NoteReadings],
    annotators: Sequence[str],
    *,
    unit: Unit,
    label_order: Sequence[str] = (),
    tokenizer: Tokenizer = tokenize,
) -> Iterator[tuple[NoteReadings, dict[Pattern, int]]]:
    """As `by_note`, in BIO tags whatever the unit (only `B-` where it has no inside), from which `coarser` goes on."""
    value = (lambda tag: tag) if Granularity.BIO in granularities(unit) else beginning
    return _counted(notes, annotators, unit, value, label_order, tokenizer)


def _counted(
    notes: Iterable[NoteReadings],
    annotators: Sequence[str],
    unit: Unit,
    value: Callable[[str], str],
    label_order: Sequence[str],
    tokenizer: Tokenizer,
) -> Iterator[tuple[NoteReadings, dict[Pattern, int]]]:
    wanted = is_marked if unit is Unit.MARKED else bool
    for note in notes:
        if sum(name in note.readings for name in annotators) < 2:
            continue
        counted: Counter[Pattern] = Counter()
        if unit is Unit.ENTITY:
            counted.update(_entities(note, annotators, value, label_order))
        elif unit is Unit.CHARACTER:
            for pattern, length in _stretches(note, annotators, value, label_order):
                counted[pattern] += length
        else:
            _count_tokens(counted, note, annotators, value, label_order, tokenizer)
        yield note, {pattern: times for pattern, times in counted.items() if times and wanted(pattern)}


def granularities(unit: Unit) -> list[Granularity]:
    """What a unit can be compared by, the coarsest first: BIO tags are of tokens only."""
    tokens = unit in (Unit.TOKEN, Unit.MARKED)
    return [granularity for granularity in Granularity if tokens or granularity is not Granularity.BIO]


def is_marked(pattern: Pattern) -> bool:
    """Whether anybody labelled the unit."""
    return any(value not in (None, OUTSIDE) for value in pattern)


def valuer(granularity: Granularity, category_of: Mapping[str, str]) -> Callable[[str], str]:
    """From a BIO tag to the value that is compared.

    A label or category that is itself called `O` is told from the tag `O` by the value `B-O`.
    """
    if granularity is Granularity.BIO:
        return lambda tag: tag
    if granularity is Granularity.BINARY:
        return lambda tag: tag if tag == OUTSIDE else MARKED
    if granularity is Granularity.CATEGORY:
        return lambda tag: tag if tag == OUTSIDE else _told(category_of[tag[2:]])
    return lambda tag: tag if tag == OUTSIDE else _told(tag[2:])


def _told(name: str) -> str:
    return name if name != OUTSIDE else f"B-{name}"


def beginning(tag: str) -> str:
    """The tag that begins a span with the same label: for units that have no inside."""
    return tag if tag == OUTSIDE else f"B-{tag[2:]}"


def coarser(
    tagged: Mapping[Pattern, int], granularity: Granularity, category_of: Mapping[str, str] | None = None
) -> Counter[Pattern]:
    """The same units at another granularity, from patterns of BIO tags."""
    found: Counter[Pattern] = Counter()
    for pattern, times in zip(compared(list(tagged), granularity, category_of), tagged.values(), strict=True):
        found[pattern] += times
    return found


def compared(
    tagged: Sequence[Pattern], granularity: Granularity, category_of: Mapping[str, str] | None = None
) -> list[Pattern]:
    """Patterns of BIO tags, each as it is compared at a granularity."""
    value = valuer(granularity, category_of or {})
    known = {tag: tag if tag is None else value(tag) for pattern in tagged for tag in pattern}
    return [tuple([known[tag] for tag in pattern]) for pattern in tagged]


def unmarked(counted: Mapping[Pattern, int]) -> int:
    """How many of the units nobody marked: a flood of them flatters every figure."""
    return sum(times for pattern, times in counted.items() if not is_marked(pattern))


def _count_tokens(
    counted: Counter[Pattern],
    note: NoteReadings,
    annotators: Sequence[str],
    value: Callable[[str], str],
    label_order: Sequence[str],
    tokenizer: Tokenizer,
) -> None:
    marked, others = _marked_tokens(note, annotators, tokenizer)
    # Most tokens are nobody's: they are counted, not compared one by one.
    nobody = tuple(OUTSIDE if name in note.readings else None for name in annotators)
    counted[nobody] += others
    counted.update(_aligned(note, annotators, marked, value, label_order))


def _marked_tokens(note: NoteReadings, annotators: Sequence[str], tokenizer: Tokenizer) -> tuple[list[Token], int]:
    """The tokens that some span covers, cut at every span's ends, and how many tokens no span covers."""
    edges = list(_edges(note, annotators))
    if tokenizer is tokenize:
        inside, others = tokenize_inside(note.text, _merged(note, annotators))
        return split_at(inside, edges), others
    tokens = split_at(tokenizer(note.text), edges)
    touched: set[int] = set()
    for start, end in _merged(note, annotators):
        touched.update(range(*covered(tokens, start, end)))
    return [tokens[place] for place in sorted(touched)], len(tokens) - len(touched)


def _merged(note: NoteReadings, annotators: Sequence[str]) -> list[tuple[int, int]]:
    """The stretches that anybody marked, in order and apart."""
    stretches: list[tuple[int, int]] = []
    for start, end in sorted({(s.start, s.end) for name in annotators for s in note.readings.get(name, ())}):
        if stretches and start <= stretches[-1][1]:
            stretches[-1] = (stretches[-1][0], max(end, stretches[-1][1]))
        else:
            stretches.append((start, end))
    return stretches


def _aligned(
    note: NoteReadings,
    annotators: Sequence[str],
    tokens: list[Token],
    value: Callable[[str], str],
    label_order: Sequence[str],
) -> Iterator[Pattern]:
    starts = {token.start: at for at, token in enumerate(tokens)}
    ends = {token.end: at for at, token in enumerate(tokens, start=1)}
    columns: list[list[str] | list[None]] = []
    for name in annotators:
        if name not in note.readings:
            columns.append([None] * len(tokens))
            continue
        tags = _tags(tokens, starts, ends, note.readings[name], label_order)
        known = {tag: value(tag) for tag in set(tags)}
        columns.append([known[tag] for tag in tags])
    return zip(*columns, strict=True)


def _tags(
    tokens: list[Token],
    starts: Mapping[int, int],
    ends: Mapping[int, int],
    spans: Sequence[Span],
    label_order: Sequence[str],
) -> list[str]:
    """As `encode_tokens`, for tokens that are cut at every end: whoever wins a token is painted last."""
    past = 0
    for span in spans:
        if span.start < past:
            spans = sorted(spans, key=Precedence(label_order), reverse=True)
            break
        past = span.end
    owner = [-1] * len(tokens)
    for index, span in enumerate(spans):
        first, last = starts.get(span.start), ends.get(span.end)
        if first is None or last is None:  # white space at its ends
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


def _edges(note: NoteReadings, annotators: Sequence[str]) -> Iterator[int]:
    for name in annotators:
        for span in note.readings.get(name, ()):
            yield span.start
            yield span.end


def _stretches(
    note: NoteReadings, annotators: Sequence[str], value: Callable[[str], str], label_order: Sequence[str]
) -> Iterator[tuple[Pattern, int]]:
    """Characters, in stretches over which nobody's labels change; each with its length in code points."""
    edges = sorted({0, len(note.text), *_edges(note, annotators)})
    stretches = [Token(start, end) for start, end in pairwise(edges)]
    for token, pattern in zip(stretches, _aligned(note, annotators, stretches, value, label_order), strict=True):
        yield pattern, token.end - token.start


def _entities(
    note: NoteReadings, annotators: Sequence[str], value: Callable[[str], str], label_order: Sequence[str]
) -> Iterator[Pattern]:
    """Every place that somebody marked as one span; of two labels of one person on it, the first in label order."""
    said: dict[tuple[int, int], dict[str, str]] = {}
    order = Precedence(label_order)
    for name in annotators:
        for span in sorted(note.readings.get(name, ()), key=order):
            said.setdefault((span.start, span.end), {}).setdefault(name, value(f"B-{span.label}"))
    for values in said.values():
        yield tuple(values.get(name, OUTSIDE) if name in note.readings else None for name in annotators)
