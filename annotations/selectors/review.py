"""A review as it stands."""

from typing import Any

from annotations.models import AnnotationSet, Author, Decision, Document, Review, Span


def review_state(*, document: Document, author: Author) -> dict[str, Any]:
    """Proposals with what was decided on them, gold as it stands, and how many are open.

    A proposal that gold holds already, span for span, counts as accepted: there is nothing left to decide.
    """
    gold = AnnotationSet.objects.filter(document=document, author__kind=Author.Kind.GOLD).first()
    spans = list(gold.spans.order_by("start", "end", "id")) if gold else []
    present = {(span.start, span.end, span.label_id) for span in spans}
    decisions = {d.proposal_id: d for d in Decision.objects.filter(review__document=document, review__author=author)}
    proposals = []
    for span in Span.objects.filter(annotation_set__document=document, annotation_set__author=author):
        decision = decisions.get(span.pk)
        state = decision.verdict if decision else "open"
        if decision is None and (span.start, span.end, span.label_id) in present:
            state = Decision.Verdict.ACCEPTED
        proposals.append(
            {
                "id": span.pk,
                "start": span.start,
                "end": span.end,
                "label": span.label_id,
                "confidence": span.confidence,
                "source": span.source,
                "state": str(state),
                "place": _place(decision),
            }
        )
    review = Review.objects.filter(document=document, author=author).first()
    return {
        "version": gold.version if gold else 0,
        "closed": bool(review and review.closed_at),
        "open": sum(proposal["state"] == "open" for proposal in proposals),
        "proposals": proposals,
        "gold": [{"start": s.start, "end": s.end, "label": s.label_id} for s in spans],
    }


def _place(decision: Decision | None) -> list[int | None] | None:
    """Where an accepted proposal stands in gold: start, end, label id."""
    if decision is None or decision.start is None:
        return None
    return [decision.start, decision.end, decision.label_id]
