"""The handover of a note's review from the first reviewer to a second one, in the caller's transaction.

A blind second reviewer must not see the first reviewer's decisions. They are therefore removed from the tables and
stored in the handover, so that no page can show them. Undoing the handover restores them.
"""

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext

from annotations.core.services import ServiceError
from annotations.models import AnnotationSet, AnnotationSetState, Decision, Event, Handover, HandoverState, Review
from annotations.review.events import (
    REVIEW_COMPARED,
    REVIEW_DECIDED,
    REVIEW_FINISHED,
    REVIEW_HANDED_OVER,
    REVIEW_HANDOVER_UNDONE,
    REVIEW_UNDONE,
    DecisionState,
    GoldRow,
    Numbers,
)
from annotations.review.rules.precision import ReviewOutcome, compare, outcome_of
from annotations.review.selectors.refined import verdicts
from annotations.review.selectors.state import review_state
from annotations.review.selectors.suggestions import suggestions_named
from annotations.review.services.locked_notes import LockedNotes, LockedReview
from annotations.review.services.log import Act, effect_of, row_of, state_of, whole_row
from annotations.text.spans import LabeledBounds

State = HandoverState
Before = dict[int, tuple[DecisionState | None, int]]
"""The state of each suggestion before the first review, and the id of the user who had decided so."""

BeforeRemovals = dict[int, tuple[str | None, int]]
"""The same of each proposed removal, by number: its verdict (None: open)."""


def active(review: Review) -> Handover | None:
    """The handover of the review that is not finished or undone, if any."""
    return Handover.objects.filter(review=review, state__in=Handover.ACTIVE).first()


def hand_over(here: LockedReview, *, blind: bool, accepted: int) -> None:
    """Hand the note over to a second person who took no part in the first review.

    `accepted`: the number of suggestions that the first reviewer accepted by finishing.
    """
    gold, user = here.gold, here.user
    events = _events_since_finished(here)
    outcome = _outcome(here)
    gold_before, decisions, removals = _before(gold, events)
    made = Handover.objects.create(
        review=here.review, blind=blind, first=user,
        outcome={**outcome, "before": sorted(map(list, gold_before))}
    )  # fmt: skip
    made.people.set({user.pk, *_people(events)})
    if blind:
        made.kept = _put_aside(here, gold_before, decisions, removals)
        made.save(update_fields=["kept"])
    if gold.state == AnnotationSetState.SUBMITTED and any(e.data["added"] or e.data["removed"] for e in events):
        gold.state = AnnotationSetState.DRAFT
    gold.version += 1
    gold.save(update_fields=["state", "version", "updated_at"])
    data: Numbers = {"handover": made.pk, "blind": blind, "decided": len(outcome["suggestions"])}
    here.record(REVIEW_HANDED_OVER, data | _rest(accepted))


def undo_handover(here: LockedReview, handover: Handover) -> None:
    """Return the note to the first reviewer. Raises ServiceError `begun` once a second reviewer has decided on it."""
    events, gold = Event.objects.filter(annotation_set_id=here.gold.pk), here.gold
    began = events.filter(verb=REVIEW_HANDED_OVER, data__handover=handover.pk).values_list("pk", flat=True).first()
    since = events.filter(verb=REVIEW_DECIDED, data__run=here.author.pk, pk__gt=began or 0).select_related("actor")
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
        _bring_back(here, handover.kept)
    Handover.objects.filter(pk=handover.pk).update(state=State.UNDONE, kept=None)
    gold.version += 1
    gold.save(update_fields=["version", "updated_at"])
    here.record(REVIEW_HANDOVER_UNDONE, {"handover": handover.pk, "blind": handover.blind})


