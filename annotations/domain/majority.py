"""Majority vote of several readings of one note: what most readers agree on, and what is left for a person."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from annotations.domain.bio import OUTSIDE, encode_tokens, split_tag
from annotations.domain.spans import Span, check_bounds
from annotations.domain.tokens import Token, covered, split_at, tokenize


@dataclass(frozen=True, slots=True)
class OpenPlace:
    """A stretch of the note without a majority, and how many readers chose each label (most votes first) or `O`.

    A reader with overlapping spans there has a vote for each label.
    """

    start: int
    end: int
    votes: tuple[tuple[str, int], ...]


@dataclass(slots=True)
class Majority:
    """The spans that the votes make, in order, and the places that they leave open, in order."""

    spans: list[Span] = field(default_factory=list)
    open: list[OpenPlace] = field(default_factory=list)


@dataclass(slots=True)
class _Layer:
    """One label: for each token, how many readers chose it, and how many of those begin a span there."""

    chosen: list[int]
    begun: list[int]
    doubtful: set[int]


def majority(text: str, readings: Sequence[Sequence[Span]], *, label_order: Sequence[str] = ()) -> Majority:
    """The vote of all submitted readings of a note, token by token and label by label.

    The tokens are split at every end of every span. A label holds on a token where more than half of the readers chose
    it; a run of such tokens is a span, and another one starts where more than half of those who chose the label begin a
    span. A place is open where neither a label nor `O` has more than half, and where exactly half are for a label (a
    tie is for a person). Spans with the same label that overlap in one reading can't be told apart on tokens: their
    place is open too.

    `label_order` orders votes of equal number. Raises SpanError if a span is empty or leaves the text.
    """
    everything = [span for reading in readings for span in reading]
    for span in everything:
        check_bounds(span, len(text))
    tokens = split_at(tokenize(text), (edge for span in everything for edge in (span.start, span.end)))
    labels = _in_order({span.label for span in everything}, label_order)
    layers = {label: _layer(tokens, readings, label) for label in labels}
    voters = [0] * len(tokens)  # readers who chose any label
    for reading in readings:
        marked = {at for span in reading for at in range(*covered(tokens, span.start, span.end))}
        for at in marked:
            voters[at] += 1
    spans = [span for label, layer in layers.items() for span in _rebuild(tokens, layer, label, len(readings))]
    return Majority(sorted(spans), _open_places(tokens, layers, voters, len(readings)))


def _in_order(labels: set[str], label_order: Sequence[str]) -> list[str]:
    rank = {label: at for at, label in enumerate(label_order)}
    return sorted(labels, key=lambda label: (rank.get(label, len(rank)), label))


def _layer(tokens: list[Token], readings: Sequence[Sequence[Span]], label: str) -> _Layer:
    layer = _Layer([0] * len(tokens), [0] * len(tokens), set())
    for reading in readings:
        own = {span for span in reading if span.label == label}
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


def _rebuild(tokens: Sequence[Token], layer: _Layer, label: str, readers: int) -> list[Span]:
    spans: list[Span] = []
    start = None
    for at, chosen in enumerate(layer.chosen):
        held = 2 * chosen > readers
        if start is not None and (not held or 2 * layer.begun[at] > chosen):
            spans.append(Span(start, tokens[at - 1].end, label))
            start = None
        if held and start is None:
            start = tokens[at].start
    if start is not None:
        spans.append(Span(start, tokens[-1].end, label))
    return spans


def _open_places(
    tokens: Sequence[Token], layers: dict[str, _Layer], voters: Sequence[int], readers: int
) -> list[OpenPlace]:
    """Open tokens, joined where they follow each other with the same votes and nobody begins a span between them."""
    places: list[OpenPlace] = []
    joined = False
    for at, token in enumerate(tokens):
        counts = [layer.chosen[at] for layer in layers.values()]
        without = readers - voters[at]
        decided = 2 * without > readers or any(2 * count > readers for count in counts)
        tied = any(count and 2 * count == readers for count in counts)
        doubtful = any(at in layer.doubtful for layer in layers.values())
        if (decided and not tied and not doubtful) or not voters[at]:
            joined = False
            continue
        votes = _votes(layers, at, without)
        begins = any(layer.begun[at] for layer in layers.values())
        if joined and not begins and places[-1].votes == votes:
            places[-1] = OpenPlace(places[-1].start, token.end, votes)
        else:
            places.append(OpenPlace(token.start, token.end, votes))
        joined = True
    return places


def _votes(layers: dict[str, _Layer], at: int, without: int) -> tuple[tuple[str, int], ...]:
    counted = Counter({label: layer.chosen[at] for label, layer in layers.items() if layer.chosen[at]})
    votes = sorted(counted.items(), key=lambda vote: -vote[1])  # stable: equal votes stay in label order
    return (*votes, (OUTSIDE, without)) if without else tuple(votes)
