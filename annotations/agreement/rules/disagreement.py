"""Where the annotation sets of one note differ, and how.

A location is a stretch of overlapping spans: two spans share a location if they overlap, or if a chain of overlapping
spans connects them. Locations never overlap, and no annotator marked anything outside of them. An annotator's version
of a location is the spans that they marked inside it, which may be none. Offsets are code points, end-exclusive.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from operator import eq

from annotations.text.attributes import Attributes, is_tied, voted
from annotations.text.bio import OUTSIDE, decode, encode_tokens
from annotations.text.segments import around
from annotations.text.spans import Bounds, Parts, Span, Token, covered, split_at, tokenize


@dataclass(slots=True)
class _LabelVotes:
    """The votes for one label: for each token, how many annotators chose the label, and how many start a span there.

    `doubtful` are tokens where an annotator has overlapping spans with this label.
    """

    label: str
    chosen: list[int]
    begun: list[int]
    doubtful: set[int]


def majority(text: str, annotation_sets: Sequence[Sequence[Span]]) -> list[Span] | None:
    """The spans that the vote of the annotation sets makes, token by token and label by label; None if it is open.

    Tokens are split at the start and end of every span. A label wins a token if more than half of the annotators chose
    it. A run of such tokens is a span; a new span starts where more than half of those who chose the label start one.
    The vote is open where neither a label nor `O` has more than half of the votes, where a label has exactly half,
    and where one annotator has overlapping spans with the same label, since tokens can't tell these apart.
    """
    everything = [span for annotation_set in annotation_sets for span in annotation_set]
    tokens = split_at(tokenize(text), (edge for span in everything for edge in (span.start, span.end)))
    layers = [_label_votes(tokens, annotation_sets, label) for label in sorted({span.label for span in everything})]
    voters = [0] * len(tokens)  # for each token, how many annotators chose any label
    for annotation_set in annotation_sets:
        for at in {at for span in annotation_set for at in range(*covered(tokens, span.start, span.end))}:
            voters[at] += 1
    if any(_is_open(layers, at, chose, len(annotation_sets)) for at, chose in enumerate(voters) if chose):
        return None
    return sorted(span for layer in layers for span in _rebuild(tokens, layer, len(annotation_sets)))


def _label_votes(tokens: list[Token], annotation_sets: Sequence[Sequence[Span]], label: str) -> _LabelVotes:
    layer = _LabelVotes(label, [0] * len(tokens), [0] * len(tokens), set())
    for annotation_set in annotation_sets:
        own = {span for span in annotation_set if span.label == label}
        if not own:
            continue
        encoded = encode_tokens(tokens, own)
        for at, tag in enumerate(encoded.tags):
            layer.chosen[at] += tag != OUTSIDE
            layer.begun[at] += tag.startswith("B-")
        for loser in encoded.losers:
            if loser.winner is not None:
                layer.doubtful.update(range(*covered(tokens, loser.span.start, loser.span.end)))
    return layer


def _is_open(layers: Sequence[_LabelVotes], at: int, voters: int, annotators: int) -> bool:
    """Whether the vote leaves a token open for which `voters` of the annotators chose any label."""
    counts = [layer.chosen[at] for layer in layers]
    decided = 2 * (annotators - voters) > annotators or any(2 * count > annotators for count in counts)
    tied = any(count and 2 * count == annotators for count in counts)
    return not decided or tied or any(at in layer.doubtful for layer in layers)


def _rebuild(tokens: Sequence[Token], layer: _LabelVotes, annotators: int) -> list[Span]:
    votes = zip(layer.chosen, layer.begun, strict=True)
    tags = [
        f"{'B' if 2 * begun > chosen else 'I'}-{layer.label}" if 2 * chosen > annotators else OUTSIDE
        for chosen, begun in votes
    ]
    return decode(tokens, tags)


Version = tuple[Span, ...]
"""The spans that one annotator marked at a location, in order, each once."""


class DisagreementKind(StrEnum):
    """How two versions of a location differ. `attributes`: their spans are the same, and attributes of them differ."""

    MISSED = "missed"
    BOUNDARY = "boundary"
    LABEL = "label"
    BOTH = "both"
    ATTRIBUTES = "attributes"


class Consensus(StrEnum):
    """How far the annotators agree at a location."""

    ALL = "all"
    MAJORITY = "majority"
    SPLIT = "split"
    ONE = "one"


@dataclass(frozen=True, slots=True)
class Location:
    """A stretch of the note, with each annotator's version of it."""

    start: int
    end: int
    versions: Mapping[str, Version]

    @property
    def agreed(self) -> bool:
        """Whether all annotators marked exactly the same spans. Attributes don't count."""
        return len(set(self.versions.values())) <= 1

    @property
    def unanimous(self) -> bool:
        """Whether all annotators marked exactly the same spans with the same attributes."""
        return self.agreed and len(set(map(attributes_in, self.versions.values()))) <= 1

    @property
    def first(self) -> Version:
        """The version of the first annotator, which is that of all where they agree."""
        return next(iter(self.versions.values()), ())

    @property
    def marked(self) -> set[Span]:
        return {span for version in self.versions.values() for span in version}


