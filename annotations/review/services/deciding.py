"""Decisions on suggestions of a run: each is one event, which undo reverts; a batch of them is one transaction.

Accepted spans form the gold set of the note, each with its provenance. The row of the gold set is locked first, so that
two reviewers of one note take turns. A change id is recorded only once, so that a replay is harmless. Single decisions
and bulk acts have the same effects (services.locked_notes).

Accepting a proposed removal takes the annotation out of gold, where gold has it; rejecting it puts the annotation into
gold, with the reviewer's bounds and label if they corrected it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.core.batches import BatchOutcome
from annotations.core.services import ServiceError, keep_labels
from annotations.core.spans import checked_bounds, with_attribute
from annotations.gold.services.making import provenance_of
from annotations.models import Author, Document, Event, User
from annotations.review.events import REVIEW_UNDONE, GoldRow, ReviewDecided
from annotations.review.selectors.refined import ACCEPTED, REJECTED, Removal, removals_in
from annotations.review.selectors.state import ReviewState, Seen, review_state
from annotations.review.selectors.suggestions import Bounds, Suggestion, of_run, suggestions, suggestions_named
from annotations.review.services.locked_notes import LockedNotes, LockedReview, changed_fields, fitting
from annotations.review.services.log import Act, Effect, accepted_bounds, effect_of, last_decision, state_of
from annotations.text.attributes import Provenance, Value
from annotations.text.spans import LabeledBounds

ON_A_SUGGESTION = (Act.ACCEPT, Act.REJECT, Act.CORRECT)
SETS_BOUNDS = (Act.CORRECT, Act.ADD)
WITH_BOUNDS = (Act.CORRECT, Act.ADD, Act.REMOVE, Act.ATTRIBUTE)
REVERTING = (Act.UNDO, Act.REDO)


@dataclass(frozen=True, slots=True)
class Request:
    """One act of a reviewer.

    `suggestion`: for accept, reject and correct; or `removal`, the number of a proposed removal. `bounds` (start, end,
    label id): for correct, add, remove and attribute. `quote`: the text at the bounds. `attribute`: its name and value;
    None removes it. `seen`: the suggestion's state on the page, so that the act does not overwrite a decision that the
    reviewer has not seen.
    """

    change_id: UUID
    act: Act
    suggestion: int | None = None
    bounds: LabeledBounds | None = None
    quote: str | None = None
    seen: Seen | None = None
    attribute: tuple[str, Value | None] | None = None
    removal: int | None = None


def decide(*, document: Document, author: Author, user: User, request: Request) -> ReviewState:
    """Make one decision on `author`'s suggestions for `document`. Returns the state of the review afterwards.

    An act that changes nothing is not recorded.
    Raises ServiceError: `suggestion` (not of this run and note), `label`, `quote`, `outside`, `empty`, `finished` (the
    review is finished), `nothing` (to undo or redo), `moved` (changed by others), `elsewhere` (accepted from another
    run), `there` (gold has the corrected span already), `attribute` (the span's label doesn't have this attribute or
    value).
    """
    try:
        with transaction.atomic():
            keep_labels(document.project_id)
            here = LockedReview.of(document, author, user)
            if not Event.objects.filter(annotation_set_id=here.gold.pk, change_id=request.change_id).exists():
                decide_locked(here, request)
    except IntegrityError:
        # Another request made the same change at the same moment, so this request returns the resulting state.
        if not Event.objects.filter(change_id=request.change_id).exists():
            raise
    return review_state(document=document, author=author, user=user)


def decide_many(
    *, document: Document, author: Author, user: User, requests: Mapping[int, Request], version: int | None = None
) -> BatchOutcome[ReviewState]:
    """Make decisions, by their places in the batch, in one transaction. A refused one leaves the others as they are.

    `version`: that of the state that the page has. Where nothing else has changed since, the new state has only the
    part of the text that the batch has changed. Raises ServiceError if this person can't decide here (`finished`,
    `waiting`); other errors are those of `decide`.
    """
    ids = [request.change_id for request in requests.values()]
    try:
        batch = _stored(document, author, user, requests, ids)
    except IntegrityError:
        # The same batch came twice at the same moment. The other request has stored it.
        if not Event.objects.filter(change_id__in=ids).exists():
            raise
        batch = _stored(document, author, user, requests, ids)
    within = batch.window if batch.before == version else None
    state = review_state(document=document, author=author, user=user, within=within)
    gold = batch.here.gold.pk
    steps = Event.objects.filter(annotation_set_id=gold, change_id__in=ids).count() if ids else 0
    return BatchOutcome(batch.errors, steps, state)


def _stored(
    document: Document, author: Author, user: User, requests: Mapping[int, Request], ids: Sequence[UUID]
) -> "_Batch":
    with transaction.atomic():
        keep_labels(document.project_id)
        batch = _Batch(LockedReview.of(document, author, user))
        events = Event.objects.filter(annotation_set_id=batch.here.gold.pk, change_id__in=list(ids))
        known: set[UUID | None] = set(events.values_list("change_id", flat=True))
        if known:
            batch.window = None
        batch.here.held()
        for run in _runs(requests, known):
            batch.decide(run)
    return batch


class _Batch:
    """A batch in a transaction that has locked the note. `before` is gold's version then.

    `window`: the stretch of the text in which it may have changed something; None if that is not known.
    """

    def __init__(self, here: LockedReview) -> None:
        self.here = here
        self.before = here.gold.version
        self.errors: dict[int, ServiceError] = {}
        self.window: Bounds | None = (here.document.length, 0)

    def decide(self, run: Mapping[int, Request]) -> None:
        """Make the decisions of a run. If they can't be written together, make them one by one."""
        try:
            with transaction.atomic():
                self._decide(run)
        except ServiceError as error:
            self.here = LockedReview.of(self.here.document, self.here.author, self.here.user)
            if len(run) == 1:
                self.errors |= dict.fromkeys(run, error)
                return
            for place, request in run.items():
                self.decide({place: request})

    def _decide(self, run: Mapping[int, Request]) -> None:
        if _is_alone(next(iter(run.values()))):
            for request in run.values():
                window = decide_locked(self.here, request)
        else:
            held = self.here.held()
            self.errors |= _decide_on_suggestions(self.here, held, run)
            held.write()
            window = held.window
        if self.window is not None:
            self.window = window and (min(self.window[0], window[0]), max(self.window[1], window[1]))


