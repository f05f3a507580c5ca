"""Reviewing a run's proposals: each decision one transaction and one event, all of them reversible.

Accepted spans form the note's gold set, each with its provenance. The gold set's row is locked first, so that two
reviewers of one note take turns; a change id is recorded once only, so that a replay is harmless.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.events import record
from annotations.core.label_lock import keep_labels
from annotations.domain.spans import Span as DomainSpan
from annotations.domain.spans import SpanError, checked
from annotations.gold.services.provenance import decided
from annotations.models import AnnotationSet, Author, Decision, Document, Event, Label, Review, Span, User, Verb
from annotations.models.prepared import PreparedRead, PreparedUpdate, columns_of, object_of
from annotations.models.project import SecondReview
from annotations.review.selectors.handovers import between
from annotations.review.selectors.planted import HIDDEN
from annotations.review.selectors.rivals import rivals_of, settled_by
from annotations.review.selectors.state import Seen, review_state, shown_state
from annotations.review.services.locking import locked
from annotations.review.services.log import (
    Act,
    Effect,
    Place,
    accepted_elsewhere,
    apply_effect,
    check_there,
    effect_of,
    last_decision,
    merged_runs,
    passed,
    rows_at,
    rows_led_to,
    rows_to_make,
    state_of,
)

# Most decisions are about a proposal, and every one ends with a count. `provenance` may come as JSON text (backing_of).
_SPAN_COLUMNS = columns_of(Span)
_PROPOSAL = PreparedRead(
    lambda pk, document, author, state: (
        Span.objects.filter(
            pk=pk,
            annotation_set__document_id=document,
            annotation_set__author_id=author,
            annotation_set__state=state,
        )
        # A planted leak is not there for anybody as long as it is hidden.
        .exclude(planted__result=HIDDEN)
        .values_list(*_SPAN_COLUMNS)[:1]
    ),
    int,
    int,
    int,
    str,
)
_COUNTED = PreparedUpdate(
    lambda gold, version, state: (AnnotationSet.objects.filter(pk=gold), {"version": version, "state": state}),
    int,
    int,
    str,
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
            review, gold = locked(document, author)
            if not Event.objects.filter(annotation_set_id=gold.pk, change_id=request.change_id).exists():
                decide_locked(document, author, user, review, gold, request)
    except IntegrityError:
        # The same change at the same moment from another tab: it is made once, and this is its answer.
        if not Event.objects.filter(change_id=request.change_id).exists():
            raise
    return review_state(document=document, author=author, user=user)


def decide_locked(
    document: Document, author: Author, user: User, review: Review, gold: AnnotationSet, request: Request,
    **noted: Any,
) -> None:  # fmt: skip
    """One decision, in a transaction that holds the note (review_lock). `noted` goes into the event besides."""
    if review.closed_at is not None:
        raise ServiceError(_("this note's review is closed; reopen it to change a decision"), code="closed")
    handover = between(review.pk, user)
    if handover is not None and handover.own:
        raise ServiceError(_("you reviewed this note first; now a second person does"), code="waiting")
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
    gold.version, gold.state = gold.version + 1, _counts(document, gold, effect)
    _COUNTED.run(gold.pk, gold.version, gold.state)
    record(
        verb=verb,
        actor=user,
        project_id=document.project_id,
        document_id=document.pk,
        annotation_set_id=gold.pk,
        data=effect.data() | {"act": str(request.act), "run": author.pk} | over | passed(handover) | noted,
        change_id=request.change_id,
        reverts=reverts,
    )


def _counts(document: Document, gold: AnnotationSet, effect: Effect) -> str:
    """Where an acceptance needs two people, gold that one changes does not count until the other has closed it."""
    changed = effect.made or effect.gone
    return AnnotationSet.State.DRAFT if changed and document.project.second_review != SecondReview.OFF else gold.state


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
        made = rows_to_make(gold, _place(document, request), _added(document, user))
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
    made = rows_to_make(gold, place, _provenance(document, proposal, author, user, place), besides=gone)
    return Effect(proposal.pk, before, after, made, gone, _beside(gold, proposal, place))


def _beside(gold: AnnotationSet, proposal: Span, place: Place) -> list[list[Any]]:
    """In a merged list, accepting one reading of a place rejects the other ones that are open."""
    rivals = settled_by(place, rivals_of(proposal))
    if not rivals:
        return []
    decided = set(Decision.objects.filter(proposal__in=[r.pk for r in rivals]).values_list("proposal_id", flat=True))
    there = set(gold.spans.values_list("start", "end", "label_id"))
    rejected = {"verdict": str(Decision.Verdict.REJECTED), "place": None}
    return [
        [rival.pk, None, rejected]
        for rival in rivals
        if rival.pk not in decided and (rival.start, rival.end, rival.label_id) not in there
    ]


def _removal(gold: AnnotationSet, request: Request) -> Effect:
    assert request.place is not None  # the view saw to it
    gone = rows_at(gold, request.place)
    if not gone:
        raise ServiceError(_("this span is no longer in gold; the page shows what is"), code="moved")
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
        message = (
            _("%(name)s accepted this proposal meanwhile, so yours was not saved; decide again if you see it otherwise")
            if now[0] == "accepted"
            else _(
                "%(name)s rejected this proposal meanwhile, so yours was not saved; "
                "decide again if you see it otherwise"
            )
        )
        raise ServiceError(message % {"name": decision.reviewer.username}, code="moved")


def _check_elsewhere(gold: AnnotationSet, place: Place, proposal: int | None) -> None:
    """Refuse to take out of gold what somebody accepted as another proposal."""
    other = accepted_elsewhere(gold, list(place), proposal)
    if other is not None:
        raise ServiceError(
            _("%(username)s accepted this very span as %(name)s proposed it; take that back first")
            % {"username": other.reviewer.username, "name": other.review.author.name},
            code="elsewhere",
        )


def _proposal(document: Document, author: Author, pk: int | None) -> Span:
    row = _PROPOSAL.first(pk or 0, document.pk, author.pk, AnnotationSet.State.SUBMITTED.value)
    if row is None:
        raise ServiceError(_("this proposal does not belong to this run and note"), code="proposal")
    return object_of(Span, _SPAN_COLUMNS, row)


def _place(document: Document, request: Request) -> Place:
    """The marked stretch, trimmed and checked; the label one of the project's own."""
    assert request.place is not None  # the view saw to it
    start, end, label = request.place
    known = Label.objects.filter(pk=label, label_set__project_id=document.project_id, merged_into__isnull=True)
    if not known.exists():
        raise ServiceError(_("that label is not one of this project's; reload the page"), code="label")
    try:
        span = checked(document.text, DomainSpan(start, end, ""), request.quote)
    except SpanError as error:
        raise ServiceError(_("not saved: %(error)s") % {"error": error}, code=error.code) from None
    return span.start, span.end, label


def _provenance(document: Document, proposal: Span, author: Author, user: User, place: Place) -> dict[str, Any]:
    changed = []
    if place[:2] != (proposal.start, proposal.end):
        changed.append("bounds")
    if place[2] != proposal.label_id:
        changed.append("label")
    return (
        {
            "from": f"{author.kind}:{author.name}",
            "set": proposal.annotation_set_id,
            "proposal": proposal.pk,
            "confidence": proposal.confidence,
            "source": proposal.source,
            "changed": changed,
        }
        | merged_runs(proposal)
        | decided(user, document.project)
    )


def _added(document: Document, user: User) -> dict[str, Any]:
    return {"from": f"reviewer:{user.username}", "changed": ["added"]} | decided(user, document.project)
