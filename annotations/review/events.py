"""Events of reviewing suggestions."""

from typing import NotRequired, TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.services import Bounds, Verb
from annotations.text.attributes import Provenance, Value


class DecisionState(TypedDict):
    """A decision in the log; `cause` names the bulk act that made it."""

    verdict: str
    bounds: Bounds | None
    cause: NotRequired[str]


GoldRow = tuple[int, int, int, float | None, str, Provenance | None, dict[str, Value] | None]
"""A gold span in the log: start, end, label id, confidence, source, provenance, attributes.

Rows that were logged before spans had attributes lack the last item (services.log.whole_row).
"""


Beside = tuple[int, DecisionState | None, DecisionState | None]
"""Another suggestion that the same act decides: its id, its state before and its state after."""


RemovalStep = tuple[int, str | None, str | None]
"""The number of a proposed removal, and its verdict before and after; None if open."""


ReviewDecided = TypedDict(
    "ReviewDecided",
    {
        # The decision on a suggestion, gold spans added and removed, and other suggestions decided by the same act.
        "suggestion": int | None,
        "before": DecisionState | None,
        "after": DecisionState | None,
        "added": list[GoldRow],
        "removed": list[GoldRow],
        "beside": list[Beside],
        # The decision on a proposed removal.
        "removal": RemovalStep,
        # The act, its run, and the bulk act that it belongs to.
        "act": str,
        "run": int,
        "cause": str,
        # The reviewer's pass (first or second of two), the decision overruled, and the result of a planted leak.
        "pass": str,
        "over": int,
        "planted": str,
        # Accepted by finishing the review, adding to gold that existed before, and although it is doubtful.
        "rest": bool,
        "with_gold": bool,
        "with_doubtful": bool,
        "with_removals": bool,
    },
    total=False,
)
"""One decision of review, or its undo."""


Numbers = dict[str, int | None]
"""Ids, counts and flags of a review by name, among them its `run`: never text."""

BulkEnded = dict[str, int | str | dict[str, object]]
"""A bulk act's id (`bulk`), `act` and counts, and its `rule` without the hash of the string, which may tell a name."""


class ReviewRevealed(TypedDict):
    """The result of a planted leak."""

    run: NotRequired[int]
    suggestion: int
    planted: str
    known: str
    reviewer: int | None
    drawn: str


REVIEW_DECIDED = Verb[ReviewDecided]("review.decided", _("decided on a suggestion"))
REVIEW_UNDONE = Verb[ReviewDecided]("review.undone", _("undid a decision"))
REVIEW_BULK_DONE = Verb[BulkEnded]("review.bulk_done", _("decided on many suggestions"))
REVIEW_BULK_UNDONE = Verb[BulkEnded]("review.bulk_undone", _("undid a bulk act"))
REVIEW_REOPENED = Verb[Numbers]("review.reopened", _("reopened a note's review"))
REVIEW_HANDED_OVER = Verb[Numbers]("review.handed_over", _("finished the first of two reviews"))
REVIEW_HANDOVER_UNDONE = Verb[Numbers](
    "review.handover_undone", _("continued a review that was waiting for a second reviewer")
)
REVIEW_COMPARED = Verb[Numbers]("review.compared", _("finished the second of two reviews"))
REVIEW_REVEALED = Verb[ReviewRevealed]("review.revealed", _("was shown a planted leak"))
REVIEW_FINISHED = Verb[Numbers]("review.finished", _("finished a note's review"))
