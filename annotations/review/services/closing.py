"""The end of a note's review: closed at once, or handed on to a second person where an acceptance needs two."""

from collections.abc import Collection
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.core.errors import ServiceError
from annotations.core.events import record
from annotations.core.label_lock import keep_labels
from annotations.domain.conflicts import Candidate, Place, conflicting
from annotations.models import AnnotationSet, Author, Document, Handover, Review, User, Verb
from annotations.models.project import SecondReview
from annotations.review.selectors.handovers import between
from annotations.review.selectors.state import review_state
from annotations.review.services.deciding import Request, decide_locked
from annotations.review.services.handing import active, compare_second, hand_on, take_back
from annotations.review.services.locking import locked
from annotations.review.services.log import Act
from annotations.review.services.planting import reveal_leaks


def close_review(
    *, document: Document, author: Author, user: User, rest: Collection[int] = (), stage: str | None = None,
    with_gold: bool = False,
) -> Review:  # fmt: skip
    """End the review of a note: its gold now counts. Refused (`open`) while a proposal is undecided. Twice is once.

    `rest` are proposals that the person saw open and accepts by closing; what somebody decided meanwhile stays so.
    Refused (`rivals`) where two of a merged list stand for one place, (`conflict`) where one overlaps gold, or another
    of them, with other ends (domain.conflicts), and (`gold`) where the note already has gold (selectors.settled) and
    the person did not say `with_gold`.

    Planted leaks of the note are shown then (services.planting): what the reading did not mark is open, to be decided
    one by one, and the review goes on until it is. Closing never accepts it.

    Where the project asks for two people, the first one's close hands the note on; the second one's close ends it, or,
    where they were blind and differ, shows the differences first: the next close ends it. `stage` is what the page
    showed (selectors.state): a second review is never made by somebody who took it for the first. Refused: `moved`,
    `waiting` (for another person).
    """
    with transaction.atomic():
        keep_labels(document.project_id)
        review, gold = locked(document, author)
        if review.closed_at is not None:
            return review
        meets = between(review.pk, user)
        _check_stage(meets.stage if meets else "first", meets.first if meets else "", stage)
        accepted = _accept_rest(document, author, user, review, gold, rest, with_gold=with_gold) if rest else 0
        _check_open(document, author)
        if _reveal(document, author, user, review, gold):
            return review
        handover = active(review)
        if handover is None and document.project.second_review != SecondReview.OFF:
            blind = document.project.second_review == SecondReview.BLIND
            hand_on(
                review=review, gold=gold, document=document, author=author, user=user, blind=blind, accepted=accepted
            )
            return review
        if handover is not None and handover.state == Handover.State.WAITING:
            compare_second(handover=handover, gold=gold, document=document, author=author, user=user, accepted=accepted)
            if handover.state == Handover.State.SETTLING:
                return review
            accepted = 0  # said by the comparison
        elif handover is not None:
            Handover.objects.filter(pk=handover.pk).update(state=Handover.State.DONE)
        _close(review, gold, document, author, user, handover, accepted)
    return review


def _accept_rest(
    document: Document, author: Author, user: User, review: Review, gold: AnnotationSet, rest: Collection[int],
    *, with_gold: bool,
) -> int:  # fmt: skip
    """Each is a decision of this person's like any other; the event of closing is the one act that they came by."""
    state = review_state(document=document, author=author)
    proposals = {each["id"]: each for each in state["proposals"] if each["state"] == "open"}
    # A leak that was missed is looked at by itself: the second press of a key must not accept it.
    wanted = [pk for pk, each in proposals.items() if pk in rest and not each.get("planted")]
    if any(set(proposals[pk].get("rivals", ())) & proposals.keys() for pk in wanted):
        raise ServiceError(_("runs say different things of one place there; choose between them first"), code="rivals")
    settled: bool = state["settled"]
    if wanted and settled and not with_gold:
        raise ServiceError(
            _(
                "this note already has gold, so nothing was accepted; decide on each proposal, or tick "
                "“Accept the rest may add to this gold” above the note (if there is no such box, reload the page)"
            ),
            code="gold",
        )
    _check_conflicts([proposals[pk] for pk in wanted], state["gold"], settled=settled)
    noted = {"rest": True} | ({"with_gold": True} if settled else {})
    for pk in wanted:
        request = Request(change_id=uuid4(), act=Act.ACCEPT, proposal=pk)
        decide_locked(document, author, user, review, gold, request, **noted)
    return len(wanted)


