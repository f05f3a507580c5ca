"""Majority vote over the annotation sets of one note: the spans that it makes, and what it leaves to an adjudicator."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from annotations.text.bio import OUTSIDE, encode_tokens, split_tag
from annotations.text.spans import Span, check_bounds
from annotations.text.tokens import Token, covered, split_at, tokenize


@dataclass(frozen=True, slots=True)
class OpenLocation:
    """A stretch of the note without a majority, with the votes for each label (most votes first) and for `O`.

    An annotator with overlapping spans there has one vote for each of their labels.
    """

    start: int
    end: int
    votes: tuple[tuple[str, int], ...]


@dataclass(slots=True)
class Majority:
    """The spans that the vote makes, and the locations that it leaves open; both in order."""

    spans: list[Span] = field(default_factory=list)
    open: list[OpenLocation] = field(default_factory=list)


@dataclass(slots=True)
class _LabelVotes:
    """The votes for one label: for each token, how many annotators chose the label, and how many start a span there.

    `doubtful` are tokens where an annotator has overlapping spans with this label.
    """

    chosen: list[int]
    begun: list[int]
    doubtful: set[int]


def majority(text: str, annotation_sets: Sequence[Sequence[Span]], *, label_order: Sequence[str] = ()) -> Majority:
    """The vote of the submitted annotation sets of a note, token by token and label by label.

    Tokens are split at the start and end of every span. A label wins a token if more than half of the annotators chose
    it. A run of such tokens is a span; a new span starts where more than half of those who chose the label start one.
    A location is open where neither a label nor `O` has more than half of the votes, where a label has exactly half,
    and where one annotator has overlapping spans with the same label, since tokens can't tell these apart.

    `label_order` orders labels with equal votes. Raises SpanError if a span is empty or reaches outside the text.
    """
    everything = [span for annotation_set in annotation_sets for span in annotation_set]
    for span in everything:
        check_bounds(span, len(text))
    tokens = split_at(tokenize(text), (edge for span in everything for edge in (span.start, span.end)))
    labels = _in_order({span.label for span in everything}, label_order)
    layers = {label: _label_votes(tokens, annotation_sets, label) for label in labels}
    voters = [0] * len(tokens)  # for each token, how many annotators chose any label
    for annotation_set in annotation_sets:
        marked = {at for span in annotation_set for at in range(*covered(tokens, span.start, span.end))}
        for at in marked:
            voters[at] += 1
    spans = [span for label, layer in layers.items() for span in _rebuild(tokens, layer, label, len(annotation_sets))]
    return Majority(sorted(spans), _open_locations(tokens, layers, voters, len(annotation_sets)))


def _in_order(labels: set[str], label_order: Sequence[str]) -> list[str]:
    rank = {label: at for at, label in enumerate(label_order)}
    return sorted(labels, key=lambda label: (rank.get(label, len(rank)), label))


def _label_votes(tokens: list[Token], annotation_sets: Sequence[Sequence[Span]], label: str) -> _LabelVotes:
    layer = _LabelVotes([0] * len(tokens), [0] * len(tokens), set())
    for annotation_set in annotation_sets:
        own = {span for span in annotation_set if span.label == label}
        if not own:
            continue
        encoded = encode_tokens(tokens, own)
        for at, tag in enumerate(encoded.tags):
            mark, _ = split_tag(tag)
            if mark != OUTSIDE:
                layer.chosen[at] += 1
                layer.begun[at] += mark == "B"
        for loser in encoded.losers:
            if loser.winner is not None:
                layer.doubtful.update(range(*covered(tokens, loser.span.start, loser.span.end)))
    return layer


def _rebuild(tokens: Sequence[Token], layer: _LabelVotes, label: str, annotators: int) -> list[Span]:
    spans: list[Span] = []
    start = None
    for at, chosen in enumerate(layer.chosen):
        held = 2 * chosen > annotators
        if start is not None and (not held or 2 * layer.begun[at] > chosen):
            spans.append(Span(start, tokens[at - 1].end, label))
            start = None
        if held and start is None:
            start = tokens[at].start
    if start is not None:
        spans.append(Span(start, tokens[-1].end, label))
    return spans


def _open_locations(
    tokens: Sequence[Token], layers: dict[str, _LabelVotes], voters: Sequence[int], annotators: int
) -> list[OpenLocation]:
    """The open tokens; neighbors with the same votes are joined unless an annotator starts a span between them."""
    locations: list[OpenLocation] = []
    joined = False
    for at, token in enumerate(tokens):
        counts = [layer.chosen[at] for layer in layers.values()]
        without = annotators - voters[at]
        decided = 2 * without > annotators or any(2 * count > annotators for count in counts)
        tied = any(count and 2 * count == annotators for count in counts)
        doubtful = any(at in layer.doubtful for layer in layers.values())
        if (decided and not tied and not doubtful) or not voters[at]:
            joined = False
            continue
        votes = _votes(layers, at, without)
        begins = any(layer.begun[at] for layer in layers.values())
        if joined and not begins and locations[-1].votes == votes:
            locations[-1] = OpenLocation(locations[-1].start, token.end, votes)
        else:
            locations.append(OpenLocation(token.start, token.end, votes))
        joined = True
    return locations


def _votes(layers: dict[str, _LabelVotes], at: int, without: int) -> tuple[tuple[str, int], ...]:
    counted = Counter({label: layer.chosen[at] for label, layer in layers.items() if layer.chosen[at]})
    votes = sorted(counted.items(), key=lambda vote: -vote[1])  # a stable sort: equal votes stay in label order
    return (*votes, (OUTSIDE, without)) if without else tuple(votes)
