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
from annotations.selectors.review import Seen, review_state, shown_state
from annotations.services.authors import gold_author
from annotations.services.errors import ServiceError
from annotations.services.events import record
from annotations.services.label_lock import keep_labels
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
    """One act. `proposal` for accept, reject, correct; `place` for correct, add, remove; `quote` is the marked text.

    `seen` is the proposal as the page shows it: what somebody else decided meanwhile is then not overwritten unseen.
    """

    change_id: UUID
    act: Act
    proposal: int | None = None
    place: Place | None = None
    quote: str | None = None
    seen: Seen | None = None


def decide(*, document: Document, author: Author, user: User, request: Request) -> dict[str, Any]:
    """Make one decision on `author`'s proposals for `document`. Returns the review as it then stands.

    What would change nothing is no decision, and leaves no event.
    Raises ServiceError: `proposal` (not of this run and note), `label`, `quote`, `outside`, `empty`, `closed`,
    `nothing` (to undo or redo), `moved` (changed since by others), `elsewhere` (accepted from another run).
    """
    try:
        with transaction.atomic():
            keep_labels(document.project_id)
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
    while True:
        locked = AnnotationSet.objects.select_for_update(of=("self",))
        gold = locked.filter(document=document, author__kind=Author.Kind.GOLD).first()
        if gold is not None:
            # Read under the lock: somebody may just have closed it.
            return Review.objects.get_or_create(document=document, author=author)[0], gold
        # Made by whoever is first; the other then waits for the row above.
        AnnotationSet.objects.get_or_create(
            document=document, author=gold_author(document.project), defaults={"blind": False}
        )


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
        plan = _plan(document, author, user, gold, request)
        if plan is None:
            return
        effect = plan
    over = _overruled(user, effect)
    apply_effect(review, gold, user, effect)
    AnnotationSet.objects.filter(pk=gold.pk).update(version=gold.version + 1)
    record(
        verb=verb,
        actor=user,
        project_id=document.project_id,
        document_id=document.pk,
        annotation_set_id=gold.pk,
        data=effect.data() | {"act": str(request.act), "run": author.pk} | over,
        change_id=request.change_id,
        reverts=reverts,
    )


def _overruled(user: User, effect: Effect) -> dict[str, int]:
    """Whose decision goes, where it is another reviewer's."""
    if effect.proposal is None or effect.before is None:
        return {}
    others = Decision.objects.filter(proposal=effect.proposal).exclude(reviewer=user)
    reviewer = others.values_list("reviewer_id", flat=True).first()
    return {} if reviewer is None else {"over": reviewer}


# ── What an act means ────────────────────────────────────────────────────────────────────────────────────────────────


def _plan(document: Document, author: Author, user: User, gold: AnnotationSet, request: Request) -> Effect | None:
    """What the act comes to; None where everything is so already."""
    if request.act is Act.ADD:
        made = rows_to_make(gold, _place(document, request), _added(user))
        return Effect(None, None, None, made, []) if made else None
    if request.act is Act.REMOVE:
        return _removal(gold, request)
    proposal = _proposal(document, author, request.proposal)
    decision = Decision.objects.select_related("reviewer").filter(proposal_id=proposal.pk).first()
    proposed = (proposal.start, proposal.end, proposal.label_id)
    place = _place(document, request) if request.act is Act.CORRECT else proposed
    wanted: Seen = ("rejected", None) if request.act is Act.REJECT else ("accepted", place)
    _check_seen(gold, user, proposal, decision, request.seen, wanted)
    before, gone = state_of(decision), rows_led_to(gold, proposal, decision)
    if request.act is Act.REJECT:
        _check_elsewhere(gold, proposed, proposal.pk)
        # A rejected proposal that stood in gold for another reason leaves it too: the reviewer says it is wrong.
        gone += [row for row in rows_at(gold, proposed) if row not in gone]
        after: dict[str, Any] = {"verdict": Decision.Verdict.REJECTED, "place": None}
        return None if before == after and not gone else Effect(proposal.pk, before, after, [], gone)
    after = {"verdict": Decision.Verdict.ACCEPTED, "place": list(place)}
    if before == after and rows_at(gold, place):
        return None
    made = rows_to_make(gold, place, _provenance(proposal, author, user, place), besides=gone)
    return Effect(proposal.pk, before, after, made, gone)


def _removal(gold: AnnotationSet, request: Request) -> Effect:
    assert request.place is not None  # the view saw to it
    gone = rows_at(gold, request.place)
    if not gone:
        raise ServiceError("this span is no longer in gold; the page shows what is", code="moved")
    _check_elsewhere(gold, request.place, None)
    return Effect(None, None, None, [], gone)


def _check_seen(
    gold: AnnotationSet, user: User, proposal: Span, decision: Decision | None, seen: Seen | None, wanted: Seen
) -> None:
    """Refuse to decide over a decision of somebody else that the page did not show."""
    if seen is None or decision is None or decision.reviewer_id == user.pk:
        return
    proposed = proposal.start, proposal.end, proposal.label_id
    now = shown_state(gold.spans.values_list("start", "end", "label_id"), proposed, decision)
    if now not in (seen, wanted):
        raise ServiceError(
            f"{decision.reviewer.username} {now[0]} this proposal meanwhile, so yours was not saved; "
            "decide again if you see it otherwise",
            code="moved",
        )


def _check_elsewhere(gold: AnnotationSet, place: Place, proposal: int | None) -> None:
    """Refuse to take out of gold what somebody accepted as another proposal."""
    other = accepted_elsewhere(gold, list(place), proposal)
    if other is not None:
        raise ServiceError(
            f"{other.reviewer.username} accepted this very span as {other.review.author.name} proposed it; "
            "take that back first",
            code="elsewhere",
        )


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
            are = "proposal is" if left == 1 else "proposals are"
            raise ServiceError(f"{left} {are} still open; decide first, then close the note", code="open")
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
    """Take a closed review up again. The gold stays and counts as before; what is decided now changes it at once."""
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