def _check_conflicts(wanted: list[dict[str, Any]], gold: list[dict[str, Any]], *, settled: bool) -> None:
    candidates = [Candidate(each["id"], _place(each)) for each in wanted]
    found = len(conflicting(candidates, map(_place, gold), settled=settled))
    if found:
        message = ngettext(
            "%(count)s proposal overlaps another span with other ends; decide on it by itself, then close the note",
            "%(count)s proposals overlap other spans with other ends; decide on them one by one, then close the note",
            found,
        )
        raise ServiceError(message % {"count": found}, code="conflict")


def _place(shown: dict[str, Any]) -> Place:
    return shown["start"], shown["end"], shown["label"]


def _check_open(document: Document, author: Author) -> None:
    left = review_state(document=document, author=author)["open"]
    if left:
        message = ngettext(
            "%(count)s proposal is still open; decide first, then close the note",
            "%(count)s proposals are still open; decide first, then close the note",
            left,
        )
        raise ServiceError(message % {"count": left}, code="open")


def _reveal(document: Document, author: Author, user: User, review: Review, gold: AnnotationSet) -> bool:
    """Whether the reading has something to decide on that had been left out of the proposals."""
    if not review.planted_share:
        return False
    reveal_leaks(review=review, gold=gold, document=document, author=author, user=user)
    state = review_state(document=document, author=author)
    for each in state["proposals"]:
        if each.get("planted") and each["state"] == "accepted" and each["by"] is None:
            # Marked by hand just as it was proposed, after it was shown: that was the decision.
            request = Request(change_id=uuid4(), act=Act.ACCEPT, proposal=each["id"])
            decide_locked(document, author, user, review, gold, request, planted=each["planted"])
    return bool(state["open"])


def _check_stage(now: str, first: str, seen: str | None) -> None:
    if now == "waiting":
        raise ServiceError(_("you reviewed this note first; a second person must close it"), code="waiting")
    if seen is not None and seen != now:
        who = first or "somebody"
        raise ServiceError(
            _("%(who)s closed or reopened this note meanwhile, so yours was not taken; look at it as it is now")
            % {"who": who},
            code="moved",
        )


def _close(
    review: Review, gold: AnnotationSet, document: Document, author: Author, user: User, handover: Handover | None,
    accepted: int,
) -> None:  # fmt: skip
    empty = not gold.spans.exists()
    review.closed_by, review.closed_at, review.found_empty = user, timezone.now(), empty
    review.save(update_fields=["closed_by", "closed_at", "found_empty"])
    gold.state, gold.submitted_at = AnnotationSet.State.SUBMITTED, timezone.now()
    gold.save(update_fields=["state", "submitted_at", "updated_at"])
    two = {"first": handover.first_id, "handover": handover.pk} if handover else {}
    record(
        verb=Verb.REVIEW_CLOSED,
        actor=user,
        project_id=document.project_id,
        document_id=document.pk,
        annotation_set_id=gold.pk,
        data={"run": author.pk, "spans": gold.spans.count(), "found_empty": empty}
        | ({"accepted": accepted} if accepted else {})
        | two,
    )


def reopen_review(*, document: Document, author: Author, user: User) -> Review:
    """Take a closed review up again. The gold stays and counts as before, until somebody changes it.

    What is decided then changes it at once, or, where an acceptance needs two people, stops counting until two have
    closed the note again. Whoever handed the note on takes it back so, as long as no second has begun (`begun`).
    """
    with transaction.atomic():
        review, gold = locked(document, author)
        if review.closed_at is not None:
            review.closed_by, review.closed_at = None, None
            review.save(update_fields=["closed_by", "closed_at"])
            record(
                verb=Verb.REVIEW_REOPENED,
                actor=user,
                project_id=document.project_id,
                document_id=document.pk,
                annotation_set_id=gold.pk,
                data={"run": author.pk},
            )
            return review
        meets, handover = between(review.pk, user), active(review)
        if handover is not None and meets is not None and meets.own:
            take_back(handover=handover, gold=gold, document=document, author=author, user=user)
    return review
