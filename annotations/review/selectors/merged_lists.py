"""Suggestions of a merged list: the runs that suggest each, and which of them conflict (domain.combining.merging)."""

import json
from collections.abc import Sequence

from annotations.review.rules.conflicts import Candidate, LabeledBounds
from annotations.text.combining import conflicting_spans
from annotations.text.provenance import Backed


def backing_of(provenance: str | Backed | None) -> Backed | None:
    """The runs behind a suggestion of a merged list; None for a suggestion of a single run.

    The shape is `{runs: [{run, confidence, source}], agree, of, clear}`.
    """
    known: Backed | None = json.loads(provenance) if isinstance(provenance, str) else provenance
    return known if known and "runs" in known else None


def candidate_of(
    pk: int, bounds: LabeledBounds, annotation_set: int, provenance: str | Backed | None, to: int | None
) -> Candidate:
    """A suggestion as a bulk act would accept it: with its own label, or with the label `to`."""
    backing = backing_of(provenance)
    runs = frozenset(each["run"] for each in backing["runs"]) if backing else frozenset()
    start, end, label = bounds
    return Candidate(pk, (start, end, label if to is None else to), annotation_set, runs)


def conflicting_among(suggestions: Sequence[tuple[int, int, int, Backed]]) -> dict[int, list[int]]:
    """The ids of the conflicting suggestions, by suggestion id.

    `suggestions` are all suggestions of the merged list in one note: id, start, end, backing.
    """
    conflicting = conflicting_spans(
        [(start, end) for _, start, end, _ in suggestions],
        [frozenset(one["run"] for one in backing["runs"]) for *_, backing in suggestions],
    )
    return {
        suggestions[index][0]: [suggestions[other][0] for other in others] for index, others in enumerate(conflicting)
    }
