"""Merged list of several runs' suggestions for one note: every distinct span once, with the runs that suggested it.

There is no vote, and no suggestion is dropped: where different runs suggest overlapping spans with other bounds or
labels, the list contains all of these conflicting spans. Overlapping spans of one and the same run don't conflict.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from annotations.text.attributes import Attributes, united
from annotations.text.combining.voting import joined
from annotations.text.doubtful import Doubtful
from annotations.text.provenance import Backed, Doubt, RunSays
from annotations.text.spans import Span

SOURCE: Final = 80


@dataclass(frozen=True, slots=True)
class Backing:
    """A run that suggested a span: its name, and the confidence and source that it gave."""

    run: str
    confidence: float | None
    source: str


@dataclass(frozen=True, slots=True)
class Merged(Span):
    """A span with the runs that suggested it (`backing`), out of `of` runs.

    `clear` is the number of runs that suggested it if every conflicting span has fewer, else 0. `doubt` is the doubt of
    the first of these runs if all of them doubt the span, else None. `attributes` are those of all these runs;
    `differing` names those to which two runs gave different values, of which the first run's is kept.
    """

    backing: tuple[Backing, ...] = field(default=(), compare=False)
    of: int = field(default=0, compare=False)
    clear: int = field(default=0, compare=False)
    doubt: Doubt | None = field(default=None, compare=False)
    differing: tuple[str, ...] = field(default=(), compare=False)

    @property
    def provenance(self) -> Backed:
        """The provenance that is stored with the suggestion."""
        runs = [RunSays(run=b.run, confidence=b.confidence, source=b.source) for b in self.backing]
        found: Backed = {"runs": runs, "agree": len(runs), "of": self.of, "clear": self.clear}
        if self.differing:
            found["attributes"] = list(self.differing)
        return {**found, **self.doubt} if self.doubt else found


def merge(names: Sequence[str], annotation_sets: Sequence[Sequence[Span]]) -> list[Merged]:
    """The merged list, in order; `annotation_sets[i]` holds the suggestions of the run named `names[i]`.

    `confidence` is the mean over all runs of the confidence in exactly this span: 0 for a run that doesn't suggest it,
    1 for a run that suggests it without a confidence. `source` names the runs (`rules-1+crf-1`), so that figures by
    source count suggestions of the same runs together.
    """
    found: dict[Span, list[Backing]] = {}
    doubts: dict[Span, list[Doubt | None]] = {}
    given: dict[Span, list[Attributes]] = {}
    for run, annotation_set in zip(names, annotation_sets, strict=True):
        for span in annotation_set:
            plain = Span(span.start, span.end, span.label)  # A doubtful span is never equal to a plain one.
            backing = found.setdefault(plain, [])
            if not backing or backing[-1].run != run:
                backing.append(Backing(run, span.confidence, span.source))
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
            Merged(
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
