"""The end of a note's review: finished at once, or handed over if the project requires a second reviewer."""

from collections.abc import Collection
from uuid import uuid4

from django.db import transaction
from django.db.models import Exists
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.core.services import ServiceError, keep_labels
from annotations.models import AnnotationSetState, Author, Document, Handover, HandoverState, Review, User
from annotations.models.project import SecondReview
from annotations.review.events import REVIEW_FINISHED, REVIEW_REOPENED, Numbers, ReviewDecided
from annotations.review.selectors.planted import not_for_bulk
from annotations.review.selectors.reviewing import NoteOrder, between
from annotations.review.selectors.state import review_state
from annotations.review.selectors.suggestions import is_doubtful, of_run, suggestions
from annotations.review.services.deciding import Request, accept_removals, decide_locked
from annotations.review.services.handover import active, compare_reviews, hand_over, undo_handover
from annotations.review.services.locked_notes import LockedReview
from annotations.review.services.log import Act
from annotations.review.services.planting import reveal_leaks
from annotations.review.services.queue import keep_order

NOTE_BY_NOTE = NoteOrder()
# Largest number of open suggestions that finishing one note can accept.
MOST_REST = 10_000


def finish_review(
    *, document: Document, author: Author, user: User, rest: Collection[int] = (), removals: Collection[int] = (),
    stage: str | None = None, with_gold: bool = False, with_doubtful: bool = False, with_removals: bool = False,
    queue: NoteOrder = NOTE_BY_NOTE,
) -> Review:  # fmt: skip
    """Finish the review of a note, so that its gold counts. A review that is already finished is returned unchanged.

    `rest`: suggestions that the person saw open and accepts by finishing; other people's decisions made meanwhile are
    kept. `with_gold`: the person allows `rest` to add to finished gold (selectors.finished_gold). `with_doubtful`: the
    person allows it to accept doubtful suggestions (suggestions). `removals`: numbers of proposed removals that
    the person saw open and accepts by finishing, if `with_removals` says that they allow it. `stage`: the stage that
    the page showed (selectors.state), so that nobody makes a second review by mistake. `queue`: the order that chose
    the note. It is stored when the note is first finished (services.offering).

    Planted leaks of the note are revealed (services.planting). Missed ones are then open suggestions, which must be
    decided one by one before the review can be finished; `rest` never accepts them.

    If the project requires two reviewers, the first call hands the note over. The call of the second reviewer ends the
    review, or, if the second review was blind and differs, shows the differences; the next call ends the review.

    Raises ServiceError: `open` (undecided suggestions), `conflicting` (`rest` holds conflicting suggestions of a merged
    list), `conflict` (`rest` overlaps gold or itself with different bounds, annotations.review.rules.precision), `gold`
    (finished gold without `with_gold`), `removals` (proposed removals without `with_removals`), `doubtful` (doubtful
    suggestions without `with_doubtful`), `moved` (the stage has changed), `waiting` (another person must go on).
    """
    with transaction.atomic():
        keep_labels(document.project_id)
        here = LockedReview.of(document, author, user)
        review = here.review
        if review.finished_at is not None:
            return review
        shared = between(review.pk, user)
        _check_stage(shared.stage if shared else "first", shared.first if shared else "", stage)
        accepted = _accept_rest(here, rest, with_gold=with_gold, with_doubtful=with_doubtful) if rest else 0
        if removals:
            accept_removals(here, removals, allowed=with_removals)
        _check_open(document, author)
        if _reveal(here):
            return review
        handover = active(review)
        second_review = document.project.second_review
        if handover is None:  # The second reviewer's order doesn't matter: the first one's chose the note.
            keep_order(author=author, document=document.pk, user=user, queue=queue)
            if second_review != SecondReview.OFF:
                hand_over(here, blind=second_review == SecondReview.BLIND, accepted=accepted)
                return review
        elif handover.state == HandoverState.WAITING:
            compare_reviews(here, handover, accepted)
            if handover.state == HandoverState.RESOLVING:
                return review
            accepted = 0  # the event of the comparison holds this count already
        else:
            Handover.objects.filter(pk=handover.pk).update(state=HandoverState.DONE)
        _finish(here, handover, accepted)
    return review


