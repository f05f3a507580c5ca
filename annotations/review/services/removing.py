"""Decisions on proposed removals, in a transaction that has locked the note (services.locking).

Accepting a removal takes the annotation out of gold, where gold has it; rejecting it puts the annotation into gold,
with the reviewer's bounds and label if they corrected it.
"""

from collections.abc import Collection
from uuid import UUID, uuid4

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.core.errors import ServiceError
from annotations.core.spans import fitting_label
from annotations.gold.services.making import decided
from annotations.models import Author, Document, Review, User
from annotations.review.events import GoldRow, ReviewDecided
from annotations.review.rules.conflicts import LabeledBounds
from annotations.review.selectors.removals import ACCEPTED, REJECTED, Removal, removals_in
from annotations.review.selectors.state import Seen
from annotations.review.services.locked_notes import LockedNotes
from annotations.review.services.log import Act, Effect
from annotations.text.provenance import Provenance


def decide_on_removal(
    held: LockedNotes, document: Document, author: Author, user: User, review: Review, *, number: int, act: Act,
    kept: LabeledBounds | None, seen: Seen | None, change_id: UUID,
) -> None:  # fmt: skip
    """Accept (`act`) a proposed removal, reject it, or correct it: `kept` has the bounds and label to keep.

    Raises ServiceError `suggestion` for a removal that is not of this review, `moved` if another person's decision that
    the page did not show would be overwritten, `elsewhere` if the span was accepted from another run, `there` if gold
    has the corrected span already.
    """
    one = next((each for each in removals_in(document, author, review) if each.proposed.number == number), None)
    if one is None:
        raise ServiceError(
            _("This proposed removal does not belong to this run and note. Reload the page."), code="suggestion"
        )
    wanted = None if act is Act.ACCEPT else kept or one.bounds
    _check_seen(held, document, user, one, seen, ("rejected", wanted) if wanted else ("accepted", None))
    effect = removal_effect(held, document, user, one, wanted)
    if effect is not None:
        held.do(effect, document.pk, review, {}, act=act, change_id=change_id)


def removal_effect(
    held: LockedNotes, document: Document, user: User, one: Removal, kept: LabeledBounds | None
) -> Effect | None:
    """The effect of keeping the annotation with these bounds and label, or of agreeing that it is removed (None).

    None if nothing would change.
    """
    rows = held.rows[document.pk]
    before = one.decision.verdict if one.decision else None
    removed = [row for row in rows.values() if one.made(row[5])]
    if kept is None:
        if one.bounds in rows and rows[one.bounds] not in removed:
            # The span leaves gold even if something else put it there, because the reviewer says that it is wrong.
            held.check_accepted_elsewhere(document.pk, one.bounds, None)
            removed.append(rows[one.bounds])
        if before == ACCEPTED and not removed:
            return None
        return Effect(None, None, None, [], removed, removal=(one.proposed.number, before, str(ACCEPTED)))
    there = kept in rows and (not removed or rows[kept] in removed)
    if before == REJECTED and there:
        return None
    added: list[GoldRow] = []
    if kept not in rows:
        # A corrected annotation keeps the attributes that a person gave to its gold span.
        attributes = removed[0][6] if removed else None
        if removed and removed[0][2] != kept[2]:
            attributes = fitting_label(attributes, kept[2])
        added.append((*kept, None, "", _provenance(document, user, one, kept), attributes))
    elif rows[kept] in removed:
        removed.remove(rows[kept])
    elif kept != one.bounds:
        raise ServiceError(_("Gold already has this span. Accept the removal, or choose other bounds."), code="there")
    return Effect(None, None, None, added, removed, removal=(one.proposed.number, before, str(REJECTED)))


def accept_rest(
    held: LockedNotes, document: Document, author: Author, user: User, review: Review, rest: Collection[int],
    *, allowed: bool,
) -> None:  # fmt: skip
    """Accept the open ones among these proposed removals, each as a decision of its own.

    Raises ServiceError `removals` if there are some and the person has not allowed it.
    """
    wanted = [one for one in removals_in(document, author, review) if one.proposed.number in rest]
    wanted = [one for one in wanted if _seen(held, document, one)[0] == "open"]
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
        effect = removal_effect(held, document, user, one, None)
        if effect is not None:
            held.do(effect, document.pk, review, {}, act=Act.ACCEPT, change_id=uuid4(), noted=noted)


def _provenance(document: Document, user: User, one: Removal, kept: LabeledBounds) -> Provenance:
    changed = ["bounds"] if kept[:2] != one.bounds[:2] else []
    changed += ["label"] if kept[2] != one.bounds[2] else []
    known: Provenance = {
        "from": one.proposed.origin,
        "set": one.annotation_set_id,
        "removal": one.proposed.number,
        "changed": changed,
    }
    return known | decided(user, document.project)


def _seen(held: LockedNotes, document: Document, one: Removal) -> Seen:
    return one.seen([(bounds, row[5]) for bounds, row in held.rows[document.pk].items()])


def _check_seen(
    held: LockedNotes, document: Document, user: User, one: Removal, seen: Seen | None, wanted: Seen
) -> None:
    """Raise ServiceError `moved` if another person's decision, which the page did not show, would be overwritten."""
    if seen is None or one.decision is None or one.decision.reviewer_id == user.pk:
        return
    if _seen(held, document, one) not in (seen, wanted):
        raise ServiceError(
            _(
                "%(name)s decided on this proposed removal meanwhile. Your decision was not saved; "
                "decide again if you disagree."
            )
            % {"name": one.decision.by},
            code="moved",
        )
