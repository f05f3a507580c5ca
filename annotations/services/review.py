"""Reviewing a run's proposals: each decision one transaction and one event, all of them reversible.

Accepted spans form the note's gold set, each with its provenance. The gold set's row is locked first, so that two
reviewers of one note take turns; a change id is recorded once only, so that a replay is harmless.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from annotations.domain.spans import Span as DomainSpan
from annotations.domain.spans import SpanError, checked
from annotations.models import AnnotationSet, Author, Decision, Document, Event, Label, Review, Span, User, Verb
from annotations.selectors.review import review_state
from annotations.services.authors import gold_author
from annotations.services.errors import ServiceError
from annotations.services.events import record
from annotations.services.review_log import (
    Act,
    Effect,
    Place,
    accepted_elsewhere,
    apply_effect,
    check_there,
    effect_of,
    last_decision,
    rows_at,
    rows_led_to,
    rows_to_make,
    state_of,
)


@dataclass(frozen=True, slots=True)
class Request:
    """One act. `proposal` for accept, reject, correct; `place` for correct, add, remove; `quote` is the marked text."""

    change_id: UUID
    act: Act
    proposal: int | None = None
    place: Place | None = None
    quote: str | None = None


def decide(*, document: Document, author: Author, user: User, request: Request) -> dict[str, Any]:
    """Make one decision on `author`'s proposals for `document` (text loaded). Returns the review as it then stands.

    Raises ServiceError: `proposal` (not of this run and note), `label`, `quote`, `outside`, `empty`, `closed`,
    `nothing` (to undo or redo), `moved` (changed since by others), `elsewhere` (accepted from another run).
    """
    try:
        with transaction.atomic():
            review, gold = _locked(document, author)
            if not Event.objects.filter(annotation_set_id=gold.pk, change_id=request.change_id).exists():
                _decide(document, author, user, review, gold, request)
    except IntegrityError:
        # The same change at the same moment from another tab: it is made once, and this is its answer.
        if not Event.objects.filter(change_id=request.change_id).exists():
            raise
    return review_state(document=document, author=author)


def _locked(document: Document, author: Author) -> tuple[Review, AnnotationSet]:
    """The review and the gold set of a note, made on first use; the gold set's row stays locked."""
    review, _ = Review.objects.get_or_create(document=document, author=author)
    gold, _ = AnnotationSet.objects.get_or_create(
        document=document, author=gold_author(document.project), defaults={"blind": False}
    )
    return review, AnnotationSet.objects.select_for_update().get(pk=gold.pk)


def _decide(
    document: Document, author: Author, user: User, review: Review, gold: AnnotationSet, request: Request
) -> None:
    if review.closed_at is not None:
        raise ServiceError("this note's review is closed; reopen it to change a decision", code="closed")
    verb, reverts = Verb.REVIEW_DECIDED, None
    if request.act in (Act.UNDO, Act.REDO):
        event = last_decision(gold, author, user, redo=request.act is Act.REDO)
        effect = effect_of(event).opposite()
        check_there(gold, effect)
        verb, reverts = Verb.REVIEW_UNDONE, event.pk
    else:
        effect = _plan(document, author, user, gold, request)
    apply_effect(review, gold, user, effect)
    AnnotationSet.objects.filter(pk=gold.pk).update(version=gold.version + 1)
    record(
        verb=verb,
        actor=user,
        project_id=document.project_id,
        document_id=document.pk,
        annotation_set_id=gold.pk,
        data=effect.data() | {"act": str(request.act), "run": author.pk},
        change_id=request.change_id,
        reverts=reverts,
    )


# ── What an act means ────────────────────────────────────────────────────────────────────────────────────────────────


