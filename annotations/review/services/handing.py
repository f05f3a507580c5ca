"""A note's review on its way from the first person to a second one (the two-person rule). In the caller's transaction.

A blind second must not see what the first decided: the first's decisions are taken out of the review and kept beside
it, so that every page that shows decisions shows none. They come back where the first takes the note back.
"""

from typing import Any

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from annotations.core.errors import ServiceError
from annotations.core.events import record
from annotations.domain.two_reviews import Compared, Outcome, compare
from annotations.models import AnnotationSet, Author, Decision, Document, Event, Handover, Review, Span, User, Verb
from annotations.review.selectors.state import review_state
from annotations.review.services.log import Act, effect_of, put_gold, row_of, state_of, take_gold, write_decision

State = Handover.State
Before = dict[int, tuple[dict[str, Any] | None, int]]
"""By proposal its state before the first review, and whose decision that was."""


def active(review: Review) -> Handover | None:
    return Handover.objects.filter(review=review, state__in=Handover.ACTIVE).first()


def hand_on(
    *, review: Review, gold: AnnotationSet, document: Document, author: Author, user: User, blind: bool,
    accepted: int = 0,
) -> Handover:  # fmt: skip
    """The first has closed the note: it waits for a second person, who had no hand in this review.

    `accepted` proposals were by the act of closing.
    """
    events = _events_since_closed(gold, author)
    outcome = Outcome.of(review_state(document=document, author=author))
    places, decisions = _before(gold, events)
    made = Handover.objects.create(
        review=review, blind=blind, first=user, outcome=outcome.data() | {"before": sorted(map(list, places))}
    )
    made.people.set({user.pk, *_people(events)})
    if blind:
        made.kept = _put_aside(review, gold, places, decisions)
        made.save(update_fields=["kept"])
    if gold.state == AnnotationSet.State.SUBMITTED and any(e.data["made"] or e.data["gone"] for e in events):
        gold.state = AnnotationSet.State.DRAFT
    gold.version += 1
    gold.save(update_fields=["state", "version", "updated_at"])
    told = {"handover": made.pk, "blind": blind, "decided": len(outcome.proposals)} | _rest(accepted)
    _record(Verb.REVIEW_HANDED, document, author, gold, user, told)
    return made


def take_back(*, handover: Handover, gold: AnnotationSet, document: Document, author: Author, user: User) -> None:
    """The first goes on with the note. Raises ServiceError `begun` once a second has decided on it."""
    began = Event.objects.filter(
        annotation_set_id=gold.pk, verb=Verb.REVIEW_HANDED, data__handover=handover.pk
    ).values_list("pk", flat=True)[:1]
    since = Event.objects.filter(
        annotation_set_id=gold.pk, verb=Verb.REVIEW_DECIDED, data__run=author.pk, pk__gt=(began.first() or 0)
    ).select_related("actor")
    first = since.first()
    if handover.state == State.SETTLING or first is not None:
        who = handover.second if handover.second else first and first.actor
        name = who.username if who else "somebody"
        raise ServiceError(
            gettext("%(name)s has begun the second review of this note; it is theirs now") % {"name": name},
            code="begun",
        )
    if handover.kept:
        _bring_back(handover.review, gold, handover.kept)
    Handover.objects.filter(pk=handover.pk).update(state=State.BACK, kept=None)
    gold.version += 1
    gold.save(update_fields=["version", "updated_at"])
    _record(Verb.REVIEW_TAKEN_BACK, document, author, gold, user, {"handover": handover.pk, "blind": handover.blind})


def compare_second(
    *, handover: Handover, gold: AnnotationSet, document: Document, author: Author, user: User, accepted: int = 0
) -> Compared:
    """The second's own review is done: kept beside the first's, once and for all. `accepted`: as for hand_on."""
    first = Outcome.from_data(handover.outcome)
    before = [(start, end, label) for start, end, label in handover.outcome["before"]]
    found = compare(first, Outcome.of(review_state(document=document, author=author)), before)
    handover.second, handover.second_at = user, timezone.now()
    handover.compared, handover.alike = found.units, found.alike
    handover.state = State.SETTLING if handover.blind and found.differ else State.DONE
    handover.kept = None
    handover.save(update_fields=["second", "second_at", "compared", "alike", "state", "kept"])
    told = {"handover": handover.pk, "blind": handover.blind, "first": handover.first_id}
    told |= {"compared": found.units, "alike": found.alike} | _rest(accepted)
    told |= {"ended": True} if handover.state == State.DONE else {}
    _record(Verb.REVIEW_COMPARED, document, author, gold, user, told)
    return found


