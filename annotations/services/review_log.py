"""What a review decision did to gold, as the log keeps it, so that its opposite can be made."""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.utils import timezone

from annotations.models import AnnotationSet, Author, Decision, Event, Review, Span, User, Verb
from annotations.services.errors import ServiceError
from annotations.services.proposed_strings import count_open_of

Place = tuple[int, int, int]
"""Start, end (code points, end-exclusive) and label id."""
DECISIONS = [Verb.REVIEW_DECIDED, Verb.REVIEW_UNDONE]


class Act(StrEnum):
    """What a reviewer can do: on a proposal, on the text, or on what was decided last."""

    ACCEPT = "accept"
    REJECT = "reject"
    CORRECT = "correct"
    ADD = "add"
    REMOVE = "remove"
    UNDO = "undo"
    REDO = "redo"


@dataclass(frozen=True, slots=True)
class Effect:
    """A decision as the log keeps it; its opposite swaps `before` with `after` and `made` with `gone`."""

    proposal: int | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    made: list[list[Any]]
    gone: list[list[Any]]

    def data(self) -> dict[str, Any]:
        return {
            "proposal": self.proposal,
            "before": self.before,
            "after": self.after,
            "made": self.made,
            "gone": self.gone,
        }

    def opposite(self) -> "Effect":
        return Effect(self.proposal, self.after, self.before, self.gone, self.made)


# ── Gold rows as the log keeps them: [start, end, label id, confidence, source, provenance] ──────────────────────────


def row_of(span: Span) -> list[Any]:
    return [span.start, span.end, span.label_id, span.confidence, span.source, span.provenance]


def rows_at(gold: AnnotationSet, place: Place) -> list[list[Any]]:
    start, end, label = place
    return [row_of(span) for span in gold.spans.filter(start=start, end=end, label_id=label)]


def rows_to_make(
    gold: AnnotationSet, place: Place, provenance: dict[str, Any], besides: list[list[Any]] | None = None
) -> list[list[Any]]:
    """The row to insert, or none where gold has the span already (and keeps it)."""
    going = [tuple(row[:3]) for row in besides or []]
    if place not in going and rows_at(gold, place):
        return []
    return [[*place, provenance.get("confidence"), provenance.get("source", ""), provenance]]


def accepted_elsewhere(gold: AnnotationSet, place: list[Any], proposal: int | None) -> Decision | None:
    """Another proposal's acceptance that stands on the same gold span."""
    start, end, label = place[:3]
    others = Decision.objects.filter(review__document=gold.document_id, start=start, end=end, label_id=label)
    return others.exclude(proposal_id=proposal or 0).select_related("reviewer", "review__author").first()


def rows_led_to(gold: AnnotationSet, proposal: Span, decision: Decision | None) -> list[list[Any]]:
    """The gold span that an earlier acceptance of this proposal made, unless another acceptance stands on it too."""
    if decision is None or decision.start is None or decision.end is None or decision.label_id is None:
        return []
    place = (decision.start, decision.end, decision.label_id)
    if accepted_elsewhere(gold, list(place), proposal.pk):
        return []
    return [row for row in rows_at(gold, place) if (row[5] or {}).get("proposal") == proposal.pk]


# ── Doing and undoing ────────────────────────────────────────────────────────────────────────────────────────────────


def state_of(decision: Decision | None) -> dict[str, Any] | None:
    if decision is None:
        return None
    place = None if decision.start is None else [decision.start, decision.end, decision.label_id]
    cause = {"cause": str(decision.cause_id)} if decision.cause_id else {}
    return {"verdict": decision.verdict, "place": place} | cause


def apply_effect(review: Review, gold: AnnotationSet, user: User, effect: Effect) -> None:
    """Write it. A gold span that another acceptance stands on stays where it is."""
    for row in effect.gone:
        if not accepted_elsewhere(gold, row, effect.proposal):
            gold.spans.filter(start=row[0], end=row[1], label_id=row[2]).delete()
    Span.objects.bulk_create(
        (
            Span(
                annotation_set=gold, start=start, end=end, label_id=label, confidence=confidence, source=source,
                provenance=provenance,
            )
            for start, end, label, confidence, source, provenance in effect.made
        ),
        ignore_conflicts=True,
    )  # fmt: skip
    if effect.proposal is not None:
        _write_decision(review, user, effect.proposal, effect.after)


def _write_decision(review: Review, user: User, proposal: int, after: dict[str, Any] | None) -> None:
    """The proposal's one decision, as it is from now on. The lock on gold makes these two steps one."""
    decided = Decision.objects.filter(proposal_id=proposal)
    if after is None:
        if decided.delete()[0]:
            count_open_of(proposal, 1)
        return
    start, end, label = after["place"] or (None, None, None)
    values: dict[str, Any] = {
        "review": review, "verdict": after["verdict"], "start": start, "end": end, "label_id": label,
        "reviewer": user, "at": timezone.now(), "cause_id": after.get("cause"),
    }  # fmt: skip
    if not decided.update(**values):
        Decision.objects.create(proposal_id=proposal, **values)
        count_open_of(proposal, -1)


def effect_of(event: Event) -> Effect:
    # Through JSON, as PostgreSQL and SQLite both give it back.
    data = json.loads(json.dumps(event.data))
    return Effect(data["proposal"], data["before"], data["after"], data["made"], data["gone"])


def check_there(gold: AnnotationSet, effect: Effect) -> None:
    """Refuse to take back what is no longer as it was left: somebody decided otherwise since."""
    moved = ServiceError("somebody has decided otherwise since, so this can't be taken back by undo", code="moved")
    present = {(s.start, s.end, s.label_id) for s in gold.spans.all()}
    if any(tuple(row[:3]) not in present for row in effect.gone):
        raise moved
    made = [row for row in effect.made if not accepted_elsewhere(gold, row, effect.proposal)]
    if any(tuple(row[:3]) in present for row in made):
        raise moved
    if effect.proposal is not None:
        decision = Decision.objects.filter(proposal_id=effect.proposal).first()
        if state_of(decision) != effect.before:
            raise moved


def last_decision(gold: AnnotationSet, author: Author, user: User, *, redo: bool) -> Event:
    """This person's last decision on this run that no undo took back; for redo, the last undo no redo took back.

    What came of a bulk act is taken back with that act.
    """
    reverted = set()
    for event in Event.objects.filter(
        annotation_set_id=gold.pk, actor=user, verb__in=DECISIONS, data__run=author.pk
    ).order_by("-id"):
        if event.data.get("cause"):
            continue
        act = event.data["act"]
        if redo:
            if act == Act.REDO:
                reverted.add(event.reverts)
            elif act != Act.UNDO:
                break
            elif event.pk not in reverted:
                return event
        elif act == Act.UNDO:
            reverted.add(event.reverts)
        elif event.pk not in reverted:
            return event
    raise ServiceError("there is nothing to redo" if redo else "there is nothing to undo", code="nothing")
