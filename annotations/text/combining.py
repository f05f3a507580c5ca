"""Several runs' suggestions on one note, combined by votes or merged into one list."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from operator import attrgetter
from typing import Final, Generic, NamedTuple, TypeVar

from annotations.text.attributes import Attributes, Doubt, Doubtful, MergedProvenance, RunSays, united
from annotations.text.spans import Bounds, Span, overlaps
from annotations.text.wording import gettext as _

LEAST: Final = 2
SOURCE: Final = 80
_SLACK: Final = 1e-9


class Method(StrEnum):
    """How many votes are enough.

    union: one member. majority: more than half of the members. weighted: more than half of the total weight.
    intersection: all members.
    """

    UNION = "union"
    MAJORITY = "majority"
    WEIGHTED = "weighted"
    INTERSECTION = "intersection"


@dataclass(frozen=True, slots=True)
class VotingModel:
    """A voting model. `weight` is above 0 and counts only in a weighted vote."""

    name: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True, order=True)
class _Ballot:
    """A member's span with one label, the member's confidence in it, and its attributes."""

    start: int
    end: int
    member: int
    confidence: float
    attributes: Attributes = field(default=(), compare=False)


Item = TypeVar("Item", Span, _Ballot)


def vote(method: Method, members: Sequence[VotingModel], annotation_sets: Sequence[Sequence[Span]]) -> list[Span]:
    """The combined spans of one note, in order; `annotation_sets[i]` holds the spans of `members[i]`.

    A span with enough votes wins. Majority and weighted votes have two more rules for stretches without a winner:

    * If enough members mark every character of the stretch with one label, the span of that label with the most votes
      wins, then the longest, then the earliest.
    * If enough members mark every character with any label, the span with the most votes wins, then the one with the
      highest confidence, the longest, the earliest, the first label by name. It must not overlap another winner.

    A union joins the overlapping spans of a label.

    Where winners overlap, they are ranked by confidence, then the longest, the earliest, the first label by name, and
    each one that overlaps a better one is dropped. A union drops only those that lie completely inside a better one, so
    that every character that a member marked stays marked.

    `confidence` is the mean, over the members (by weight in a weighted vote) and over the span's characters, of the
    confidence in the label: 0 for a member that doesn't mark it, 1 for a member that marks it without a confidence.
    `source` is the method and the members that mark the label, in order (`majority:rules+ours`), at most SOURCE
    characters. `attributes` are those of all members that gave exactly these bounds; where two of them gave different
    values, the first member's is kept. Bounds are always bounds that a member gave, so that no span starts or ends with
    white space. Raises
    ValueError for fewer than two members, another number of annotation sets, or a weight that isn't above 0.
    """
    _check(members, annotation_sets)
    weights = tuple(member.weight if method is Method.WEIGHTED else 1.0 for member in members)
    voting = _Voting(method, tuple(member.name for member in members), weights, _enough(method, weights))
    ballots = _by_label(annotation_sets)
    winners = [
        span
        for label, given in sorted(ballots.items())
        for knot in _knots(given)
        for span in _Count(voting, label, knot).winners()
    ]
    winners = sorted(_without_overlaps(winners, keep_partial=method is Method.UNION))
    if method in (Method.MAJORITY, Method.WEIGHTED):
        return sorted(winners + _of_any_label(voting, ballots, winners))
    return winners


def _check(members: Sequence[VotingModel], annotation_sets: Sequence[Sequence[Span]]) -> None:
    if len(members) < LEAST:
        raise ValueError(_("An ensemble needs at least {least} members, not {count}.", LEAST, len(members)))
    if len(annotation_sets) != len(members):
        raise ValueError(_("There are {n} members and {sets} annotation sets.", len(members), len(annotation_sets)))
    for member in members:
        if not 0 < member.weight < float("inf"):
            raise ValueError(_("The weight of “{name}” is {weight}. It must be above 0.", member.name, member.weight))


def _enough(method: Method, weights: Sequence[float]) -> float:
    """The threshold that the votes for a label must exceed."""
    if method is Method.UNION:
        return 0.0
    if method is Method.INTERSECTION:
        return len(weights) - 0.5
    return sum(weights) / 2 + _SLACK


def _by_label(annotation_sets: Sequence[Sequence[Span]]) -> dict[str, list[_Ballot]]:
    """The ballots for each label, in order; a span that a member has twice counts once."""
    found: defaultdict[str, list[_Ballot]] = defaultdict(list)
    for member, annotation_set in enumerate(annotation_sets):
        for span in {(span.start, span.end, span.label): span for span in annotation_set}.values():
            confidence = 1.0 if span.confidence is None else span.confidence
            found[span.label].append(_Ballot(span.start, span.end, member, confidence, span.attributes))
    return {label: sorted(ballots) for label, ballots in found.items()}


class _Voting(NamedTuple):
    """How the members vote: their names and weights, and the threshold that votes must exceed."""

    method: Method
    names: Sequence[str]
    weights: Sequence[float]
    enough: float

    def stretches(self, ballots: Iterable[_Ballot]) -> Iterator[Bounds]:
        """The stretches in which every character has enough votes; a member counts once per character."""
        changes: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for ballot in ballots:
            changes[ballot.start].append((ballot.member, 1))
            changes[ballot.end].append((ballot.member, -1))
        open_spans, begun = [0] * len(self.weights), -1
        for at, here in sorted(changes.items()):
            for member, change in here:
                open_spans[member] += change
            held = sum(weight for weight, spans in zip(self.weights, open_spans, strict=True) if spans) > self.enough
            if begun >= 0 and not held:
                yield begun, at
                begun = -1
            elif begun < 0 and held:
                begun = at


def _of_any_label(voting: _Voting, ballots: Mapping[str, list[_Ballot]], winners: Sequence[Span]) -> list[Span]:
    """A span for each stretch that enough members mark with any label and that has no winner in `winners` yet."""
    near = _Near(winners)
    stretches = [
        stretch for stretch in voting.stretches(sorted(chain(*ballots.values()))) if not any(near.over(*stretch))
    ]
    counts = [_Count(voting, label, each) for label, each in ballots.items()] if stretches else []
    found: list[Span] = []

    def is_free(bounds: Bounds) -> bool:
        # The stretches come in order, so only the last span found can reach this far.
        return not any(near.over(*bounds)) and not any(_overlap((one.start, one.end), bounds) for one in found[-1:])

    for stretch in filter(is_free, stretches):
        given = [
            (count.votes[bounds], count.span(bounds))
            for count in counts
            for bounds in filter(is_free, count.given(stretch))
        ]
        found += [span for _, span in sorted(given, key=lambda each: (-each[0], _better(each[1])))[:1]]
    return found


class _Near(Generic[Item]):
    """An index of spans, which must be ordered by start, for looking up those that overlap given bounds."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items: Sequence[Item] = items
        self._starts = [each.start for each in items]
        self._longest = max((each.end - each.start for each in items), default=0)

    def over(self, start: int, end: int) -> Iterator[Item]:
        """The spans that overlap `start`-`end`."""
        first = bisect_left(self._starts, start - self._longest)
        for each in self._items[first : bisect_left(self._starts, end)]:
            if each.end > start:
                yield each


