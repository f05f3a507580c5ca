"""Corpus statistics: tokens and spans of notes by label, as in tables 3.1 to 3.3 of Catelli 2021.

Tokens are those of the default rule, split at the start and end of every span of the note, as in BIO tags.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypedDict

from annotations.domain.spans import Span
from annotations.domain.tokens import Parts


class PartData(TypedDict):
    """The counts of a part of a corpus, to be stored. `labels`: number of spans and of their tokens by label code."""

    notes: int
    tokens: int
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
    """A part of a corpus, for example its training notes."""

    notes: int = 0
    tokens: int = 0
    labels: dict[str, Count] = field(default_factory=dict)

    def add_note(self, text: str, spans: Iterable[Span]) -> None:
        parts, own = Parts(text), list(spans)
        edges = {edge for span in own for edge in (span.start, span.end)}
        self.notes += 1
        self.tokens += parts.whole(edges)
        cuts = sorted(edge for edge in edges if parts.inside_token(edge))
        for span in own:
            inner = bisect_left(cuts, span.end) - bisect_right(cuts, span.start)
            count = self.labels.setdefault(span.label, Count())
            count.spans += 1
            count.tokens += parts.count(span.start, span.end) + inner

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
        return {"notes": self.notes, "tokens": self.tokens, "labels": labels}


def part_of(data: PartData) -> Part:
    labels = {code: Count(spans, tokens) for code, (spans, tokens) in data["labels"].items()}
    return Part(data["notes"], data["tokens"], labels)


def together(parts: Iterable[Part]) -> Part:
    """Several parts as one."""
    whole = Part()
    for part in parts:
        whole.notes += part.notes
        whole.tokens += part.tokens
        for code, count in part.labels.items():
            whole.labels[code] = whole.labels.get(code, Count()) + count
    return whole
