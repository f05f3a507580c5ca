"""A review as it stands."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef

from annotations.models import AnnotationSet, Author, Decision, Document, Handover, Review, Span, User
from annotations.models.prepared import PreparedRead
from annotations.projects.selectors.second_reviews import ACTIVE
from annotations.review.selectors.handovers import Between, between
from annotations.review.selectors.planted import HIDDEN, planted_in
from annotations.review.selectors.rivals import backing_of, rivals_among
from annotations.review.selectors.settled import is_settled

Place = tuple[int, int, int]
"""Start, end (code points, end-exclusive) and label id."""
Seen = tuple[str, Place | None]
"""What a page shows of a proposal: open, accepted or rejected; and of an accepted one, where it stands in gold."""

# Every decision is answered with the whole review.
_GOLD_SET = PreparedRead(
    lambda document, kind: (
        AnnotationSet.objects.filter(document_id=document, author__kind=kind)
        .order_by("id")
        .values_list("id", "version", "state", "submitted_at")[:1]
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
        .values_list("id", "start", "end", "label_id", "confidence", "source", "provenance")
    ),
    int,
    int,
)
_REVIEW = PreparedRead(
    lambda document, author, waiting, settling: (
        Review.objects.filter(document_id=document, author_id=author)
        .annotate(handed_on=Exists(Handover.objects.filter(review=OuterRef("pk"), state__in=[waiting, settling])))
        .values_list("id", "closed_by_id", "handed_on", "planted_share")[:1]
    ),
    int,
    int,
    str,
    str,
)


def review_state(*, document: Document, author: Author, user: User | None = None) -> dict[str, Any]:
    """Proposals with what was decided on them and by whom, gold as it stands, and how many are open.

    `stage` is closed, first, or, between two reviewers, what the note is for `user`: waiting (for another person, so
    closed to this one), second or settling. `between` is then who was first, whether the second is blind, and what the
    first said where that may be seen.

    A planted leak is not there until the note was closed once; from then on `planted` says what became of it, except to
    a second reviewer who is not to know what the first did.

    A proposal that gold holds already, span for span, counts as accepted: there is nothing left to decide.
    One whose accepted span somebody took out of gold since by other means is open again.
    """
    gold, version, *how = _GOLD_SET.first(document.pk, Author.Kind.GOLD.value) or (0, 0, "", None)
    review, closed_by, handed_on, share = _REVIEW.first(document.pk, author.pk, *ACTIVE) or (0, None, False, None)
    spans = _GOLD.all(gold) if gold else []
    present = {(start, end, label) for start, end, label, _ in spans}
    decisions = _decisions(review) if review else {}
    planted = planted_in(review) if share else {}
    rows = [row for row in _PROPOSALS.all(document.pk, author.pk) if planted.get(row[0]) != HIDDEN]
    proposals = [
        _proposal(*shown_state(present, place, decisions.get(pk)), decisions.get(pk))
        | {"id": pk, "start": place[0], "end": place[1], "label": place[2], "confidence": confidence, "source": source}
        for pk, *place, confidence, source, _ in rows
    ]
    merged = [(row[0], row[1], row[2], backing) for row in rows if (backing := backing_of(row[6]))]
    if merged:
        against, by_id = rivals_among(merged), {proposal["id"]: proposal for proposal in proposals}
        for pk, _, _, backing in merged:
            by_id[pk] |= {"runs": backing["runs"], "of": backing["of"], "rivals": against[pk]}
    meets = between(review, user) if handed_on and closed_by is None else None
    stage = meets.stage if meets else "first" if closed_by is None else "closed"
    if stage != "second":
        for proposal in proposals:
            if proposal["id"] in planted:
                proposal["planted"] = planted[proposal["id"]]
    return {
        "version": version,
        "closed": stage in ("closed", "waiting"),
        "stage": stage,
        "between": _between(meets) if meets else None,
        # Whether the note was drawn for planted leaks: it says nothing of what was drawn.
        "planting": bool(share),
        # Whether the note has gold that a person has finished, so that decisions change it (selectors.settled).
        "settled": is_settled(*how),
        "open": sum(proposal["state"] == "open" for proposal in proposals),
        "proposals": proposals,
        "gold": [{"start": s, "end": e, "label": label} | _history(how) for s, e, label, how in spans],
    }


def _between(meets: Between) -> dict[str, Any]:
    known: dict[str, Any] = {"first": meets.first, "blind": meets.blind, "outcome": None}
    if meets.shows_first:
        outcome = Handover.objects.values_list("outcome", flat=True).get(pk=meets.pk)
        known["outcome"] = {"proposals": outcome["proposals"], "others": outcome["others"]}
    return known


class Said(NamedTuple):
    """A decision as far as it is shown: a model object for each of many would take most of an answer's time."""

    proposal_id: int
    verdict: str
    start: int | None
    end: int | None
    label_id: int | None
    at: datetime
    by: str


def _decisions(review: int) -> dict[int, Said]:
    made = Decision.objects.filter(review_id=review).order_by()
    rows = made.values_list("proposal_id", "verdict", "start", "end", "label_id", "at", "reviewer__username")
    return {row[0]: Said(*row) for row in rows}


def shown_state(present: Iterable[Place], proposed: Iterable[int], decision: Said | Decision | None) -> Seen:
    """How a proposal stands, with `present` being the spans in gold."""
    if decision is not None and decision.verdict == Decision.Verdict.REJECTED:
        return "rejected", None
    start, end, label = proposed
    if decision is not None and decision.start is not None and decision.end is not None and decision.label_id:
        start, end, label = decision.start, decision.end, decision.label_id
    place = start, end, label
    return ("accepted", place) if place in present else ("open", None)


def _proposal(state: str, place: Place | None, decision: Said | None) -> dict[str, Any]:
    return {
        "state": state,
        "place": place,
        "by": decision.by if decision else None,
        "at": decision.at.isoformat() if decision else None,
    }


def _history(provenance: Any) -> dict[str, Any]:
    """How a gold span came about: from whose reading, decided by whom, when."""
    known = (json.loads(provenance) if isinstance(provenance, str) else provenance) or {}
    return {"from": known.get("from", ""), "by": known.get("by"), "at": known.get("at")}
