"""A review as it stands."""

from collections.abc import Iterable
from typing import Any

from annotations.models import AnnotationSet, Author, Decision, Document, Review, Span

Place = tuple[int, int, int]
"""Start, end (code points, end-exclusive) and label id."""
Seen = tuple[str, Place | None]
"""What a page shows of a proposal: open, accepted or rejected; and of an accepted one, where it stands in gold."""


def review_state(*, document: Document, author: Author) -> dict[str, Any]:
    """Proposals with what was decided on them and by whom, gold as it stands, and how many are open.

    A proposal that gold holds already, span for span, counts as accepted: there is nothing left to decide.
    One whose accepted span somebody took out of gold since by other means is open again.
    """
    gold = AnnotationSet.objects.filter(document=document, author__kind=Author.Kind.GOLD).first()
    spans = list(gold.spans.order_by("start", "end", "id")) if gold else []
    present = {(span.start, span.end, span.label_id) for span in spans}
    made = Decision.objects.filter(review__document=document, review__author=author).select_related("reviewer")
    decisions = {decision.proposal_id: decision for decision in made}
    proposed = Span.objects.filter(annotation_set__document=document, annotation_set__author=author)
    proposals = [_proposal(span, present, decisions.get(span.pk)) for span in proposed]
    review = Review.objects.filter(document=document, author=author).first()
    return {
        "version": gold.version if gold else 0,
        "closed": bool(review and review.closed_at),
        "open": sum(proposal["state"] == "open" for proposal in proposals),
        "proposals": proposals,
        "gold": [{"start": s.start, "end": s.end, "label": s.label_id} | _history(s.provenance) for s in spans],
    }


def shown_state(present: Iterable[Place], proposal: Span, decision: Decision | None) -> Seen:
    """How a proposal stands, with `present` being the spans in gold."""
    if decision is not None and decision.verdict == Decision.Verdict.REJECTED:
        return "rejected", None
    place = proposal.start, proposal.end, proposal.label_id
    if decision is not None and decision.start is not None and decision.end is not None and decision.label_id:
        place = decision.start, decision.end, decision.label_id
    return ("accepted", place) if place in present else ("open", None)


def _proposal(span: Span, present: set[Place], decision: Decision | None) -> dict[str, Any]:
    state, place = shown_state(present, span, decision)
    return {
        "id": span.pk,
        "start": span.start,
        "end": span.end,
        "label": span.label_id,
        "confidence": span.confidence,
        "source": span.source,
        "state": state,
        "place": place,
        "by": decision.reviewer.username if decision else None,
        "at": decision.at.isoformat() if decision else None,
    }


def _history(provenance: dict[str, Any] | None) -> dict[str, Any]:
    """How a gold span came about: from whose reading, decided by whom, when."""
    known = provenance or {}
    return {"from": known.get("from", ""), "by": known.get("by"), "at": known.get("at")}
