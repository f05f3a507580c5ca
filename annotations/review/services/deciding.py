"""One decision on a suggestion of a run: one transaction and one event, which undo reverts.

Accepted spans form the gold set of the note, each with its provenance. The row of the gold set is locked first, so that
two reviewers of one note take turns. A change id is recorded only once, so that a replay is harmless. Single decisions
and bulk acts have the same effects (services.locked_notes).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Unpack
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.locks import keep_labels
from annotations.core.spans import with_attribute
from annotations.gold.services.making import decided
from annotations.models import AnnotationSet, Author, Document, Event, Label, Review, User
from annotations.review.events import REVIEW_UNDONE, GoldRow, ReviewDecided
from annotations.review.rules.conflicts import LabeledBounds
from annotations.review.selectors.state import ReviewState, Seen, review_state
from annotations.review.selectors.suggestions import (
    Suggestion,
    of_run,
    suggestions,
    suggestions_named,
)
from annotations.review.services.locked_notes import LockedNotes
from annotations.review.services.locking import locked
from annotations.review.services.log import Act, Effect, accepted_bounds, effect_of, last_decision, state_of
from annotations.review.services.removing import decide_on_removal
from annotations.text.attributes import Value
from annotations.text.provenance import Provenance
from annotations.text.spans import Span as DomainSpan
from annotations.text.spans import SpanError, checked

ON_A_SUGGESTION = (Act.ACCEPT, Act.REJECT, Act.CORRECT)
SETS_BOUNDS = (Act.CORRECT, Act.ADD)
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
    run), `there` (services.removing), `attribute` (the span's label doesn't have this attribute or value).
    """
    try:
        with transaction.atomic():
            keep_labels(document.project_id)
            review, gold = locked(document, author)
            if not Event.objects.filter(annotation_set_id=gold.pk, change_id=request.change_id).exists():
                decide_locked(document, author, user, review, gold, request)
    except IntegrityError:
        # Another request made the same change at the same moment, so this request returns the resulting state.
        if not Event.objects.filter(change_id=request.change_id).exists():
            raise
    return review_state(document=document, author=author, user=user)


def decide_locked(
    document: Document, author: Author, user: User, review: Review, gold: AnnotationSet, request: Request,
    **noted: Unpack[ReviewDecided],
) -> None:  # fmt: skip
    """Make one decision in a transaction that has locked the note (services.locking). `noted` is added to the event."""
    held = LockedNotes(document.project, user, {document.pk: gold})
    for error in held.errors([review]).values():
        raise error
    on_a_suggestion = request.act in ON_A_SUGGESTION and request.removal is None
    one = _suggestion(document, author, request.suggestion) if on_a_suggestion else None
    bounds = _checked_bounds(document, request) if request.act in SETS_BOUNDS else None
    event = last_decision(gold, author, user, redo=request.act is Act.REDO) if request.act in REVERTING else None
    effect = effect_of(event).opposite() if event else None
    named = suggestions_named(effect.decided) if effect else {one.pk: one} if one else {}
    if request.removal is not None:
        decide_on_removal(
            held, document, author, user, review, number=request.removal, act=request.act, kept=bounds,
            seen=request.seen, change_id=request.change_id,
        )  # fmt: skip
        held.write()
        return
    held.look_around(_touched(effect, named.values(), bounds or request.bounds))
    if event is not None and effect is not None:
        held.check_unchanged(document.pk, effect, named, review)
        held.do(
            effect, document.pk, review, named, act=request.act, verb=REVIEW_UNDONE,
            change_id=request.change_id, reverts=event.pk, noted=noted,
        )  # fmt: skip
    elif one is not None:
        wanted = None if request.act is Act.REJECT else bounds or one.bounds
        _check_seen(held, user, one, request.seen, ("accepted", wanted) if wanted else ("rejected", None))
        held.load_conflicting([one] if wanted else [])
        held.decide(one, wanted, review, request.act, change_id=request.change_id, noted=noted)
    else:
        effect = _on_text(held, document, user, bounds, request)
        if effect is not None:
            held.do(effect, document.pk, review, {}, act=request.act, change_id=request.change_id, noted=noted)
    held.write()


