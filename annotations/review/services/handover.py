"""The handover of a note's review from the first reviewer to a second one, in the caller's transaction.

A blind second reviewer must not see the first reviewer's decisions. They are therefore removed from the tables and
stored in the handover, so that no page can show them. Undoing the handover restores them.
"""

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext

from annotations.core.errors import ServiceError
from annotations.core.events import Verb
from annotations.models import (
    AnnotationSet,
    AnnotationSetState,
    Author,
    Decision,
    Document,
    Event,
    Handover,
    HandoverState,
    Review,
    User,
)
from annotations.review.events import (
    REVIEW_COMPARED,
    REVIEW_DECIDED,
    REVIEW_FINISHED,
    REVIEW_HANDED_OVER,
    REVIEW_HANDOVER_UNDONE,
    REVIEW_UNDONE,
    DecisionState,
    GoldRow,
    ReviewBetween,
)
from annotations.review.rules.conflicts import LabeledBounds
from annotations.review.rules.two_reviews import Compared, ReviewOutcome, compare
from annotations.review.selectors.removals import verdicts
from annotations.review.selectors.state import review_state
from annotations.review.selectors.suggestions import suggestions_named
from annotations.review.services.locked_notes import LockedNotes
from annotations.review.services.log import Act, effect_of, row_of, state_of, whole_row

State = HandoverState
Before = dict[int, tuple[DecisionState | None, int]]
"""The state of each suggestion before the first review, and the id of the user who had decided so."""

BeforeRemovals = dict[int, tuple[str | None, int]]
"""The same of each proposed removal, by number: its verdict (None: open)."""


def active(review: Review) -> Handover | None:
    """The handover of the review that is not finished or undone, if any."""
    return Handover.objects.filter(review=review, state__in=Handover.ACTIVE).first()


def hand_over(
    *, review: Review, gold: AnnotationSet, document: Document, author: Author, user: User, blind: bool,
    accepted: int = 0,
) -> Handover:  # fmt: skip
    """Hand the note over to a second person who took no part in the first review.

    `accepted`: the number of suggestions that the first reviewer accepted by finishing.
    """
    events = _events_since_finished(gold, author)
    outcome = _outcome(document, author)
    gold_before, decisions, removals = _before(gold, events)
    made = Handover.objects.create(
        review=review, blind=blind, first=user, outcome={**outcome.data(), "before": sorted(map(list, gold_before))}
    )
    made.people.set({user.pk, *_people(events)})
    if blind:
        made.kept = _put_aside(review, user, gold, gold_before, decisions, removals)
        made.save(update_fields=["kept"])
    if gold.state == AnnotationSetState.SUBMITTED and any(e.data["added"] or e.data["removed"] for e in events):
        gold.state = AnnotationSetState.DRAFT
    gold.version += 1
    gold.save(update_fields=["state", "version", "updated_at"])
    data: ReviewBetween = {"handover": made.pk, "blind": blind, "decided": len(outcome.suggestions)}
    _record(REVIEW_HANDED_OVER, document, author, gold, user, data | _rest(accepted))
    return made


def undo_handover(*, handover: Handover, gold: AnnotationSet, document: Document, author: Author, user: User) -> None:
    """Return the note to the first reviewer. Raises ServiceError `begun` once a second reviewer has decided on it."""
    began = Event.objects.filter(
        annotation_set_id=gold.pk, verb=REVIEW_HANDED_OVER, data__handover=handover.pk
    ).values_list("pk", flat=True)[:1]
    since = Event.objects.filter(
        annotation_set_id=gold.pk, verb=REVIEW_DECIDED, data__run=author.pk, pk__gt=(began.first() or 0)
    ).select_related("actor")
    first = since.first()
    if handover.state == State.RESOLVING or first is not None:
        who = handover.second if handover.second else first and first.actor
        message = (
            gettext("%(name)s has begun the second review of this note. You can no longer reopen it.")
            % {"name": who.username}
            if who
            else gettext("Someone has begun the second review of this note. You can no longer reopen it.")
        )
        raise ServiceError(message, code="begun")
    if handover.kept:
        _bring_back(handover.review, user, gold, handover.kept)
    Handover.objects.filter(pk=handover.pk).update(state=State.UNDONE, kept=None)
    gold.version += 1
    gold.save(update_fields=["version", "updated_at"])
    _record(REVIEW_HANDOVER_UNDONE, document, author, gold, user, {"handover": handover.pk, "blind": handover.blind})


def compare_reviews(
    *, handover: Handover, gold: AnnotationSet, document: Document, author: Author, user: User, accepted: int = 0
) -> Compared:
    """Compare the second review with the first one, and store the result for good. `accepted`: as in `hand_over`."""
    first = ReviewOutcome.from_data(handover.outcome)
    before = [(start, end, label) for start, end, label in handover.outcome["before"]]
    found = compare(first, _outcome(document, author), before)
    handover.second, handover.second_at = user, timezone.now()
    handover.compared, handover.equal = found.units, found.equal
    handover.state = State.RESOLVING if handover.blind and found.differ else State.DONE
    handover.kept = None
    handover.save(update_fields=["second", "second_at", "compared", "equal", "state", "kept"])
    data = _rest(accepted) | {"handover": handover.pk, "blind": handover.blind, "first": handover.first_id}
    data |= {"compared": found.units, "equal": found.equal}
    if handover.state == State.DONE:
        data["ended"] = True
    _record(REVIEW_COMPARED, document, author, gold, user, data)
    return found


