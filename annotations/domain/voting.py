"""Several models' readings of one note made one: union, majority, weighted vote, intersection.

Members vote on spans. A place where enough of them mark the same label with other ends is not given up: it gets the
span that most of them gave there, of equal ones the longest. Chosen on MEDDOCAN train, cross-validated: votes on exact
spans alone had the same F1 (within 0.002) but found 0.6 to 2 points fewer characters, votes on single characters had
more ends wrong. Nor is a place given up where enough of them see an identifier and differ about its label only: that
found 0.1 points more characters with three members and 0.6 with two, at the same F1 (within 0.002).
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import Final, Generic, TypeVar

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


Place = tuple[int, int]
"""Start and end, in code points, end-exclusive."""


@dataclass(frozen=True, slots=True, order=True)
class _Ballot:
    """A member's span of one label, and how sure it is."""

    start: int
    end: int
    member: int
    sure: float


Placed = TypeVar("Placed", Span, _Ballot)


def vote(method: Method, members: Sequence[Member], readings: Sequence[Sequence[Span]]) -> list[Span]:
    """The spans that the members' readings of one note make, in order; `readings[i]` is that of `members[i]`.

    A span stands that enough members gave. In a majority and a weighted vote a stretch without such a span, of which
    enough members mark every character with one label, gets the span of that label which most members gave there, then
    the longest, then the earliest. A stretch that is still without a span, of which enough members mark every character
    with whatever label, gets the span with the most votes there, then the surest, then the longest, the earliest, the
    first label by name; of those that meet no span that stands. A union joins the overlapping spans of a label.

    Where spans that stand overlap, the one with the highest confidence comes first, then the longest, the earliest, the
    first label by name; of the others goes what overlaps one that came before. A union keeps these, too, unless they
    lie wholly in one that came before: nothing that a member marked is left unmarked.

    `confidence` is the mean over members (by weight in a weighted vote) and over the span's characters of how sure each
    member was of the label there: 0 where it didn't say so, 1 where it said so without a confidence. `source` is the
    method and the members that said so, in order (`majority:rules+ours`), at most SOURCE characters. Ends are always
    ends that a member gave, so spans stay free of white space. Raises ValueError for fewer than two members, another
    number of readings, or a weight that isn't above 0.
    """
    _check(members, readings)
    poll = _Poll(method, members, _by_label(readings))
    standing = sorted(_settled(poll.standing(), keep_partial=method is Method.UNION))
    if method in (Method.MAJORITY, Method.WEIGHTED):
        return sorted(standing + poll.of_any_label(standing))
    return standing


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


def _by_label(readings: Sequence[Sequence[Span]]) -> dict[str, list[_Ballot]]:
    """The ballots for each label in order; what a member says twice counts once."""
    found: defaultdict[str, list[_Ballot]] = defaultdict(list)
    for member, reading in enumerate(readings):
        for span in {(span.start, span.end, span.label): span for span in reading}.values():
            sure = 1.0 if span.confidence is None else span.confidence
            found[span.label].append(_Ballot(span.start, span.end, member, sure))
    return {label: sorted(ballots) for label, ballots in found.items()}


class _Poll:
    """All ballots on one note, by label."""

    def __init__(self, method: Method, members: Sequence[Member], ballots: Mapping[str, Sequence[_Ballot]]) -> None:
        self._method, self._names = method, [member.name for member in members]
        self._weights = [member.weight if method is Method.WEIGHTED else 1.0 for member in members]
        self._ballots = ballots

    def standing(self) -> list[Span]:
        """What each label wins by its own votes alone."""
        return [
            self._span(label, count, place)
            for label, ballots in sorted(self._ballots.items())
            for knot in _knots(ballots)
            for count in (_Count(self._method, self._weights, knot),)
            for place in count.won()
        ]

    def of_any_label(self, standing: Sequence[Span]) -> list[Span]:
        """A span for each stretch without one that enough members mark, by whatever label; `standing` is in order."""
        everything = sorted(chain.from_iterable(self._ballots.values()))
        stretches = list(_stretches(everything, self._weights, _enough(self._method, self._weights)))
        near = _Near(standing)
        if all(any(near.over(*stretch)) for stretch in stretches):
            return []
        counts = {label: _Count(self._method, self._weights, each) for label, each in self._ballots.items()}
        found: list[Span] = []

        def is_free(place: Place) -> bool:
            # What was found lies before, in order: only the last of it can reach this far.
            return not any(near.over(*place)) and not any(_meet((one.start, one.end), place) for one in found[-1:])

        for stretch in filter(is_free, stretches):
            given = [
                (count.votes(place), self._span(label, count, place))
                for label, count in counts.items()
                for place in filter(is_free, count.given(stretch))
            ]
            found += [span for _, span in sorted(given, key=lambda each: (-each[0], _better(each[1])))[:1]]
        return found

    def _span(self, label: str, count: "_Count", place: Place) -> Span:
        sure, said = count.sure(place)
        return Span(*place, label, sure, source_of(self._method, [self._names[member] for member in said]))