def _touched(effect: Effect | None, named: Iterable[Suggestion], bounds: LabeledBounds | None) -> list[Sequence[Any]]:
    """The bounds of every span of gold that a decision may change."""
    found: list[Sequence[Any]] = [bounds] if bounds else []
    found += [*effect.added, *effect.removed] if effect else []
    for one in named:
        before = accepted_bounds(state_of(one.decision))
        found += [one.bounds, before] if before else [one.bounds]
    return found


def _on_text(
    held: LockedNotes, document: Document, user: User, bounds: LabeledBounds | None, request: Request
) -> Effect | None:
    """The effect of adding a span to gold (`bounds`), of removing one, or of setting an attribute of one.

    None if gold already has the added span or the attribute.
    """
    rows = held.rows[document.pk]
    if bounds is not None:
        return (
            None
            if bounds in rows
            else Effect(None, None, None, [(*bounds, None, "", _added(document, user), None)], [])
        )
    assert request.bounds is not None  # the view checks that remove and attribute have bounds
    if request.bounds not in rows:
        raise ServiceError(_("This span is no longer in gold. The page now shows the current gold."), code="moved")
    if request.act is Act.ATTRIBUTE:
        return _with_attribute(rows[request.bounds], request)
    held.check_accepted_elsewhere(document.pk, request.bounds, None)
    return Effect(None, None, None, [], [rows[request.bounds]])


def _with_attribute(row: GoldRow, request: Request) -> Effect | None:
    """The effect of setting an attribute of a gold span, which keeps everything else."""
    assert request.attribute is not None  # the view checks it
    after = with_attribute(row[6], row[2], *request.attribute)
    return None if after == row[6] else Effect(None, None, None, [(*row[:6], after)], [row])


def _check_seen(held: LockedNotes, user: User, one: Suggestion, seen: Seen | None, wanted: Seen) -> None:
    """Raise ServiceError `moved` if another person's decision, which the page did not show, would be overwritten."""
    if seen is None or one.decision is None or one.decision.reviewer_id == user.pk:
        return
    now = held.seen(one)
    if now not in (seen, wanted):
        message = (
            _("%(name)s accepted this suggestion meanwhile. Your decision was not saved; decide again if you disagree.")
            if now[0] == "accepted"
            else _(
                "%(name)s rejected this suggestion meanwhile. Your decision was not saved; "
                "decide again if you disagree."
            )
        )
        raise ServiceError(message % {"name": one.decision.by}, code="moved")


def _suggestion(document: Document, author: Author, pk: int | None) -> Suggestion:
    found = suggestions(pk=pk or 0, **of_run(document, author))
    if not found:
        raise ServiceError(
            _("This suggestion does not belong to this run and note. Reload the page."), code="suggestion"
        )
    return found[0]


def _checked_bounds(document: Document, request: Request) -> LabeledBounds:
    """The requested bounds without surrounding white space, and the label, after checking both."""
    assert request.bounds is not None  # the view checks that correct and add have bounds
    start, end, label = request.bounds
    known = Label.objects.filter(pk=label, label_set__project_id=document.project_id, merged_into__isnull=True)
    if not known.exists():
        raise ServiceError(_("This label does not belong to the project. Reload the page."), code="label")
    try:
        span = checked(document.text, DomainSpan(start, end, ""), request.quote)
    except SpanError as error:
        raise ServiceError(_("Not saved. %(error)s") % {"error": error}, code=error.code) from None
    return span.start, span.end, label


def _added(document: Document, user: User) -> Provenance:
    added: Provenance = {"from": f"reviewer:{user.username}", "changed": ["added"]}
    return added | decided(user, document.project)