def _outcome(document: Document, author: Author) -> ReviewOutcome:
    state = review_state(document=document, author=author)
    decided = {one["id"]: one["bounds"] for one in state["suggestions"] if one["state"] != "open"}
    removals = {one["number"]: one["bounds"] for one in state["removals"] if one["state"] != "open"}
    return ReviewOutcome.of(decided, ((span["start"], span["end"], span["label"]) for span in state["gold"]), removals)


def _rest(accepted: int) -> ReviewBetween:
    return {"accepted": accepted} if accepted else {}


def _record(
    verb: Verb[ReviewBetween], document: Document, author: Author, gold: AnnotationSet, user: User, data: ReviewBetween
) -> None:
    verb.record(
        actor=user, project_id=document.project_id, document_id=document.pk, annotation_set_id=gold.pk,
        data=data | {"run": author.pk},
    )  # fmt: skip


# ── The first review ─────────────────────────────────────────────────────────────────────────────────────────────────


def _events_since_finished(gold: AnnotationSet, author: Author) -> list[Event]:
    """The decisions on this run's suggestions since the review was last finished, in order."""
    of_run = Event.objects.filter(annotation_set_id=gold.pk, data__run=author.pk)
    finished = of_run.filter(verb=REVIEW_FINISHED).order_by("-pk").values_list("pk", flat=True).first()
    return list(of_run.filter(verb__in=[REVIEW_DECIDED, REVIEW_UNDONE], pk__gt=finished or 0).order_by("pk"))


def _people(events: list[Event]) -> set[int]:
    """The ids of the users who made these decisions, not counting decisions that were undone."""
    undone = {event.reverts for event in events if event.data["act"] == Act.UNDO}
    decided = [e for e in events if e.data["act"] == Act.REDO or (e.verb == REVIEW_DECIDED and e.pk not in undone)]
    return {event.actor_id for event in decided if event.actor_id}


def _before(gold: AnnotationSet, events: list[Event]) -> tuple[dict[LabeledBounds, GoldRow], Before, BeforeRemovals]:
    """The gold spans, and the decisions on the touched suggestions and proposed removals, before these events.

    The events are reverted in turn.
    """
    spans = {(span.start, span.end, span.label_id): row_of(span) for span in gold.spans.all()}
    decisions: Before = {}
    removals: BeforeRemovals = {}
    for event in reversed(events):
        effect = effect_of(event).opposite()
        for row in effect.removed:
            spans.pop((row[0], row[1], row[2]), None)
        for row in effect.added:
            spans.setdefault((row[0], row[1], row[2]), row)
        reviewer: int = event.data.get("over") or event.actor_id or 0
        if effect.suggestion is not None:
            decisions[effect.suggestion] = effect.after, reviewer
        for suggestion, _, after in effect.beside:
            decisions[suggestion] = after, reviewer
        if effect.removal is not None:
            number, _now, verdict = effect.removal
            removals[number] = verdict, reviewer
    return spans, decisions, removals


def _put_aside(
    review: Review,
    user: User,
    gold: AnnotationSet,
    gold_before: dict[LabeledBounds, GoldRow],
    decisions: Before,
    removals: BeforeRemovals,
) -> dict[str, Any]:
    """Remove the first review from the tables. Returns the data that `_bring_back` restores it from."""
    now = [
        [row.suggestion_id, state_of(row), row.reviewer_id] for row in Decision.objects.filter(suggestion__in=decisions)
    ]
    held = LockedNotes(review.document.project, user, {review.document_id: gold})
    _set_decisions(held, review, decisions)
    verdicts_now = verdicts(review.pk)
    _set_verdicts(held, review, removals)
    present = dict(held.rows[review.document_id])
    unwanted = [row for bounds, row in present.items() if bounds not in gold_before]
    removed = held.remove_rows(review.document_id, unwanted)
    added = [row for bounds, row in gold_before.items() if bounds not in present]
    held.add_rows(review.document_id, added)
    held.write()
    kept = {"decisions": now, "touched": sorted(decisions), "removed": removed, "added": added}
    if removals:
        made = [verdicts_now[number] for number in removals if number in verdicts_now]
        kept["removals"] = [[one.number, one.verdict, one.reviewer_id] for one in made]
        kept["removals_touched"] = sorted(removals)
    return kept


def _bring_back(review: Review, user: User, gold: AnnotationSet, kept: dict[str, Any]) -> None:
    decided = {suggestion: (state, reviewer) for suggestion, state, reviewer in kept["decisions"]}
    held = LockedNotes(review.document.project, user, {review.document_id: gold})
    _set_decisions(held, review, {suggestion: decided.get(suggestion, (None, 0)) for suggestion in kept["touched"]})
    verdict_of = {number: (verdict, reviewer) for number, verdict, reviewer in kept.get("removals", ())}
    _set_verdicts(held, review, {one: verdict_of.get(one, (None, 0)) for one in kept.get("removals_touched", ())})
    held.remove_rows(review.document_id, map(whole_row, kept["added"]))
    held.add_rows(review.document_id, map(whole_row, kept["removed"]))
    held.write()


def _set_decisions(held: LockedNotes, review: Review, decisions: Before) -> None:
    """Set these decisions on the suggestions that still exist."""
    for pk, one in suggestions_named(decisions).items():
        state, reviewer = decisions[pk]
        held.set_decision(one, review, reviewer, state)


def _set_verdicts(held: LockedNotes, review: Review, removals: BeforeRemovals) -> None:
    for number, (verdict, reviewer) in removals.items():
        held.set_verdict(review, number, reviewer, verdict)
