"""Agreement between annotators: what is counted (units), how fine (granularity), and the coefficients.

A unit has a value from each annotator who read the note. Whoever submitted the note and says nothing about a unit says
`O`; whoever did not is missing. Units with fewer than two values don't count. Every figure here is derived from how
often each pattern of values occurs, so that a million tokens cost one pass.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from annotations.domain.bio import OUTSIDE, Precedence, encode_tokens
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
    """A note with the submitted readings of it, by annotator. Bounds in code points, end-exclusive."""

    text: str
    readings: Mapping[str, Sequence[Span]]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Observed agreement and Krippendorff's alpha over `units` units.

    `observed` is None without units, `alpha` is None where it is undefined; `undefined` then says why.
    """

    observed: float | None
    alpha: float | None
    units: int
    annotators: int
    undefined: str = ""


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
    if len(set(annotators)) != len(annotators):
        raise ValueError("an annotator is named twice: each reading counts once")
    if granularity is Granularity.BIO and unit not in (Unit.TOKEN, Unit.MARKED):
        raise ValueError("BIO tags are of tokens: choose the unit token or marked")
    value = _valuer(granularity, category_of or {})
    counted: Counter[Pattern] = Counter()
    for note in notes:
        if sum(name in note.readings for name in annotators) < 2:
            continue
        if unit is Unit.ENTITY:
            counted.update(_entities(note, annotators, value, label_order))
        elif unit is Unit.CHARACTER:
            for pattern, length in _stretches(note, annotators, value, label_order):
                counted[pattern] += length
        else:
            _count_tokens(counted, note, annotators, value, label_order, tokenizer)
    wanted = _marked if unit is Unit.MARKED else bool
    return Counter({pattern: times for pattern, times in counted.items() if times and wanted(pattern)})


def _marked(pattern: Pattern) -> bool:
    return any(value not in (None, OUTSIDE) for value in pattern)


def _valuer(granularity: Granularity, category_of: Mapping[str, str]) -> Callable[[str], str]:
    """From a BIO tag to the value that is compared."""
    if granularity is Granularity.BIO:
        return lambda tag: tag
    if granularity is Granularity.BINARY:
        return lambda tag: tag if tag == OUTSIDE else MARKED
    if granularity is Granularity.CATEGORY:
        return lambda tag: tag if tag == OUTSIDE else category_of[tag[2:]]
    return lambda tag: tag if tag == OUTSIDE else tag[2:]


def coarser(
    counted: Mapping[Pattern, int], granularity: Granularity, category_of: Mapping[str, str] | None = None
) -> Counter[Pattern]:
    """The same units at another granularity: from BIO tags to any, from labels (subcategory) to category or binary."""
    value = _valuer(granularity, category_of or {})
    # A label is read as the tag that begins it, so that one rule serves both.
    known = {
        v: v if v is None else value(v if v == OUTSIDE or v[:2] in ("B-", "I-") else f"B-{v}") for v in _values(counted)
    }
    found: Counter[Pattern] = Counter()
    for pattern, times in counted.items():
        found[tuple(known[v] for v in pattern)] += times
    return found


def _values(counted: Mapping[Pattern, int]) -> set[str | None]:
    return {value for pattern in counted for value in pattern}


def unmarked(counted: Mapping[Pattern, int]) -> int:
    """How many of the units nobody marked: a flood of them flatters every figure."""
    return sum(times for pattern, times in counted.items() if not _marked(pattern))


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
    columns: list[list[str] | list[None]] = []
    for name in annotators:
        if name not in note.readings:
            columns.append([None] * len(tokens))
            continue
        tags = encode_tokens(tokens, note.readings[name], label_order=label_order).tags
        known = {tag: value(tag) for tag in set(tags)}
        columns.append([known[tag] for tag in tags])
    return zip(*columns, strict=True)


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


def agreement(counted: Mapping[Pattern, int]) -> Agreement:
    """Observed agreement and Krippendorff's alpha (nominal) of counted patterns.

    Observed agreement: for each unit the share of annotator pairs that agree; the mean over units. Alpha = 1 - Do/De by
    the coincidence matrix (K. Krippendorff, Content Analysis, 4th ed., section 12.3): each pair of values in a unit of
    m values counts 1/(m-1). The `krippendorff` package gives the same numbers (tests); counting needs no matrix of
    units by values.
    """
    units = 0
    shares = 0.0
    totals: Counter[str] = Counter()
    agreeing = 0.0
    readers: set[int] = set()
    for pattern, times in counted.items():
        values = Counter(value for value in pattern if value is not None)
        size = values.total()
        if size < 2:
            continue
        readers.update(place for place, value in enumerate(pattern) if value is not None)
        pairs = sum(n * (n - 1) for n in values.values())
        units += times
        shares += times * pairs / (size * (size - 1))
        agreeing += times * pairs / (size - 1)
        for value, n in values.items():
            totals[value] += n * times
    if not units:
        return Agreement(None, None, 0, len(readers), "no note has been submitted by two annotators")
    alpha, undefined = _alpha(totals, agreeing)
    return Agreement(shares / units, alpha, units, len(readers), undefined)


def _alpha(totals: Mapping[str, int], agreeing: float) -> tuple[float | None, str]:
    """Alpha from the values' totals and the weight of the matrix's diagonal; or why there is none."""
    n = sum(totals.values())
    expected = 1 - sum(count * (count - 1) for count in totals.values()) / (n * (n - 1))
    if expected <= 0:
        return None, f"only one value was ever given ({next(iter(totals))}): there is no disagreement to expect"
    return 1 - (1 - agreeing / n) / expected, ""


def in_words(coefficient: float) -> str:
    """The word of Landis & Koch (Biometrics 33, 1977) for a coefficient."""
    for bound, word in ((0.0, "poor"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial")):
        if coefficient < bound or (word != "poor" and coefficient <= bound):
            return word
    return "almost perfect"
