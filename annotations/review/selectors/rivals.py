"""Which proposals of a merged list stand against each other (domain.merging), as its rows tell it."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from annotations.domain.conflicts import Candidate, Place
from annotations.domain.merging import rivals
from annotations.models import Span


def backing_of(provenance: Any) -> dict[str, Any] | None:
    """A proposal's runs, `{runs: [{run, confidence, source}], agree, of, clear}`; None outside of merged lists."""
    known = json.loads(provenance) if isinstance(provenance, str) else provenance
    return known if known and "runs" in known else None


def candidate_of(pk: int, place: Place, reading: int, provenance: Any, to: int | None) -> Candidate:
    """A proposal as a bulk act would accept it, under its own label or `to`."""
    backing = backing_of(provenance)
    runs = frozenset(each["run"] for each in backing["runs"]) if backing else frozenset()
    return Candidate(pk, (place[0], place[1], place[2] if to is None else to), reading, runs)


def rivals_among(proposals: Sequence[tuple[int, int, int, dict[str, Any]]]) -> dict[int, list[int]]:
    """By id the ids of its rivals. `proposals` are all those of one note: id, start, end, backing."""
    against = rivals(
        [(start, end) for _, start, end, _ in proposals],
        [frozenset(one["run"] for one in backing["runs"]) for *_, backing in proposals],
    )
    return {proposals[at][0]: [proposals[other][0] for other in others] for at, others in enumerate(against)}


def rivals_in(sets: Iterable[int]) -> dict[int, list[Span]]:
    """The rivals of every proposal in these annotation sets, by its id. Those of other runs have none."""
    by_set: dict[int, list[Span]] = {}
    for span in Span.objects.filter(annotation_set__in=list(sets), provenance__isnull=False).order_by("pk"):
        by_set.setdefault(span.annotation_set_id, []).append(span)
    found: dict[int, list[Span]] = {}
    for spans in by_set.values():
        by_id = {span.pk: span for span in spans}
        backed = [(span, backing) for span in spans if (backing := backing_of(span.provenance))]
        among = rivals_among([(span.pk, span.start, span.end, backing) for span, backing in backed])
        found |= {pk: [by_id[other] for other in others] for pk, others in among.items()}
    return found


def rivals_of(proposal: Span) -> list[Span]:
    """The rivals of one proposal. They overlap it, so that only these are looked at."""
    backing = backing_of(proposal.provenance)
    if backing is None:
        return []
    near = Span.objects.filter(
        annotation_set=proposal.annotation_set_id, start__lt=proposal.end, end__gt=proposal.start
    ).order_by("pk")
    spans = {proposal.pk: proposal} | {span.pk: span for span in near}
    backed = [
        (span.pk, span.start, span.end, backing) for span in spans.values() if (backing := backing_of(span.provenance))
    ]
    return [spans[other] for other in sorted(rivals_among(backed)[proposal.pk])]


def settled_by(place: tuple[int, int, int], rivals: Iterable[Span]) -> list[Span]:
    """The rivals that an acceptance at the place leaves no room for; one that says just that place is right too."""
    start, end, label = place
    return [
        span
        for span in rivals
        if span.start < end and start < span.end and (span.start, span.end, span.label_id) != (start, end, label)
    ]
