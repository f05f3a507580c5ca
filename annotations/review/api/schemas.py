"""What routes of review answer: the state of a review, with codes instead of ids of labels."""

from collections.abc import Mapping
from typing import Any, Self

from ninja import Field, Schema

from annotations.review.selectors.refined import RefinedShown
from annotations.review.selectors.removals import RemovalShown
from annotations.review.selectors.state import BetweenShown, GoldShown, ReviewState, SuggestionView
from annotations.text.names import MAX_OFFSET

Codes = Mapping[int, str]


class Bounds(Schema):
    """Offsets in code points, end-exclusive, and the code of a label."""

    start: int = Field(ge=0, le=MAX_OFFSET)
    end: int = Field(ge=0, le=MAX_OFFSET)
    label: str = Field(max_length=60)


class RefinedOut(Bounds):
    """What a refiner did (`action`: keep or update) with an annotation that had these bounds and this label."""

    action: str
    reason: str

    @classmethod
    def shown(cls, one: RefinedShown, codes: Codes) -> Self:
        label = codes[one["label"]] if one["label"] else one["code"]
        return cls(start=one["start"], end=one["end"], label=label, action=one["action"], reason=one["reason"])


class RemovalOut(Bounds):
    """An annotation that a refiner proposes to remove. `state` is open, accepted or rejected.

    If it was rejected, the annotation stays, and `kept` are its bounds and label in gold.
    """

    number: int
    reason: str
    state: str
    kept: Bounds | None
    by: str | None
    at: str | None

    @classmethod
    def shown(cls, one: RemovalShown, codes: Codes) -> Self:
        return cls(
            number=one["number"], start=one["start"], end=one["end"], label=codes[one["label"]], reason=one["reason"],
            state=one["state"], kept=bounds_of(one["bounds"], codes), by=one["by"], at=one["at"],
        )  # fmt: skip


class SuggestionOut(Bounds):
    """A suggestion. `state` is open, accepted or rejected; `accepted` are its bounds and label in gold.

    `refined` says what a refiner did with it, and why. `runs`, `of`, `conflicting` and `differing` are of merged lists:
    the runs that suggest it, how many were merged, suggestions of which only one can be right, and attributes to which
    the runs gave different values. `doubt` says which words are doubtful, and `planted` is the outcome of a planted
    leak.
    """

    id: int
    confidence: float | None
    source: str
    state: str
    accepted: Bounds | None
    by: str | None
    at: str | None
    runs: list[dict[str, Any]] | None = None
    of: int | None = None
    conflicting: list[int] | None = None
    differing: list[str] | None = None
    doubt: dict[str, Any] | None = None
    refined: RefinedOut | None = None
    planted: str | None = None
    attributes: dict[str, Any] = {}

    @classmethod
    def shown(cls, one: SuggestionView, codes: Codes) -> Self:
        more: dict[str, Any] = {key: one.get(key) for key in _OPTIONAL}
        refined = one.get("refined")
        return cls(
            id=one["id"], start=one["start"], end=one["end"], label=codes[one["label"]], confidence=one["confidence"],
            source=one["source"], state=one["state"], accepted=bounds_of(one["bounds"], codes), by=one["by"],
            at=one["at"], attributes=one.get("attributes") or {},
            refined=RefinedOut.shown(refined, codes) if refined else None, **more,
        )  # fmt: skip


_OPTIONAL = ("runs", "of", "conflicting", "differing", "doubt", "planted")


class GoldSpanOut(Bounds):
    """A gold span. `origin` names the annotation set from which it is, `by` and `at` the decision."""

    origin: str
    by: str | None
    at: str | None
    attributes: dict[str, Any] = {}

    @classmethod
    def shown(cls, one: GoldShown, codes: Codes) -> Self:
        return cls(
            start=one["start"], end=one["end"], label=codes[one["label"]], origin=one["from"], by=one["by"],
            at=one["at"], attributes=one.get("attributes") or {},
        )  # fmt: skip


class FirstReview(Schema):
    """The first review of two. Its decisions are hidden in a blind review.

    `suggestions` (null: rejected) and `removals` (null: accepted) have the bounds in gold; `others` are added spans.
    """

    reviewer: str
    blind: bool
    suggestions: dict[str, Bounds | None] | None = None
    removals: dict[str, Bounds | None] | None = None
    others: list[Bounds] | None = None

    @classmethod
    def shown(cls, one: BetweenShown, codes: Codes) -> Self:
        outcome = one["outcome"]
        if outcome is None:
            return cls(reviewer=one["first"], blind=one["blind"])
        decided = {pk: bounds_of(row, codes) for pk, row in outcome["suggestions"].items()}
        removals = {number: bounds_of(row, codes) for number, row in outcome["removals"].items()}
        others = [found for row in outcome["others"] if (found := bounds_of(row, codes))]
        return cls(reviewer=one["first"], blind=one["blind"], suggestions=decided, removals=removals, others=others)


class ReviewOut(Schema):
    """A review. `stage`: first, finished, waiting (for another person), second, or resolving (differences).

    `version` counts the changes of gold. `open` counts open suggestions and proposed removals. `has_finished_gold`: the
    note has gold that decisions change. `gold_is_draft`: the spans in `gold` don't count until the review is finished.
    """

    version: int
    finished: bool
    stage: str
    open: int
    has_finished_gold: bool
    gold_is_draft: bool
    first_review: FirstReview | None
    suggestions: list[SuggestionOut]
    removals: list[RemovalOut]
    gold: list[GoldSpanOut]

    @classmethod
    def of(cls, state: ReviewState, codes: Codes) -> "ReviewOut":
        between = state["between"]
        return ReviewOut(
            version=state["version"], finished=state["finished"], stage=state["stage"], open=state["open"],
            has_finished_gold=state["has_finished_gold"], gold_is_draft=state["gold_is_draft"],
            first_review=FirstReview.shown(between, codes) if between else None,
            suggestions=[SuggestionOut.shown(one, codes) for one in state["suggestions"]],
            removals=[RemovalOut.shown(one, codes) for one in state["removals"]],
            gold=[GoldSpanOut.shown(one, codes) for one in state["gold"]],
        )  # fmt: skip


def bounds_of(row: Any, codes: Codes) -> Bounds | None:
    """Return start, end and label id as bounds with the label's code; None for None."""
    return Bounds(start=row[0], end=row[1], label=codes[row[2]]) if row else None