def _accept_rest(here: LockedReview, rest: Collection[int], *, with_gold: bool, with_doubtful: bool) -> int:
    """Accept the open suggestions in `rest`, each as a decision of its own. Returns their number."""
    held = here.held()
    # Missed planted leaks are left out, because a second press of the same key must not accept them.
    listed = suggestions(~Exists(not_for_bulk()), order=["start", "end", "pk"], **of_run(here.document, here.author))
    wanted = [one for one in listed if one.pk in rest and held.seen(one)[0] == "open"]
    held.load_conflicting(wanted)
    if any(held.seen(other)[0] == "open" for one in wanted for other in held.conflicting(one)):
        message = _("Suggestions of different runs conflict in this note. Choose one of them, then finish the review.")
        raise ServiceError(message, code="conflicting")
    has_finished_gold = held.has_finished_gold(here.document.pk)
    if wanted and has_finished_gold and not with_gold:
        message = _(
            "This note already has gold, so nothing was accepted. Decide on each suggestion, or select the box "
            "above the note that lets “Accept the rest” add to this gold. If there is no box, reload the page."
        )
        raise ServiceError(message, code="gold")
    doubtful = {one.pk for one in wanted if is_doubtful(one.provenance)}
    if doubtful and not with_doubtful:
        message = ngettext(
            "%(count)s suggestion is doubtful, so nothing was accepted. Decide on it, or select the box above the note "
            "that includes doubtful suggestions. If there is no box, reload the page.",
            "%(count)s suggestions are doubtful, so nothing was accepted. Decide on each of them, or select the box "
            "above the note that includes doubtful suggestions. If there is no box, reload the page.",
            len(doubtful),
        )
        raise ServiceError(message % {"count": len(doubtful)}, code="doubtful")
    _check_conflicts(len(held.conflicts(wanted)))
    noted: ReviewDecided = {"rest": True}
    if has_finished_gold:
        noted["with_gold"] = True
    for one in wanted:
        about: ReviewDecided = {**noted, "with_doubtful": True} if one.pk in doubtful else noted
        held.decide(one, one.bounds, here.review, Act.ACCEPT, change_id=uuid4(), noted=about)
    held.write()
    return len(wanted)


def _check_conflicts(found: int) -> None:
    if found:
        message = ngettext(
            "%(count)s suggestion overlaps another span with different bounds. Decide on it, then finish the review.",
            "%(count)s suggestions overlap other spans with different bounds. "
            "Decide on them one by one, then finish the review.",
            found,
        )
        raise ServiceError(message % {"count": found}, code="conflict")


def _check_open(document: Document, author: Author) -> None:
    left = review_state(document=document, author=author)["open"]
    if left:
        message = ngettext(
            "%(count)s suggestion is still open. Decide on it, then finish the review.",
            "%(count)s suggestions are still open. Decide on them, then finish the review.",
            left,
        )
        raise ServiceError(message % {"count": left}, code="open")


def _reveal(here: LockedReview) -> bool:
    """Reveal the planted leaks of the note. Returns whether the reviewer now has suggestions to decide on."""
    if not here.review.planted_share:
        return False
    reveal_leaks(here)
    state = review_state(document=here.document, author=here.author)
    for each in state["suggestions"]:
        if each.get("planted") and each["state"] == "accepted" and each["by"] is None:
            # The reviewer marked the same span by hand after the leak was shown, which decides the suggestion.
            request = Request(change_id=uuid4(), act=Act.ACCEPT, suggestion=each["id"])
            decide_locked(here, request, planted=each["planted"])
    return bool(state["open"])


def _check_stage(now: str, first: str, seen: str | None) -> None:
    if now == "waiting":
        message = _("You reviewed this note first. A different person must finish the second review.")
        raise ServiceError(message, code="waiting")
    if seen is not None and seen != now:
        message = (
            _("%(name)s changed the stage of this review meanwhile, so it was not finished. Check the current state.")
            if first
            else _(
                "Someone changed the stage of this review meanwhile, so it was not finished. Check the current state."
            )
        )
        raise ServiceError(message % {"name": first} if first else message, code="moved")


def _finish(here: LockedReview, handover: Handover | None, accepted: int) -> None:
    review, gold = here.review, here.gold
    spans = gold.spans.count()
    review.finished_by, review.finished_at, review.found_empty = here.user, timezone.now(), not spans
    review.save(update_fields=["finished_by", "finished_at", "found_empty"])
    gold.state, gold.submitted_at = AnnotationSetState.SUBMITTED, timezone.now()
    gold.save(update_fields=["state", "submitted_at", "updated_at"])
    data: Numbers = {"spans": spans, "found_empty": not spans}
    if accepted:
        data["accepted"] = accepted
    if handover:
        data |= {"first": handover.first_id, "handover": handover.pk}
    here.record(REVIEW_FINISHED, data)


def reopen_review(*, document: Document, author: Author, user: User) -> Review:
    """Reopen a finished review. The gold counts as before until someone changes it.

    Later decisions change the gold at once. If the project requires two reviewers, changed gold stops counting until
    two people have finished the note again. A person who handed the note over gets it back. How the note was chosen
    the first time stays as it is. Raises ServiceError `begun` if a second reviewer has begun.
    """
    with transaction.atomic():
        here = LockedReview.of(document, author, user)
        review = here.review
        if review.finished_at is not None:
            review.finished_by, review.finished_at = None, None
            review.drawn = review.drawn or Review.Drawn.NOTE
            review.save(update_fields=["finished_by", "finished_at", "drawn"])
            here.record(REVIEW_REOPENED, {})
            return review
        shared, handover = between(review.pk, user), active(review)
        if handover is not None and shared is not None and shared.own:
            Review.objects.filter(pk=review.pk, drawn="").update(drawn=Review.Drawn.NOTE)
            undo_handover(here, handover)
    return review
