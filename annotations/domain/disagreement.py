"""Where readings of one note differ, and how.

A place is a stretch of overlapping spans: two spans share a place if they overlap, or if others between them do. So
places never overlap, outside of them nobody marked anything, and a reader's version of a place is what they marked
inside it, which may be nothing. Offsets are code points, end-exclusive.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from operator import eq
from typing import Generic, TypeVar

from annotations.domain.bio import encode_tokens
from annotations.domain.majority import majority
from annotations.domain.sentences import around
from annotations.domain.spans import Span
from annotations.domain.tokens import Token, covered, split_at, tokenize_inside

Reader = TypeVar("Reader", bound=Hashable)
Version = tuple[Span, ...]
"""What one reader marked in a place, in order, each span once."""


class Kind(StrEnum):
    """How two versions of a place differ."""

    MISSED = "missed"
    BOUNDARY = "boundary"
    LABEL = "label"
    BOTH = "both"


class Consensus(StrEnum):
    """How far the readers of a place are of one mind."""

    ALL = "all"
    MAJORITY = "majority"
    SPLIT = "split"
    ONE = "one"


@dataclass(frozen=True, slots=True)
class Place(Generic[Reader]):
    """A stretch of the note, and what each of its readers marked there."""

    start: int
    end: int
    versions: Mapping[Reader, Version]

    @property
    def agreed(self) -> bool:
        """Whether all say the same, exactly."""
        return len(set(self.versions.values())) <= 1

    @property
    def marked(self) -> set[Span]:
        return {span for version in self.versions.values() for span in version}


def places(
    readings: Mapping[Reader, Sequence[Span]], *, besides: Iterable[tuple[int, int]] = ()
) -> list[Place[Reader]]:
    """All places of a note in order. `besides` are stretches that are places too, or parts of some."""
    stretches = {(span.start, span.end) for spans in readings.values() for span in spans} | set(besides)
    hulls: list[tuple[int, int]] = []
    for start, end in sorted(stretches):
        if hulls and start < hulls[-1][1]:
            hulls[-1] = (hulls[-1][0], max(end, hulls[-1][1]))
        else:
            hulls.append((start, end))
    found: list[dict[Reader, Version]] = [dict.fromkeys(readings, ()) for _ in hulls]
    for reader, spans in readings.items():
        inside: list[list[Span]] = [[] for _ in hulls]
        at = 0
        for span in sorted(set(spans)):
            while hulls[at][1] <= span.start:
                at += 1
            inside[at].append(span)
        for place, own in enumerate(inside):
            if own:
                found[place][reader] = tuple(own)
    return [Place(start, end, versions) for (start, end), versions in zip(hulls, found, strict=True)]


def disagreements(readings: Mapping[Reader, Sequence[Span]]) -> list[Place[Reader]]:
    """The places where not all readers say the same."""
    return [place for place in places(readings) if not place.agreed]


def kind_between(one: Version, other: Version) -> Kind | None:
    """How two versions of one place differ, by what is left of each without the spans that they share.

    `missed`: nothing is left of one of them. `label`: the same stretches under other labels. `boundary`: the same
    labels on other stretches. `both`: neither. None: they are the same.
    """
    mine, theirs = set(one) - set(other), set(other) - set(one)
    if not mine and not theirs:
        return None
    if not mine or not theirs:
        return Kind.MISSED
    if {(span.start, span.end) for span in mine} == {(span.start, span.end) for span in theirs}:
        return Kind.LABEL
    if {span.label for span in mine} == {span.label for span in theirs}:
        return Kind.BOUNDARY
    return Kind.BOTH


def kinds_by_pair(place: Place[Reader]) -> dict[tuple[Reader, Reader], Kind]:
    """For each two readers who differ at a place, how; pairs in the order of the versions."""
    found = {}
    for one, other in combinations(place.versions, 2):
        kind = kind_between(place.versions[one], place.versions[other])
        if kind is not None:
            found[one, other] = kind
    return found


def disputed_labels(place: Place[Reader]) -> set[str]:
    """The labels of the spans that not all readers have."""
    versions = [set(version) for version in place.versions.values()]
    shared = set.intersection(*versions) if versions else set()
    return {span.label for span in place.marked - shared}


def tokens_differ(text: str, place: Place[Reader]) -> bool:
    """Whether any token has other labels for one reader than for another (one span cut in two leaves them the same)."""
    tokens = tokens_of(text, place.start, place.end, place.marked)
    said = [_labels(tokens, version) for version in place.versions.values()]
    return any(labels != said[0] for labels in said)


def _labels(tokens: Sequence[Token], version: Version) -> list[set[str]]:
    """The labels of each token."""
    labels: list[set[str]] = [set() for _ in tokens]
    for span in version:
        for at in range(*covered(tokens, span.start, span.end)):
            labels[at].add(span.label)
    return labels


def tokens_of(text: str, start: int, end: int, spans: Iterable[Span]) -> list[Token]:
    """The tokens of a stretch of the text, split at every end of these spans."""
    inside, _ = tokenize_inside(text, [(start, end)])
    return split_at(inside, (edge for span in spans for edge in (span.start, span.end)))


def consensus(text: str, place: Place[Reader]) -> Consensus:
    """`one`: a single reader marked something. `majority`: the vote leaves nothing of the place open."""
    if place.agreed:
        return Consensus.ALL
    if sum(bool(version) for version in place.versions.values()) == 1:
        return Consensus.ONE
    return Consensus.SPLIT if majority_version(text, place) is None else Consensus.MAJORITY


def majority_version(text: str, place: Place[Reader]) -> Version | None:
    """What more than half of the readers say of each token of a place; None where the vote leaves a part open."""
    start = place.start
    moved = [[Span(s.start - start, s.end - start, s.label) for s in version] for version in place.versions.values()]
    vote = majority(text[start : place.end], moved)
    if vote.open:
        return None
    return tuple(Span(s.start + start, s.end + start, s.label) for s in vote.spans)


@dataclass(frozen=True, slots=True)
class Rows(Generic[Reader]):
    """A place in its sentence, as table 3.4 of the thesis shows it: the tokens, and each reader's tag for each.

    `first` and `past` bound the tokens of the place itself.
    """

    start: int
    end: int
    tokens: list[Token]
    tags: dict[Reader, list[str]]
    first: int
    past: int


def bio_rows(
    text: str,
    start: int,
    end: int,
    readings: Mapping[Reader, Sequence[Span]],
    *,
    label_order: Sequence[str] = (),
) -> Rows[Reader]:
    """The sentence around a place with a row of BIO tags for each reader.

    The tokens are split at the ends of all spans in it. A span that begins before the sentence goes on in it (`I-`).
    """
    low, high = around(text, start, end)
    inside = {r: [s for s in spans if s.start < high and low < s.end] for r, spans in readings.items()}
    everything = [span for spans in inside.values() for span in spans]
    tokens = tokens_of(text, low, high, everything)
    tags = {}
    for reader, spans in inside.items():
        encoded = encode_tokens(tokens, spans, label_order=label_order).tags
        begun_before = [span for span in spans if tokens and span.start < tokens[0].start]
        if encoded and begun_before and encoded[0][2:] in {span.label for span in begun_before}:
            encoded[0] = f"I-{encoded[0][2:]}"
        tags[reader] = encoded
    return Rows(low, high, tokens, tags, *covered(tokens, start, end))


def marked_agreement(text: str, found: Sequence[Place[Reader]]) -> float | None:
    """Observed agreement of a note over its marked tokens; None where nobody marked any, or one person alone read it.

    For each token the share of reader pairs who give it the same labels; the mean over the tokens of all places.
    """
    agreeing = units = 0.0
    for place in found:
        tokens = tokens_of(text, place.start, place.end, place.marked)
        pairs = list(combinations([_labels(tokens, version) for version in place.versions.values()], 2))
        if not pairs:
            return None
        units += len(tokens)
        agreeing += sum(sum(map(eq, one, other)) for one, other in pairs) / len(pairs)
    return agreeing / units if units else None
