"""Several runs' proposals for one note as one list: every distinct span once, with the runs that proposed it.

Nothing is voted on and nothing is lost: where runs mark one place with other ends or labels, all of these are in the
list, as rivals of each other. Two spans that one and the same run proposed are no rivals, even where they overlap.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from annotations.domain.spans import Span
from annotations.domain.voting import joined

SOURCE: Final = 80


@dataclass(frozen=True, slots=True)
class Backing:
    """A run that proposed a span, by its name, and what it said of it."""

    run: str
    confidence: float | None
    source: str


@dataclass(frozen=True, slots=True, order=True)
class Merged(Span):
    """A span with its `backing`, out of `of` runs.

    `clear` is how many runs agree on it if no rival has as many, else 0.
    """

    backing: tuple[Backing, ...] = field(default=(), compare=False)
    of: int = field(default=0, compare=False)
    clear: int = field(default=0, compare=False)

    @property
    def provenance(self) -> dict[str, Any]:
        """As a proposal's row keeps it."""
        runs = [{"run": b.run, "confidence": b.confidence, "source": b.source} for b in self.backing]
        return {"runs": runs, "agree": len(runs), "of": self.of, "clear": self.clear}


def merge(names: Sequence[str], readings: Sequence[Sequence[Span]]) -> list[Merged]:
    """The list, in order; `readings[i]` is what the run called `names[i]` proposes for the note.

    `confidence` is the mean over all runs of how sure each is of exactly this span: 0 where it doesn't propose it, 1
    where it does without a confidence. `source` names the runs (`rules-1+crf-1`), so that proposals of the same runs
    are counted together wherever sources are.
    """
    found: dict[Span, list[Backing]] = {}
    for run, reading in zip(names, readings, strict=True):
        for span in reading:
            backing = found.setdefault(span, [])
            if not backing or backing[-1].run != run:
                backing.append(Backing(run, span.confidence, span.source))
    spans = sorted(found)
    places = [(span.start, span.end) for span in spans]
    against = rivals(places, [frozenset(b.run for b in found[span]) for span in spans])
    merged = []
    for span, others in zip(spans, against, strict=True):
        backing = found[span]
        sure = sum(1.0 if b.confidence is None else b.confidence for b in backing) / len(names)
        most = max((len(found[spans[other]]) for other in others), default=0)
        merged.append(
            Merged(
                span.start, span.end, span.label, round(sure, 4), joined([b.run for b in backing], SOURCE),
                tuple(backing), len(names), len(backing) if len(backing) > most else 0,
            )
        )  # fmt: skip
    return merged


def rivals(places: Sequence[tuple[int, int]], runs: Sequence[frozenset[Any]]) -> list[list[int]]:
    """For each place (start, end; end-exclusive) the others that overlap it and share no run with it. In any order."""
    order = sorted(range(len(places)), key=places.__getitem__)
    found: list[list[int]] = [[] for _ in places]
    for at, one in enumerate(order):
        for other in order[at + 1 :]:
            if places[other][0] >= places[one][1]:
                break
            if not runs[one] & runs[other]:
                found[one].append(other)
                found[other].append(one)
    return found
