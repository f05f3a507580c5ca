"""Events of reviewing suggestions."""

from typing import NotRequired, TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Bounds, Verb
from annotations.text.attributes import Value
from annotations.text.provenance import Provenance


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


class BulkCounts(TypedDict):
    decided: int
    left: int
    beside: int
    undone: int
    kept: int
    skipped: int
    skipped_notes: int
    conflicts: int
    doubtful: int


class BulkEnded(BulkCounts):
    """`rule` lacks the hash of the string, from which names could be guessed."""

    bulk: str
    act: str
    rule: dict[str, object]


class OfRun(TypedDict):
    run: int


class ReviewBetween(TypedDict, total=False):
    """A review passes between two reviewers, or is compared. `accepted` counts suggestions accepted by finishing."""

    run: int
    handover: int
    blind: bool
    decided: int
    first: int
    compared: int
    equal: int
    accepted: int
    ended: bool


class ReviewFinished(OfRun):
    spans: int
    found_empty: bool
    accepted: NotRequired[int]
    first: NotRequired[int | None]
    handover: NotRequired[int]


class ReviewRevealed(OfRun):
    """The result of a planted leak."""

    suggestion: int
    planted: str
    known: str
    reviewer: int | None
    drawn: str


REVIEW_DECIDED = Verb[ReviewDecided]("review.decided", _("decided on a suggestion"))
REVIEW_UNDONE = Verb[ReviewDecided]("review.undone", _("undid a decision"))
REVIEW_BULK_DONE = Verb[BulkEnded]("review.bulk_done", _("decided on many suggestions"))
REVIEW_BULK_UNDONE = Verb[BulkEnded]("review.bulk_undone", _("undid a bulk act"))
REVIEW_REOPENED = Verb[OfRun]("review.reopened", _("reopened a note's review"))
REVIEW_HANDED_OVER = Verb[ReviewBetween]("review.handed_over", _("finished the first of two reviews"))
REVIEW_HANDOVER_UNDONE = Verb[ReviewBetween](
    "review.handover_undone", _("continued a review that was waiting for a second reviewer")
)
REVIEW_COMPARED = Verb[ReviewBetween]("review.compared", _("finished the second of two reviews"))
REVIEW_REVEALED = Verb[ReviewRevealed]("review.revealed", _("was shown a planted leak"))
REVIEW_FINISHED = Verb[ReviewFinished]("review.finished", _("finished a note's review"))
