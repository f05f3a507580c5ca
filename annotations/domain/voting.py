"""Several models' readings of one note made one: union, majority, weighted vote, intersection.

Members vote on characters, label by label. A label stands on a character where enough of them say it; a run of such
characters is a span. Where members agree on a span this is that span; where they disagree on its ends it is the part
that enough of them mark (of three, the middle one of the ends). On MEDDOCAN train, cross-validated, this did better
than votes on exact spans, which lose every place whose ends are in dispute.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from annotations.domain.spans import Span, overlaps

LEAST: Final = 2
SOURCE: Final = 80
_SLACK: Final = 1e-9


class Method(StrEnum):
    """What is enough. union: one member. majority: more than half of the members. weighted: more than half of the
    members' weight. intersection: all of them."""

    UNION = "union"
    MAJORITY = "majority"
    WEIGHTED = "weighted"
    INTERSECTION = "intersection"


@dataclass(frozen=True, slots=True)
class Member:
    """Who votes. `weight` is above 0 and counts in a weighted vote alone."""

    name: str
    weight: float = 1.0


@dataclass(slots=True)
class _Edges:
    """What begins and what ends at one place: (member, confidence)."""

    begin: list[tuple[int, float]] = field(default_factory=list)
    end: list[tuple[int, float]] = field(default_factory=list)


@dataclass(slots=True)
class _Found:
    """A span that won, with who said so, and for each member the sum over its characters of how sure it was."""

    start: int
    end: int
    label: str
    sure: list[float]
    said: set[int] = field(default_factory=set)


def vote(method: Method, members: Sequence[Member], readings: Sequence[Sequence[Span]]) -> list[Span]:
    """The spans that the members' readings of one note make, in order; `readings[i]` is that of `members[i]`.

    A run of won characters is cut where one of its spans ends and more than half of those who have the label begin one.
    Where won spans of several labels overlap, the one with the highest confidence comes first, then the longest, the
    earliest, the first label by name; of the others goes what overlaps one that came before. A union keeps these, too,
    unless they lie wholly in one that came before: nothing that a member marked is left unmarked.

    `confidence` is the mean over members (by weight in a weighted vote) and over the span's characters of how sure each
    member was there: 0 where it didn't say so, 1 where it said so without a confidence. `source` is the method and the
    members that said so, in order (`majority:rules+ours`), at most SOURCE characters. Ends are always ends that a
    member gave, so spans stay free of white space. Raises ValueError for fewer than two members, another number of
    readings, or a weight that isn't above 0.
    """
    _check(members, readings)
    weights = [member.weight if method is Method.WEIGHTED else 1.0 for member in members]
    spans = [
        _outcome(method, members, weights, found)
        for label, edges in sorted(_by_label(readings).items())
        for found in _won(label, edges, weights, _enough(method, weights))
    ]
    return sorted(_settled(spans, keep_partial=method is Method.UNION))


def _check(members: Sequence[Member], readings: Sequence[Sequence[Span]]) -> None:
    if len(members) < LEAST:
        raise ValueError(f"a vote needs at least {LEAST} members, not {len(members)}")
    if len(readings) != len(members):
        raise ValueError(f"{len(members)} members with {len(readings)} readings")
    for member in members:
        if not 0 < member.weight < float("inf"):
            raise ValueError(f"the weight {member.weight} of {member.name} must be above 0")


def _enough(method: Method, weights: Sequence[float]) -> float:
    """What the votes for a label must exceed."""
    if method is Method.UNION:
        return 0.0
    if method is Method.INTERSECTION:
        return len(weights) - 0.5
    return sum(weights) / 2 + _SLACK


def _by_label(readings: Sequence[Sequence[Span]]) -> Mapping[str, Mapping[int, _Edges]]:
    found: defaultdict[str, defaultdict[int, _Edges]] = defaultdict(lambda: defaultdict(_Edges))
    for member, reading in enumerate(readings):
        for span in {(span.start, span.end, span.label): span for span in reading}.values():
            sure = 1.0 if span.confidence is None else span.confidence
            found[span.label][span.start].begin.append((member, sure))
            found[span.label][span.end].end.append((member, sure))
    return found


def _won(label: str, edges: Mapping[int, _Edges], weights: Sequence[float], enough: float) -> Iterator[_Found]:
    """The runs of characters where the votes for the label exceed `enough`, in order."""
    open_spans: list[list[float]] = [[] for _ in weights]  # of each member, how sure it is of each span open here
    run: _Found | None = None
    before = 0
    for at, here in sorted(edges.items()):
        if run is not None:
            _extend(run, before, at, open_spans)
        for member, sure in here.end:
            open_spans[member].remove(sure)
        begun = {member for member, _ in here.begin}
        for member, sure in here.begin:
            open_spans[member].append(sure)
        votes = sum(weight for weight, sure in zip(weights, open_spans, strict=True) if sure)
        held = votes > enough
        touches = here.end and 2 * sum(weights[member] for member in begun) > votes
        if run is not None and (not held or touches):
            yield run
            run = None
        if held and run is None:
            run = _Found(at, at, label, [0.0] * len(weights))
        before = at


def _extend(run: _Found, start: int, end: int, open_spans: Sequence[Sequence[float]]) -> None:
    run.end = end
    for member, sure in enumerate(open_spans):
        if sure:
            run.said.add(member)
            run.sure[member] += max(sure) * (end - start)


def _outcome(method: Method, members: Sequence[Member], weights: Sequence[float], found: _Found) -> Span:
    length = found.end - found.start
    sure = sum(weight * each for weight, each in zip(weights, found.sure, strict=True)) / sum(weights) / length
    said = [members[at].name for at in sorted(found.said)]
    return Span(found.start, found.end, found.label, round(min(sure, 1.0), 4), source_of(method, said))


def source_of(method: Method, names: Sequence[str]) -> str:
    """`majority:rules+ours`; names are cut where all of it would be longer than SOURCE."""
    whole = f"{method}:{'+'.join(names)}"
    if len(whole) <= SOURCE:
        return whole
    room = max(2, (SOURCE - len(method) - len(names)) // len(names))
    short = (name if len(name) <= room else name[: room - 1] + "…" for name in names)
    return f"{method}:{'+'.join(short)}"[:SOURCE]


def _settled(spans: Sequence[Span], *, keep_partial: bool) -> list[Span]:
    """Without those that overlap a better one; with `keep_partial` without those that lie wholly in a better one."""
    kept: list[Span] = []
    for knot in _knots(sorted(spans)):
        taken: list[Span] = []
        for span in sorted(knot, key=_better):
            if not any(_goes(span, better, keep_partial) for better in taken):
                taken.append(span)
        kept += taken
    return kept


def _goes(span: Span, better: Span, keep_partial: bool) -> bool:
    if keep_partial:
        return better.start <= span.start and span.end <= better.end
    return overlaps(span, better)


def _better(span: Span) -> tuple[float, int, int, str]:
    """Sort key that puts the best first."""
    return -(span.confidence or 0.0), span.start - span.end, span.start, span.label


def _knots(spans: Iterable[Span]) -> Iterator[list[Span]]:
    """Spans in order, in runs that overlap one another in a chain."""
    knot: list[Span] = []
    end = 0
    for span in spans:
        if knot and span.start >= end:
            yield knot
            knot = []
        knot.append(span)
        end = max(end, span.end)
    if knot:
        yield knot