class _Near(Generic[Placed]):
    """What is in order by its start, to be looked up by place."""

    def __init__(self, placed: Sequence[Placed]) -> None:
        self._placed: Sequence[Placed] = placed
        self._starts = [each.start for each in placed]
        self._longest = max((each.end - each.start for each in placed), default=0)

    def over(self, start: int, end: int) -> Iterator[Placed]:
        """What overlaps the place."""
        first = bisect_left(self._starts, start - self._longest)
        for each in self._placed[first : bisect_left(self._starts, end)]:
            if each.end > start:
                yield each


class _Count:
    """The votes on one label, by ballots that are in order."""

    def __init__(self, method: Method, weights: Sequence[float], ballots: Sequence[_Ballot]) -> None:
        self._method, self._weights, self._ballots = method, weights, ballots
        self._enough = _enough(method, weights)
        self._near = _Near(ballots)
        self._votes: defaultdict[Place, float] = defaultdict(float)
        for ballot in ballots:
            self._votes[ballot.start, ballot.end] += weights[ballot.member]

    def won(self) -> list[Place]:
        """The places that stand, by this label's votes alone."""
        if self._method is Method.UNION:
            return list(self._stretches())
        won = [place for place, votes in self._votes.items() if votes > self._enough]
        if self._method is Method.INTERSECTION or len(self._votes) == 1:
            return won
        disputed = [stretch for stretch in self._stretches() if not any(_meet(stretch, place) for place in won)]
        return won + [place for stretch in disputed for place in self._best(stretch, won)]

    def votes(self, place: Place) -> float:
        """The weight of those who gave just this place."""
        return self._votes[place]

    def given(self, place: Place) -> set[Place]:
        """The places that overlap this one."""
        return {(ballot.start, ballot.end) for ballot in self._near.over(*place)}

    def sure(self, place: Place) -> tuple[float, list[int]]:
        """How sure the members are of the place, and which of them said so."""
        start, end = place
        total, said = 0.0, set()
        for ballot in self._near.over(start, end):
            shared = min(ballot.end, end) - max(ballot.start, start)
            total += self._weights[ballot.member] * ballot.sure * shared
            said.add(ballot.member)
        return round(min(total / sum(self._weights) / (end - start), 1.0), 4), sorted(said)

    def _best(self, stretch: Place, won: Sequence[Place]) -> list[Place]:
        """The one place that takes a disputed stretch; none where all of them meet places that stand."""
        free = [place for place in self.given(stretch) if not any(_meet(place, other) for other in won)]
        return sorted(free, key=lambda place: (-self._votes[place], place[0] - place[1], place))[:1]

    def _stretches(self) -> Iterator[Place]:
        return _stretches(self._ballots, self._weights, self._enough)


def _stretches(ballots: Iterable[_Ballot], weights: Sequence[float], enough: float) -> Iterator[Place]:
    """The stretches of which every character has enough votes; a member counts once, however many spans it has."""
    changes: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for ballot in ballots:
        changes[ballot.start].append((ballot.member, 1))
        changes[ballot.end].append((ballot.member, -1))
    open_spans, begun = [0] * len(weights), -1
    for at, here in sorted(changes.items()):
        for member, change in here:
            open_spans[member] += change
        held = sum(weight for weight, spans in zip(weights, open_spans, strict=True) if spans) > enough
        if begun >= 0 and not held:
            yield begun, at
            begun = -1
        elif begun < 0 and held:
            begun = at


def _meet(one: Place, two: Place) -> bool:
    return one[0] < two[1] and two[0] < one[1]


def source_of(method: Method, names: Sequence[str]) -> str:
    """`majority:rules+ours`; names are cut where all of it would be longer than SOURCE."""
    return f"{method}:{joined(names, SOURCE - len(method) - 1)}"


def joined(names: Sequence[str], most: int) -> str:
    """`rules+ours`; names are cut where all of it would be longer than `most`."""
    whole = "+".join(names)
    if len(whole) <= most:
        return whole
    room = max(2, (most - len(names) + 1) // len(names))
    short = (name if len(name) <= room else name[: room - 1] + "…" for name in names)
    return "+".join(short)[:most]


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


def _knots(placed: Iterable[Placed]) -> Iterator[list[Placed]]:
    """What is in order, in runs that overlap one another in a chain."""
    knot: list[Placed] = []
    end = 0
    for each in placed:
        if knot and each.start >= end:
            yield knot
            knot = []
        knot.append(each)
        end = max(end, each.end)
    if knot:
        yield knot