class _Count:
    """The votes for one label; the ballots must be in order. `votes`: the weight of those for exactly these bounds."""

    def __init__(self, voting: _Voting, label: str, ballots: Sequence[_Ballot]) -> None:
        self._voting, self._label, self._ballots = voting, label, ballots
        self._near = _Near(ballots)
        self.votes: defaultdict[Bounds, float] = defaultdict(float)
        for ballot in ballots:
            self.votes[ballot.start, ballot.end] += voting.weights[ballot.member]

    def winners(self) -> list[Span]:
        """The spans that win by the votes for this label alone."""
        return list(map(self.span, self._won()))

    def _won(self) -> list[Bounds]:
        if self._voting.method is Method.UNION:
            return list(self._voting.stretches(self._ballots))
        won = [bounds for bounds, votes in self.votes.items() if votes > self._voting.enough]
        if self._voting.method is Method.INTERSECTION or len(self.votes) == 1:
            return won
        best = []
        for stretch in self._voting.stretches(self._ballots):
            if not any(_overlap(stretch, bounds) for bounds in won):
                free = [each for each in self.given(stretch) if not any(_overlap(each, bounds) for bounds in won)]
                best += sorted(free, key=lambda each: (-self.votes[each], each[0] - each[1], each))[:1]
        return won + best

    def given(self, bounds: Bounds) -> set[Bounds]:
        """The bounds of all ballots that overlap these bounds."""
        return {(ballot.start, ballot.end) for ballot in self._near.over(*bounds)}

    def span(self, bounds: Bounds) -> Span:
        """The span at these bounds, with the members' mean confidence, and the attributes of the first member's span.

        Only members that gave exactly these bounds gave attributes.
        """
        start, end = bounds
        ballots, total = list(self._near.over(start, end)), 0.0
        for ballot in ballots:
            shared = min(ballot.end, end) - max(ballot.start, start)
            total += self._voting.weights[ballot.member] * ballot.confidence * shared
        confidence = round(min(total / sum(self._voting.weights) / (end - start), 1.0), 4)
        names = [self._voting.names[member] for member in sorted({ballot.member for ballot in ballots})]
        same = sorted((each for each in ballots if (each.start, each.end) == bounds), key=attrgetter("member"))
        attributes, _differing = united(ballot.attributes for ballot in same)
        source = source_of(self._voting.method, names)
        return Span(start, end, self._label, confidence, source, attributes=attributes)