def _is_alone(request: Request) -> bool:
    """Whether a request is decided on its own: all but decisions on suggestions."""
    return request.act not in ON_A_SUGGESTION or request.removal is not None


def _runs(requests: Mapping[int, Request], known: set[UUID | None]) -> Iterator[dict[int, Request]]:
    """Requests in runs that can be decided with one read of the gold: each run names a suggestion once.

    Decisions with a known change id are left out, also those repeated in the batch.
    """
    run: dict[int, Request] = {}
    for place, request in requests.items():
        if request.change_id in known:
            continue
        known.add(request.change_id)
        if run and (_is_alone(request) or any(each.suggestion == request.suggestion for each in run.values())):
            yield run
            run = {}
        run[place] = request
        if _is_alone(request):
            yield run
            run = {}
    if run:
        yield run


def decide_locked(here: LockedReview, request: Request, **noted: Unpack[ReviewDecided]) -> Bounds | None:
    """Make one decision in a transaction that has locked the note. `noted` is added to the event.

    Returns the stretch of the text in which it may have changed something; None if that is not known.
    """
    held, act = here.held(), request.act
    bounds = _checked_bounds(here.document, request) if act in SETS_BOUNDS else None
    if request.removal is not None:
        _decide_on_removal(here, held, request, bounds)
    elif act in REVERTING:
        event = last_decision(here.gold, here.author, here.user, redo=act is Act.REDO)
        effect = effect_of(event).opposite()
        named = suggestions_named(effect.decided)
        held.look_around([*effect.added, *effect.removed, *_touched(named.values())])
        held.check_unchanged(here.document.pk, effect, named, here.review)
        held.do(
            effect, here.document.pk, here.review, named, act=act, verb=REVIEW_UNDONE, change_id=request.change_id,
            reverts=event.pk, noted=noted,
        )  # fmt: skip
    elif act in ON_A_SUGGESTION:
        for error in _decide_on_suggestions(here, held, {0: request}, noted).values():
            raise error
    else:
        held.look_around([bounds or request.bounds or ()])
        changed = _on_text(here, held, bounds, request)
        if changed is not None:
            held.do(changed, here.document.pk, here.review, {}, act=act, change_id=request.change_id, noted=noted)
    held.write()
    return held.window


