"""Corpus statistics: tokens and spans of notes by label, as in tables 3.1 to 3.3 of Catelli 2021.

Tokens are those of the default rule or of a tokenizer, split at the start and end of every span of the note, as in BIO
tags. The BIO tags themselves are counted as in table 6 of Salierno et al. 2024.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypedDict

from annotations.text.bio import encode, split_tag
from annotations.text.spans import Span
from annotations.text.tokens import Parts, Tokenizer, covered, split_at, tokenize


class PartData(TypedDict):
    """The counts of a part of a corpus, to be stored. `labels`: number of spans and of their tokens by label code."""

    notes: int
    tokens: int
    begin: int
    inside: int
    labels: dict[str, list[int]]


@dataclass(slots=True)
class Count:
    """Spans, and the tokens in them. A token in two overlapping spans counts in both."""

    spans: int = 0
    tokens: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(self.spans + other.spans, self.tokens + other.tokens)

    @property
    def tokens_per_span(self) -> float | None:
        """None without spans."""
        return self.tokens / self.spans if self.spans else None


@dataclass(slots=True)
class Part:
    """A part of a corpus, for example its training notes. `begin`, `inside`: tokens with the tags B and I."""

    notes: int = 0
    tokens: int = 0
    begin: int = 0
    inside: int = 0
    labels: dict[str, Count] = field(default_factory=dict)

    def add_note(self, text: str, spans: Iterable[Span], tokenizer: Tokenizer | None = None) -> None:
        """Count a note. Without a tokenizer, tokens are those of the default rule."""
        own = sorted(spans)
        tokens, in_spans = _by_rule(text, own) if tokenizer is None else _by(tokenizer, text, own)
        self.notes += 1
        self.tokens += tokens
        for span, n in zip(own, in_spans, strict=True):
            count = self.labels.setdefault(span.label, Count())
            count.spans += 1
            count.tokens += n
        if all(before.end <= after.start for before, after in pairwise(own)):
            begin = sum(n > 0 for n in in_spans)
            self.begin += begin
            self.inside += sum(in_spans) - begin
        else:  # One label per token: only the encoder knows which span has it.
            marks = Counter(split_tag(tag)[0] for tag in encode(text, own, tokenizer=tokenizer or tokenize).tags)
            self.begin += marks["B"]
            self.inside += marks["I"]

    @property
    def outside(self) -> int:
        """Tokens with the tag O."""
        return self.tokens - self.begin - self.inside

    def of(self, codes: Iterable[str]) -> Count:
        """The spans with any of these labels."""
        return sum((self.labels[code] for code in codes if code in self.labels), Count())

    @property
    def all(self) -> Count:
        return self.of(self.labels)

    def per_note(self, n: int) -> float | None:
        """The mean over the notes; None without notes."""
        return n / self.notes if self.notes else None

    def data(self) -> PartData:
        labels = {code: [count.spans, count.tokens] for code, count in self.labels.items()}
        return {
            "notes": self.notes,
            "tokens": self.tokens,
            "begin": self.begin,
            "inside": self.inside,
            "labels": labels,
        }


def _by_rule(text: str, spans: Sequence[Span]) -> tuple[int, list[int]]:
    """The tokens of the text and of each span, by the default rule, without creating them."""
    parts = Parts(text)
    edges = {edge for span in spans for edge in (span.start, span.end)}
    cuts = sorted(edge for edge in edges if parts.inside_token(edge))
    return parts.whole(edges), [
        parts.count(span.start, span.end) + bisect_left(cuts, span.end) - bisect_right(cuts, span.start)
        for span in spans
    ]


def _by(tokenizer: Tokenizer, text: str, spans: Sequence[Span]) -> tuple[int, list[int]]:
    """The tokens of the text and of each span, by a tokenizer."""
    tokens = split_at(tokenizer(text), (edge for span in spans for edge in (span.start, span.end)))
    ranges = (covered(tokens, span.start, span.end) for span in spans)
    return len(tokens), [past - first for first, past in ranges]


def part_of(data: PartData) -> Part:
    labels = {code: Count(spans, tokens) for code, (spans, tokens) in data["labels"].items()}
    return Part(data["notes"], data["tokens"], data["begin"], data["inside"], labels)


def together(parts: Iterable[Part]) -> Part:
    """Several parts as one."""
    whole = Part()
    for part in parts:
        whole.notes += part.notes
        whole.tokens += part.tokens
        whole.begin += part.begin
        whole.inside += part.inside
        for code, count in part.labels.items():
            whole.labels[code] = whole.labels.get(code, Count()) + count
    return whole
