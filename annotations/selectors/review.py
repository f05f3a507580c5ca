"""A review as it stands."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from annotations.models import AnnotationSet, Author, Decision, Document, Review, Span
from annotations.models.prepared import PreparedRead

Place = tuple[int, int, int]
"""Start, end (code points, end-exclusive) and label id."""
Seen = tuple[str, Place | None]
"""What a page shows of a proposal: open, accepted or rejected; and of an accepted one, where it stands in gold."""

# Every decision is answered with the whole review.
_GOLD_SET = PreparedRead(
    lambda document, kind: (
        AnnotationSet.objects.filter(document_id=document, author__kind=kind)
        .order_by("id")
        .values_list("id", "version")[:1]
    ),
    int,
    str,
)
_GOLD = PreparedRead(
    lambda gold: (
        Span.objects.filter(annotation_set_id=gold)
        .order_by("start", "end", "id")
        .values_list("start", "end", "label_id", "provenance")
    ),
    int,
)
_PROPOSALS = PreparedRead(
    lambda document, author: (
        Span.objects.filter(annotation_set__document_id=document, annotation_set__author_id=author)
        .order_by("start", "end", "id")
        .values_list("id", "start", "end", "label_id", "confidence", "source")
    ),
    int,
    int,
)
_REVIEW = PreparedRead(
    lambda document, author: Review.objects.filter(document_id=document, author_id=author).values_list(
        "id", "closed_by_id"
    )[:1],
    int,
    int,
)


def review_state(*, document: Document, author: Author) -> dict[str, Any]:
    """Proposals with what was decided on them and by whom, gold as it stands, and how many are open.

    A proposal that gold holds already, span for span, counts as accepted: there is nothing left to decide.
    One whose accepted span somebody took out of gold since by other means is open again.
    """
    gold, version = _GOLD_SET.first(document.pk, Author.Kind.GOLD.value) or (0, 0)
    review, closed_by = _REVIEW.first(document.pk, author.pk) or (0, None)
    spans = _GOLD.all(gold) if gold else []
    present = {(start, end, label) for start, end, label, _ in spans}
    decisions = _decisions(review) if review else {}
    proposals = [
        _proposal(*shown_state(present, place, decisions.get(pk)), decisions.get(pk))
        | {"id": pk, "start": place[0], "end": place[1], "label": place[2], "confidence": confidence, "source": source}
        for pk, *place, confidence, source in _PROPOSALS.all(document.pk, author.pk)
    ]
    return {
        "version": version,
        "closed": closed_by is not None,
        "open": sum(proposal["state"] == "open" for proposal in proposals),
        "proposals": proposals,
        "gold": [{"start": s, "end": e, "label": label} | _history(how) for s, e, label, how in spans],
    }


def _decisions(review: int) -> dict[int, Decision]:
    made = Decision.objects.filter(review_id=review).select_related("reviewer")
    return {decision.proposal_id: decision for decision in made}


def shown_state(present: Iterable[Place], proposed: Iterable[int], decision: Decision | None) -> Seen:
    """How a proposal stands, with `present` being the spans in gold."""
    if decision is not None and decision.verdict == Decision.Verdict.REJECTED:
        return "rejected", None
    start, end, label = proposed
    if decision is not None and decision.start is not None and decision.end is not None and decision.label_id:
        start, end, label = decision.start, decision.end, decision.label_id
    place = start, end, label
    return ("accepted", place) if place in present else ("open", None)


def _proposal(state: str, place: Place | None, decision: Decision | None) -> dict[str, Any]:
    at: datetime | None = decision.at if decision else None
    return {
        "state": state,
        "place": place,
        "by": decision.reviewer.username if decision else None,
        "at": at.isoformat() if at else None,
    }


def _history(provenance: Any) -> dict[str, Any]:
    """How a gold span came about: from whose reading, decided by whom, when."""
    known = (json.loads(provenance) if isinstance(provenance, str) else provenance) or {}
    return {"from": known.get("from", ""), "by": known.get("by"), "at": known.get("at")}