def _overlap(one: Bounds, two: Bounds) -> bool:
    return one[0] < two[1] and two[0] < one[1]


def source_of(method: Method, names: Sequence[str]) -> str:
    """The source of a combined span, like `majority:rules+ours`; names are cut to fit SOURCE characters."""
    return f"{method}:{joined(names, SOURCE - len(method) - 1)}"


def joined(names: Sequence[str], most: int) -> str:
    """The names in one string, like `rules+ours`; names are cut to fit `most` characters."""
    whole = "+".join(names)
    if len(whole) <= most:
        return whole
    room = max(2, (most - len(names) + 1) // len(names))
    short = (name if len(name) <= room else name[: room - 1] + "…" for name in names)
    return "+".join(short)[:most]


def _without_overlaps(spans: Sequence[Span], *, keep_partial: bool) -> list[Span]:
    """Drop the spans that overlap a better one; with `keep_partial`, only those that lie inside a better one."""
    kept: list[Span] = []
    for knot in _knots(sorted(spans)):
        taken: list[Span] = []
        for span in sorted(knot, key=_better):
            if keep_partial:
                lost = any(better.start <= span.start and span.end <= better.end for better in taken)
            else:
                lost = any(overlaps(span, better) for better in taken)
            if not lost:
                taken.append(span)
        kept += taken
    return kept


def _better(span: Span) -> tuple[float, int, int, str]:
    """A sort key that puts the best span first."""
    return -(span.confidence or 0.0), span.start - span.end, span.start, span.label


def _knots(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Groups of spans connected by overlaps; the input must be ordered by start."""
    knot: list[Item] = []
    end = 0
    for each in items:
        if knot and each.start >= end:
            yield knot
            knot = []
        knot.append(each)
        end = max(end, each.end)
    if knot:
        yield knot


# Merged list of several runs' suggestions for one note: every distinct span once, with the runs that suggested it.
#
# There is no vote, and no suggestion is dropped: where different runs suggest overlapping spans with other bounds or
# labels, the list contains all of these conflicting spans. Overlapping spans of one and the same run don't conflict.


@dataclass(frozen=True, slots=True)
class BackingRun:
    """A run that suggested a span: its name, and the confidence and source that it gave."""

    run: str
    confidence: float | None
    source: str


@dataclass(frozen=True, slots=True)
class MergedSpan(Span):
    """A span with the runs that suggested it (`backing`), out of `of` runs.

    `clear` is the number of runs that suggested it if every conflicting span has fewer, else 0. `doubt` is the doubt of
    the first of these runs if all of them doubt the span, else None. `attributes` are those of all these runs;
    `differing` names those to which two runs gave different values, of which the first run's is kept.
    """

    backing: tuple[BackingRun, ...] = field(default=(), compare=False)
    of: int = field(default=0, compare=False)
    clear: int = field(default=0, compare=False)
    doubt: Doubt | None = field(default=None, compare=False)
    differing: tuple[str, ...] = field(default=(), compare=False)

    @property
    def provenance(self) -> MergedProvenance:
        """The provenance that is stored with the suggestion."""
        runs = [RunSays(run=b.run, confidence=b.confidence, source=b.source) for b in self.backing]
        found: MergedProvenance = {"runs": runs, "agree": len(runs), "of": self.of, "clear": self.clear}
        if self.differing:
            found["attributes"] = list(self.differing)
        return {**found, **self.doubt} if self.doubt else found


def merge(names: Sequence[str], annotation_sets: Sequence[Sequence[Span]]) -> list[MergedSpan]:
    """The merged list, in order; `annotation_sets[i]` holds the suggestions of the run named `names[i]`.

    `confidence` is the mean over all runs of the confidence in exactly this span: 0 for a run that doesn't suggest it,
    1 for a run that suggests it without a confidence. `source` names the runs (`rules-1+crf-1`), so that figures by
    source count suggestions of the same runs together.
    """
    found: dict[Span, list[BackingRun]] = {}
    doubts: dict[Span, list[Doubt | None]] = {}
    given: dict[Span, list[Attributes]] = {}
    for run, annotation_set in zip(names, annotation_sets, strict=True):
        for span in annotation_set:
            plain = Span(span.start, span.end, span.label)  # A doubtful span is never equal to a plain one.
            backing = found.setdefault(plain, [])
            if not backing or backing[-1].run != run:
                backing.append(BackingRun(run, span.confidence, span.source))
                given.setdefault(plain, []).append(span.attributes)
                doubts.setdefault(plain, []).append(span.provenance if isinstance(span, Doubtful) else None)
    spans = sorted(found)
    bounds = [(span.start, span.end) for span in spans]
    against = conflicting_spans(bounds, [frozenset(b.run for b in found[span]) for span in spans])
    merged = []
    for span, others in zip(spans, against, strict=True):
        backing = found[span]
        confidence = sum(1.0 if b.confidence is None else b.confidence for b in backing) / len(names)
        attributes, differing = united(given[span])
        most = max((len(found[spans[other]]) for other in others), default=0)
        merged.append(
            MergedSpan(
                span.start, span.end, span.label, round(confidence, 4), joined([b.run for b in backing], SOURCE),
                tuple(backing), len(names), len(backing) if len(backing) > most else 0,
                doubts[span][0] if all(doubts[span]) else None, tuple(differing), attributes=attributes,
            )
        )  # fmt: skip
    return merged


def conflicting_spans(bounds: Sequence[tuple[int, int]], runs: Sequence[frozenset[str]]) -> list[list[int]]:
    """For each span the indexes of the conflicting spans: those that overlap it and share no run with it.

    `bounds` and `runs` describe the spans. The indexes are in no particular order.
    """
    order = sorted(range(len(bounds)), key=bounds.__getitem__)
    found: list[list[int]] = [[] for _ in bounds]
    for at, one in enumerate(order):
        for other in order[at + 1 :]:
            if bounds[other][0] >= bounds[one][1]:
                break
            if not runs[one] & runs[other]:
                found[one].append(other)
                found[other].append(one)
    return found