def _rest(accepted: int) -> dict[str, int]:
    return {"accepted": accepted} if accepted else {}


def _record(
    verb: Verb, document: Document, author: Author, gold: AnnotationSet, user: User, told: dict[str, Any]
) -> None:
    record(
        verb=verb, actor=user, project_id=document.project_id, document_id=document.pk, annotation_set_id=gold.pk,
        data={"run": author.pk} | told,
    )  # fmt: skip


# ── What the first did ───────────────────────────────────────────────────────────────────────────────────────────────


def _events_since_closed(gold: AnnotationSet, author: Author) -> list[Event]:
    """The decisions on this run's proposals since the note was last closed, in order."""
    mine = Event.objects.filter(annotation_set_id=gold.pk, data__run=author.pk)
    closed = mine.filter(verb=Verb.REVIEW_CLOSED).order_by("-pk").values_list("pk", flat=True).first()
    return list(mine.filter(verb__in=[Verb.REVIEW_DECIDED, Verb.REVIEW_UNDONE], pk__gt=closed or 0).order_by("pk"))


def _people(events: list[Event]) -> set[int]:
    """Whose decisions these are, but for those that they took back."""
    undone = {event.reverts for event in events if event.data["act"] == Act.UNDO}
    decided = [e for e in events if e.data["act"] == Act.REDO or (e.verb == Verb.REVIEW_DECIDED and e.pk not in undone)]
    return {event.actor_id for event in decided if event.actor_id}


def _before(gold: AnnotationSet, events: list[Event]) -> tuple[dict[tuple[int, int, int], list[Any]], Before]:
    """Gold by place, and the touched proposals, as they were before these events: each is taken back in turn."""
    places = {(span.start, span.end, span.label_id): row_of(span) for span in gold.spans.all()}
    decisions: Before = {}
    for event in reversed(events):
        effect = effect_of(event).opposite()
        for row in effect.gone:
            places.pop((row[0], row[1], row[2]), None)
        for row in effect.made:
            places.setdefault((row[0], row[1], row[2]), row)
        whose: int = event.data.get("over") or event.actor_id or 0
        if effect.proposal is not None:
            decisions[effect.proposal] = effect.after, whose
        for proposal, _, after in effect.beside:
            decisions[proposal] = after, whose
    return places, decisions


def _put_aside(
    review: Review, gold: AnnotationSet, places: dict[tuple[int, int, int], list[Any]], decisions: Before
) -> dict[str, Any]:
    """Take the first review out of the rows. Returns what puts it back."""
    now = [[row.proposal_id, state_of(row), row.reviewer_id] for row in Decision.objects.filter(proposal__in=decisions)]
    for proposal, (state, whose) in decisions.items():
        write_decision(review, whose, proposal, state)
    there = {(span.start, span.end, span.label_id): row_of(span) for span in gold.spans.all()}
    gone = take_gold(gold, [row for place, row in there.items() if place not in places])
    come = put_gold(gold, [row for place, row in places.items() if place not in there])
    return {"decisions": now, "touched": sorted(decisions), "gone": gone, "come": come}


def _bring_back(review: Review, gold: AnnotationSet, kept: dict[str, Any]) -> None:
    decided = {proposal: (state, whose) for proposal, state, whose in kept["decisions"]}
    there = set(Span.objects.filter(Q(pk__in=kept["touched"])).values_list("pk", flat=True))
    for proposal in kept["touched"]:
        if proposal in there:
            state, whose = decided.get(proposal, (None, 0))
            write_decision(review, whose, proposal, state)
    take_gold(gold, kept["come"])
    put_gold(gold, kept["gone"])