def _decide_on_suggestions(
    here: LockedReview, held: LockedNotes, requests: Mapping[int, Request], noted: ReviewDecided | None = None
) -> dict[int, ServiceError]:
    """Decide on different suggestions, without writing. Returns the errors of the refused requests."""
    named = suggestions(
        pk__in=[each.suggestion or 0 for each in requests.values()], **of_run(here.document, here.author)
    )
    by_id = {one.pk: one for one in named}
    held.look_around([*(each.bounds for each in requests.values() if each.bounds), *_touched(named)])
    held.load_conflicting(
        [
            by_id[each.suggestion]
            for each in requests.values()
            if each.suggestion in by_id and each.act is not Act.REJECT
        ]
    )
    errors = {}
    for place, request in requests.items():
        try:
            bounds = _checked_bounds(here.document, request) if request.act is Act.CORRECT else None
            one = by_id.get(request.suggestion or 0)
            if one is None:
                message = _("This suggestion does not belong to this run and note. Reload the page.")
                raise ServiceError(message, code="suggestion")
            wanted = None if request.act is Act.REJECT else bounds or one.bounds
            _check_seen(held, here.user, one, request.seen, ("accepted", wanted) if wanted else ("rejected", None))
            held.decide(one, wanted, here.review, request.act, change_id=request.change_id, noted=noted)
        except ServiceError as error:
            errors[place] = error
    return errors


def _touched(named: Iterable[Suggestion]) -> list[Sequence[Any]]:
    """The bounds of every span of gold that a decision on these suggestions may change."""
    before = [accepted_bounds(state_of(one.decision)) for one in named]
    return [*(one.bounds for one in named), *(bounds for bounds in before if bounds)]


def _on_text(here: LockedReview, held: LockedNotes, bounds: LabeledBounds | None, request: Request) -> Effect | None:
    """The effect of adding a span to gold (`bounds`), of removing one, or of setting an attribute of one.

    None if gold already has the added span or the attribute.
    """
    rows = held.rows[here.document.pk]
    if bounds is not None:
        how: Provenance = {"from": f"reviewer:{here.user.username}", "changed": ["added"]}
        how |= provenance_of(here.user, here.document.project)
        return None if bounds in rows else Effect(added=[(*bounds, None, "", how, None)])
    assert request.bounds is not None  # the view checks that remove and attribute have bounds
    if request.bounds not in rows:
        raise ServiceError(_("This span is no longer in gold. The page now shows the current gold."), code="moved")
    row = rows[request.bounds]
    if request.act is Act.ATTRIBUTE:
        assert request.attribute is not None  # the view checks it
        after = with_attribute(row[6], row[2], *request.attribute)
        return None if after == row[6] else Effect(added=[(*row[:6], after)], removed=[row])
    held.check_accepted_elsewhere(here.document.pk, request.bounds, None)
    return Effect(removed=[row])


def _check_seen(held: LockedNotes, user: User, one: Suggestion, seen: Seen | None, wanted: Seen) -> None:
    """Raise ServiceError `moved` if another person's decision, which the page did not show, would be overwritten."""
    if seen is None or one.decision is None or one.decision.reviewer_id == user.pk:
        return
    now = held.seen(one)
    if now not in (seen, wanted):
        raise _moved(one.decision.by)


def _moved(name: str) -> ServiceError:
    message = _("%(name)s decided on this meanwhile. Your decision was not saved; decide again if you disagree.")
    return ServiceError(message % {"name": name}, code="moved")


def _checked_bounds(document: Document, request: Request) -> LabeledBounds:
    assert request.bounds is not None  # the view checks that correct and add have bounds
    return checked_bounds(document, request.bounds, request.quote)


# ── Proposed removals ────────────────────────────────────────────────────────────────────────────────────────────────