def attributes_in(version: Version) -> tuple[Attributes, ...]:
    """The attributes of each span of a version, in order."""
    return tuple(span.attributes for span in version)


def locations(annotation_sets: Mapping[str, Sequence[Span]], *, besides: Iterable[Bounds] = ()) -> list[Location]:
    """All locations of a note in order. Each of the bounds in `besides` is a location, or part of one, too."""
    stretches = {(span.start, span.end) for spans in annotation_sets.values() for span in spans} | set(besides)
    hulls: list[Bounds] = []
    for start, end in sorted(stretches):
        if hulls and start < hulls[-1][1]:
            hulls[-1] = (hulls[-1][0], max(end, hulls[-1][1]))
        else:
            hulls.append((start, end))
    found: list[dict[str, Version]] = [dict.fromkeys(annotation_sets, ()) for _ in hulls]
    starts = [start for start, _ in hulls]
    for annotator, spans in annotation_sets.items():
        inside: dict[int, list[Span]] = defaultdict(list)
        for span in sorted(set(spans)):
            inside[bisect_right(starts, span.start) - 1].append(span)
        for at, own in inside.items():
            found[at][annotator] = tuple(own)
    return [Location(start, end, versions) for (start, end), versions in zip(hulls, found, strict=True)]


def kind_between(one: Version, other: Version) -> DisagreementKind | None:
    """How two versions of one location differ, leaving aside the spans that both have. None: they are the same.

    `missed`: one version has no other spans. `label`: same bounds, other labels. `boundary`: same labels, other bounds.
    `both`: bounds and labels differ. `attributes`: the same spans, with other attributes.
    """
    mine, theirs = set(one) - set(other), set(other) - set(one)
    if not mine and not theirs:
        return None if attributes_in(one) == attributes_in(other) else DisagreementKind.ATTRIBUTES
    if not mine or not theirs:
        return DisagreementKind.MISSED
    if {(span.start, span.end) for span in mine} == {(span.start, span.end) for span in theirs}:
        return DisagreementKind.LABEL
    if {span.label for span in mine} == {span.label for span in theirs}:
        return DisagreementKind.BOUNDARY
    return DisagreementKind.BOTH


def kinds_by_pair(location: Location) -> dict[tuple[str, str], DisagreementKind]:
    """For each pair of annotators who differ at a location, how they differ; pairs in the order of the versions."""
    found = {}
    for one, other in combinations(location.versions, 2):
        kind = kind_between(location.versions[one], location.versions[other])
        if kind is not None:
            found[one, other] = kind
    return found


def disputed_labels(location: Location) -> set[str]:
    """The labels of the spans that not all annotators marked, or to which they gave different attributes."""
    versions = [set(version) for version in location.versions.values()]
    shared = set.intersection(*versions) if versions else set()
    given: dict[Span, set[Attributes]] = {}
    for span in (span for version in location.versions.values() for span in version):
        given.setdefault(span, set()).add(span.attributes)
    return {span.label for span, several in given.items() if span not in shared or len(several) > 1}


def tokens_differ(text: str, location: Location) -> bool:
    """Whether two annotators give any token different labels. Cutting one span in two doesn't change its labels."""
    tokens = tokens_of(text, location.start, location.end, location.marked)
    said = [_labels(tokens, version) for version in location.versions.values()]
    return any(labels != said[0] for labels in said)