def _plan(document: Document, author: Author, user: User, gold: AnnotationSet, request: Request) -> Effect:
    if request.act is Act.ADD:
        place = _place(document, request)
        return Effect(None, None, None, rows_to_make(gold, place, _added(user)), [])
    if request.act is Act.REMOVE:
        assert request.place is not None  # the view saw to it
        gone = rows_at(gold, request.place)
        if not gone:
            raise ServiceError("this span is no longer in gold; the page shows what is", code="moved")
        return Effect(None, None, None, [], gone)
    proposal = _proposal(document, author, request.proposal)
    decision = Decision.objects.filter(proposal_id=proposal.pk).first()
    before = state_of(decision)
    proposed = (proposal.start, proposal.end, proposal.label_id)
    gone = rows_led_to(gold, proposal, decision)
    if request.act is Act.REJECT:
        other = accepted_elsewhere(gold, list(proposed), proposal.pk)
        if other is not None:
            raise ServiceError(
                f"{other.reviewer.username} accepted this very span as another run proposed it; take that back first",
                code="elsewhere",
            )
        # A rejected proposal that stood in gold for another reason leaves it too: the reviewer says it is wrong.
        gone += [row for row in rows_at(gold, proposed) if row not in gone]
        return Effect(proposal.pk, before, {"verdict": Decision.Verdict.REJECTED, "place": None}, [], gone)
    place = _place(document, request) if request.act is Act.CORRECT else proposed
    after = {"verdict": Decision.Verdict.ACCEPTED, "place": list(place)}
    if before == after:
        return Effect(proposal.pk, before, after, [], [])
    made = rows_to_make(gold, place, _provenance(proposal, author, user, place), besides=gone)
    return Effect(proposal.pk, before, after, made, gone)


def _proposal(document: Document, author: Author, pk: int | None) -> Span:
    proposal = Span.objects.filter(
        pk=pk or 0, annotation_set__document=document, annotation_set__author=author, annotation_set__state="submitted"
    ).first()
    if proposal is None:
        raise ServiceError("this proposal does not belong to this run and note", code="proposal")
    return proposal


def _place(document: Document, request: Request) -> Place:
    """The marked stretch, trimmed and checked; the label one of the project's own."""
    assert request.place is not None  # the view saw to it
    start, end, label = request.place
    known = Label.objects.filter(pk=label, label_set__project_id=document.project_id, merged_into__isnull=True)
    if not known.exists():
        raise ServiceError("that label is not one of this project's; reload the page", code="label")
    try:
        span = checked(document.text, DomainSpan(start, end, ""), request.quote)
    except SpanError as error:
        raise ServiceError(f"not saved: {error}", code=error.code) from None
    return span.start, span.end, label


def _provenance(proposal: Span, author: Author, user: User, place: Place) -> dict[str, Any]:
    changed = []
    if place[:2] != (proposal.start, proposal.end):
        changed.append("bounds")
    if place[2] != proposal.label_id:
        changed.append("label")
    return {
        "from": f"{author.kind}:{author.name}",
        "set": proposal.annotation_set_id,
        "proposal": proposal.pk,
        "confidence": proposal.confidence,
        "source": proposal.source,
        "changed": changed,
    } | _decided(user)


def _added(user: User) -> dict[str, Any]:
    return {"from": f"reviewer:{user.username}", "changed": ["added"]} | _decided(user)


def _decided(user: User) -> dict[str, Any]:
    return {"by": user.username, "at": timezone.now().isoformat(timespec="seconds")}


# ── Beginning and end ─────────────────────────────────────────────────────────────────────────────────────────────────


def close_review(*, document: Document, author: Author, user: User) -> Review:
    """End the review of a note: its gold now counts. Refused (`open`) while a proposal is undecided. Twice is once."""
    with transaction.atomic():
        review, gold = _locked(document, author)
        if review.closed_at is not None:
            return review
        left = review_state(document=document, author=author)["open"]
        if left:
            raise ServiceError(f"{left} proposals are still open; decide on them first", code="open")
        empty = not gold.spans.exists()
        review.closed_by, review.closed_at, review.found_empty = user, timezone.now(), empty
        review.save(update_fields=["closed_by", "closed_at", "found_empty"])
        gold.state, gold.submitted_at = AnnotationSet.State.SUBMITTED, timezone.now()
        gold.save(update_fields=["state", "submitted_at", "updated_at"])
        record(
            verb=Verb.REVIEW_CLOSED,
            actor=user,
            project_id=document.project_id,
            document_id=document.pk,
            annotation_set_id=gold.pk,
            data={"run": author.pk, "spans": gold.spans.count(), "found_empty": empty},
        )
    return review


def reopen_review(*, document: Document, author: Author, user: User) -> Review:
    """Take a closed review up again. The gold stays as it is, and counts as before, until it is changed."""
    with transaction.atomic():
        review, gold = _locked(document, author)
        if review.closed_at is not None:
            review.closed_by, review.closed_at = None, None
            review.save(update_fields=["closed_by", "closed_at"])
            record(
                verb=Verb.REVIEW_REOPENED,
                actor=user,
                project_id=document.project_id,
                document_id=document.pk,
                annotation_set_id=gold.pk,
                data={"run": author.pk},
            )
    return review