def _decide_on_removal(here: LockedReview, held: LockedNotes, request: Request, kept: LabeledBounds | None) -> None:
    """Accept a proposed removal, reject it, or correct it: `kept` has the bounds and label to keep."""
    proposed = removals_in(here.document, here.author, here.review)
    one = next((each for each in proposed if each.proposed.number == request.removal), None)
    if one is None:
        message = _("This proposed removal does not belong to this run and note. Reload the page.")
        raise ServiceError(message, code="suggestion")
    wanted = None if request.act is Act.ACCEPT else kept or one.bounds
    seen: tuple[Seen | None, Seen] = request.seen, ("rejected", wanted) if wanted else ("accepted", None)
    others = request.seen is not None and one.decision is not None and one.decision.reviewer_id != here.user.pk
    if one.decision is not None and others and _seen_removal(here, held, one) not in seen:
        # Another person's decision, which the page did not show, is not overwritten.
        raise _moved(one.decision.by)
    effect = _removal_effect(here, held, one, wanted)
    if effect is not None:
        held.do(effect, here.document.pk, here.review, {}, act=request.act, change_id=request.change_id)


def _seen_removal(here: LockedReview, held: LockedNotes, one: Removal) -> Seen:
    return one.seen([(bounds, row[5]) for bounds, row in held.rows[here.document.pk].items()])


def _removal_effect(here: LockedReview, held: LockedNotes, one: Removal, kept: LabeledBounds | None) -> Effect | None:
    """The effect of keeping the annotation with these bounds and label, or of agreeing that it is removed (None).

    None if nothing would change.
    """
    rows = held.rows[here.document.pk]
    before = one.decision.verdict if one.decision else None
    removed = [row for row in rows.values() if one.made(row[5])]
    if kept is None:
        if one.bounds in rows and rows[one.bounds] not in removed:
            # The span leaves gold even if something else put it there, because the reviewer says that it is wrong.
            held.check_accepted_elsewhere(here.document.pk, one.bounds, None)
            removed.append(rows[one.bounds])
        if before == ACCEPTED and not removed:
            return None
        return Effect(removed=removed, removal=(one.proposed.number, before, str(ACCEPTED)))
    there = kept in rows and (not removed or rows[kept] in removed)
    if before == REJECTED and there:
        return None
    added: list[GoldRow] = []
    if kept not in rows:
        how: Provenance = {
            "from": one.proposed.origin,
            "set": one.annotation_set_id,
            "removal": one.proposed.number,
            "changed": changed_fields(kept, one.bounds),
        }
        how |= provenance_of(here.user, here.document.project)
        # A corrected annotation keeps the attributes that a person gave to its gold span.
        attributes = fitting(removed[0][6], removed[0][2], kept[2]) if removed else None
        added.append((*kept, None, "", how, attributes))
    elif rows[kept] in removed:
        removed.remove(rows[kept])
    elif kept != one.bounds:
        raise ServiceError(_("Gold already has this span. Accept the removal, or choose other bounds."), code="there")
    return Effect(added=added, removed=removed, removal=(one.proposed.number, before, str(REJECTED)))


def accept_removals(here: LockedReview, numbers: Collection[int], *, allowed: bool) -> None:
    """Accept the open ones among these proposed removals, each as a decision of its own.

    Raises ServiceError `removals` if there are some and the person has not allowed it.
    """
    held = here.held()
    proposed = removals_in(here.document, here.author, here.review)
    wanted = [one for one in proposed if one.proposed.number in numbers and _seen_removal(here, held, one)[0] == "open"]
    if wanted and not allowed:
        message = ngettext(
            "%(count)s proposed removal is open, so nothing was accepted. Decide on it, or select the box above the "
            "note that includes proposed removals. If there is no box, reload the page.",
            "%(count)s proposed removals are open, so nothing was accepted. Decide on each of them, or select the box "
            "above the note that includes proposed removals. If there is no box, reload the page.",
            len(wanted),
        )
        raise ServiceError(message % {"count": len(wanted)}, code="removals")
    noted: ReviewDecided = {"rest": True, "with_removals": True}
    for one in wanted:
        effect = _removal_effect(here, held, one, None)
        if effect is not None:
            held.do(effect, here.document.pk, here.review, {}, act=Act.ACCEPT, change_id=uuid4(), noted=noted)
    held.write()