def _labels(tokens: Sequence[Token], version: Version) -> list[set[str]]:
    """The labels of each token."""
    labels: list[set[str]] = [set() for _ in tokens]
    for span in version:
        for at in range(*covered(tokens, span.start, span.end)):
            labels[at].add(span.label)
    return labels


def tokens_of(text: str, start: int, end: int, spans: Iterable[Span]) -> list[Token]:
    """The tokens of the text from `start` to `end`, split at the start and end of every span."""
    return split_at(Parts(text).inside(start, end), (edge for span in spans for edge in (span.start, span.end)))


def consensus(text: str, location: Location) -> Consensus:
    """`one`: a single annotator marked something. `majority`: the vote decides the whole location."""
    if location.unanimous:
        return Consensus.ALL
    if sum(bool(version) for version in location.versions.values()) == 1:
        return Consensus.ONE
    return Consensus.SPLIT if majority_version(text, location) is None else Consensus.MAJORITY


def majority_version(text: str, location: Location) -> Version | None:
    """The spans that the majority vote gives a location; None if the vote leaves a part of it open.

    A span gets the attributes that more than half of those who marked it gave to it. Where only attributes differ, the
    vote leaves the location open if it decides one of them neither way.
    """
    if location.agreed:
        tied = any(is_tied(attributes_given(location, span)) for span in location.first)
        return None if tied else tuple(_with_votes(location, span) for span in location.first)
    start = location.start
    moved = [[Span(s.start - start, s.end - start, s.label) for s in version] for version in location.versions.values()]
    vote = majority(text[start : location.end], moved)
    if vote is None:
        return None
    return tuple(_with_votes(location, Span(s.start + start, s.end + start, s.label)) for s in vote)


def attributes_given(location: Location, span: Span) -> list[Attributes]:
    """The attributes that each annotator who marked the span gave to it."""
    return [mine.attributes for version in location.versions.values() for mine in version if mine == span]


def _with_votes(location: Location, span: Span) -> Span:
    return replace(span, attributes=voted(attributes_given(location, span)))


@dataclass(frozen=True, slots=True)
class TagRows:
    """A location in its sentence, as in table 3.4 of Catelli 2021: the tokens, and each annotator's tags.

    `first` and `past` bound the tokens of the location itself.
    """

    start: int
    end: int
    tokens: list[Token]
    tags: dict[str, list[str]]
    first: int
    past: int


def bio_rows(
    text: str, start: int, end: int, annotation_sets: Mapping[str, Sequence[Span]], *, label_order: Sequence[str] = ()
) -> TagRows:
    """The sentence around `start`-`end`, with a row of BIO tags for each annotator.

    The tokens are split at the start and end of every span. A span that starts before the sentence continues in it
    (`I-`).
    """
    low, high = around(text, start, end)
    inside = {
        annotator: [s for s in spans if s.start < high and low < s.end] for annotator, spans in annotation_sets.items()
    }
    everything = [span for spans in inside.values() for span in spans]
    tokens = tokens_of(text, low, high, everything)
    tags = {}
    for annotator, spans in inside.items():
        encoded = encode_tokens(tokens, spans, label_order=label_order).tags
        begun_before = [span for span in spans if tokens and span.start < tokens[0].start]
        if encoded and begun_before and encoded[0][2:] in {span.label for span in begun_before}:
            encoded[0] = f"I-{encoded[0][2:]}"
        tags[annotator] = encoded
    return TagRows(low, high, tokens, tags, *covered(tokens, start, end))


def marked_agreement(text: str, found: Sequence[Location]) -> float | None:
    """Observed agreement of a note over its marked tokens; None without marked tokens or with a single annotator.

    The share of annotator pairs who give a token the same labels, as the mean over the tokens of all locations.
    """
    agreeing = units = 0.0
    for location in found:
        tokens = tokens_of(text, location.start, location.end, location.marked)
        pairs = list(combinations([_labels(tokens, version) for version in location.versions.values()], 2))
        if not pairs:
            return None
        units += len(tokens)
        agreeing += sum(sum(map(eq, one, other)) for one, other in pairs) / len(pairs)
    return agreeing / units if units else None