def compare_reviews(here: LockedReview, handover: Handover, accepted: int) -> None:
    """Compare the second review with the first one, and store the result for good. `accepted`: as in `hand_over`."""
    found = compare(handover.outcome, _outcome(here), handover.outcome["before"])
    handover.second, handover.second_at = here.user, timezone.now()
    handover.compared, handover.equal = found.units, found.equal
    handover.state = State.RESOLVING if handover.blind and found.differ else State.DONE
    handover.kept = None
    handover.save(update_fields=["second", "second_at", "compared", "equal", "state", "kept"])
    data: Numbers = {"handover": handover.pk, "blind": handover.blind, "first": handover.first_id}
    data |= {"compared": found.units, "equal": found.equal}
    if handover.state == State.DONE:
        data["ended"] = True
    here.record(REVIEW_COMPARED, data | _rest(accepted))


def _outcome(here: LockedReview) -> ReviewOutcome:
    state = review_state(document=here.document, author=here.author)
    decided = {one["id"]: one["bounds"] for one in state["suggestions"] if one["state"] != "open"}
    removals = {one["number"]: one["bounds"] for one in state["removals"] if one["state"] != "open"}
    return outcome_of(decided, ((span["start"], span["end"], span["label"]) for span in state["gold"]), removals)


def _rest(accepted: int) -> Numbers:
    return {"accepted": accepted} if accepted else {}


# ── The first review ─────────────────────────────────────────────────────────────────────────────────────────────────


def _events_since_finished(here: LockedReview) -> list[Event]:
    """The decisions on this run's suggestions since the review was last finished, in order."""
    of_run = Event.objects.filter(annotation_set_id=here.gold.pk, data__run=here.author.pk)
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
            removals[effect.removal[0]] = effect.removal[2], reviewer
    return spans, decisions, removals


def _put_aside(
    here: LockedReview, gold_before: dict[LabeledBounds, GoldRow], decisions: Before, removals: BeforeRemovals
) -> dict[str, Any]:
    """Remove the first review from the tables. Returns the data that `_bring_back` restores it from."""
    made = Decision.objects.filter(suggestion__in=decisions)
    now = [[row.suggestion_id, state_of(row), row.reviewer_id] for row in made]
    held, note = here.held(deciding=False), here.document.pk
    _set_decisions(held, here.review, decisions)
    verdicts_now = verdicts(here.review.pk)
    _set_verdicts(held, here.review, removals)
    present = dict(held.rows[note])
    removed = held.remove_rows(note, [row for bounds, row in present.items() if bounds not in gold_before])
    added = [row for bounds, row in gold_before.items() if bounds not in present]
    held.add_rows(note, added)
    held.write()
    kept = {"decisions": now, "touched": sorted(decisions), "removed": removed, "added": added}
    if removals:
        known = [verdicts_now[number] for number in removals if number in verdicts_now]
        kept["removals"] = [[one.number, one.verdict, one.reviewer_id] for one in known]
        kept["removals_touched"] = sorted(removals)
    return kept


def _bring_back(here: LockedReview, kept: dict[str, Any]) -> None:
    decided = {suggestion: (state, reviewer) for suggestion, state, reviewer in kept["decisions"]}
    held, note = here.held(deciding=False), here.document.pk
    _set_decisions(held, here.review, {one: decided.get(one, (None, 0)) for one in kept["touched"]})
    verdict_of = {number: (verdict, reviewer) for number, verdict, reviewer in kept.get("removals", ())}
    _set_verdicts(held, here.review, {one: verdict_of.get(one, (None, 0)) for one in kept.get("removals_touched", ())})
    held.remove_rows(note, map(whole_row, kept["added"]))
    held.add_rows(note, map(whole_row, kept["removed"]))
    held.write()


def _set_decisions(held: LockedNotes, review: Review, decisions: Before) -> None:
    """Set these decisions on the suggestions that still exist."""
    for pk, one in suggestions_named(decisions).items():
        state, reviewer = decisions[pk]
        held.set_decision(one, review, reviewer, state)


def _set_verdicts(held: LockedNotes, review: Review, removals: BeforeRemovals) -> None:
    for number, (verdict, reviewer) in removals.items():
        held.set_verdict(review, number, reviewer, verdict)
