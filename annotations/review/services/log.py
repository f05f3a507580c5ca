"""What a review decision did to gold, as the log keeps it, so that its opposite can be made."""

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext

from annotations.core.errors import ServiceError
from annotations.core.proposed_strings import count_open_of
from annotations.core.room import check_room
from annotations.models import AnnotationSet, Author, Decision, Event, Review, Span, User, Verb
from annotations.models.prepared import PreparedRead
from annotations.review.selectors.handovers import Between
from annotations.review.selectors.rivals import backing_of

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
    """A decision as the log keeps it; its opposite swaps `before` with `after` and `made` with `gone`.

    `beside`: other proposals that the same act decides, each with its state before and after.
    """

    proposal: int | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    made: list[list[Any]]
    gone: list[list[Any]]
    beside: list[list[Any]] = field(default_factory=list)

    def data(self) -> dict[str, Any]:
        known = {
            "proposal": self.proposal,
            "before": self.before,
            "after": self.after,
            "made": self.made,
            "gone": self.gone,
        }
        return known | ({"beside": self.beside} if self.beside else {})

    def opposite(self) -> "Effect":
        beside = [[proposal, after, before] for proposal, before, after in self.beside]
        return Effect(self.proposal, self.after, self.before, self.gone, self.made, beside)


# ── Gold rows as the log keeps them: [start, end, label id, confidence, source, provenance] ──────────────────────────


def row_of(span: Span) -> list[Any]:
    return [span.start, span.end, span.label_id, span.confidence, span.source, span.provenance]


def merged_runs(proposal: Span) -> dict[str, Any]:
    """What gold keeps of a merged proposal: the runs that proposed it, how sure each was, and out of how many."""
    backing = backing_of(proposal.provenance)
    return {"runs": backing["runs"], "of": backing["of"]} if backing else {}


_ROWS = PreparedRead(
    lambda gold, start, end, label: (
        Span.objects.filter(annotation_set_id=gold, start=start, end=end, label_id=label)
        .order_by("id")
        .values_list("start", "end", "label_id", "confidence", "source", "provenance")
    ),
    int,
    int,
    int,
    int,
)


def rows_at(gold: AnnotationSet, place: Place) -> list[list[Any]]:
    rows = _ROWS.all(gold.pk, *place)
    return [[*row, json.loads(how) if isinstance(how, str) else how] for *row, how in rows]


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
    take_gold(gold, effect.gone, effect.proposal)
    put_gold(gold, effect.made)
    check_room(gold.pk, [(row[0], row[1]) for row in effect.made])
    if effect.proposal is not None:
        write_decision(review, user.pk, effect.proposal, effect.after)
    for proposal, _, after in effect.beside:
        write_decision(review, user.pk, proposal, after)


def take_gold(gold: AnnotationSet, rows: list[list[Any]], proposal: int | None = None) -> list[list[Any]]:
    """Out of gold, but for what the acceptance of another proposal stands on. Returns the rows that went."""
    gone = [row for row in rows if not accepted_elsewhere(gold, row, proposal)]
    for row in gone:
        gold.spans.filter(start=row[0], end=row[1], label_id=row[2]).delete()
    return gone


def put_gold(gold: AnnotationSet, rows: list[list[Any]]) -> list[list[Any]]:
    """Into gold, where it is not there already. Returns the rows."""
    Span.objects.bulk_create(
        (
            Span(
                annotation_set=gold, start=start, end=end, label_id=label, confidence=confidence, source=source,
                provenance=provenance,
            )
            for start, end, label, confidence, source, provenance in rows
        ),
        ignore_conflicts=True,
    )  # fmt: skip
    return rows


def write_decision(review: Review, reviewer: int, proposal: int, after: dict[str, Any] | None) -> None:
    """The proposal's one decision, as it is from now on. The lock on gold makes these two steps one."""
    decided = Decision.objects.filter(proposal_id=proposal)
    if after is None:
        if decided.delete()[0]:
            count_open_of(proposal, 1)
        return
    start, end, label = after["place"] or (None, None, None)
    values: dict[str, Any] = {
        "review": review, "verdict": after["verdict"], "start": start, "end": end, "label_id": label,
        "reviewer_id": reviewer, "at": timezone.now(), "cause_id": after.get("cause"),
    }  # fmt: skip
    if not decided.update(**values):
        Decision.objects.create(proposal_id=proposal, **values)
        count_open_of(proposal, -1)


def passed(handover: Between | None) -> dict[str, str]:
    """For the log: a decision of the second of two reviewers says so."""
    return {"pass": handover.stage} if handover else {}


def effect_of(event: Event) -> Effect:
    # Through JSON, as PostgreSQL and SQLite both give it back.
    data = json.loads(json.dumps(event.data))
    return Effect(data["proposal"], data["before"], data["after"], data["made"], data["gone"], data.get("beside", []))


def check_there(gold: AnnotationSet, effect: Effect) -> None:
    """Refuse to take back what is no longer as it was left: somebody decided otherwise since."""
    moved = ServiceError(
        gettext("somebody has decided otherwise since, so this can't be taken back by undo"), code="moved"
    )
    present = {(s.start, s.end, s.label_id) for s in gold.spans.all()}
    if any(tuple(row[:3]) not in present for row in effect.gone):
        raise moved
    made = [row for row in effect.made if not accepted_elsewhere(gold, row, effect.proposal)]
    if any(tuple(row[:3]) in present for row in made):
        raise moved
    decided = [(effect.proposal, effect.before)] if effect.proposal is not None else []
    for proposal, before in [*decided, *((proposal, before) for proposal, before, _ in effect.beside)]:
        decision = Decision.objects.filter(proposal_id=proposal).first()
        if state_of(decision) != before:
            raise moved


def last_decision(gold: AnnotationSet, author: Author, user: User, *, redo: bool) -> Event:
    """This person's last decision on this run that no undo took back; for redo, the last undo no redo took back.

    What came of a bulk act is taken back with that act; what a planted leak came to was decided by marking it.
    """
    reverted = set()
    for event in Event.objects.filter(
        annotation_set_id=gold.pk, actor=user, verb__in=DECISIONS, data__run=author.pk
    ).order_by("-id"):
        if event.data.get("cause") or event.data.get("planted"):
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
    raise ServiceError(
        gettext("there is nothing to redo") if redo else gettext("there is nothing to undo"), code="nothing"
    )
