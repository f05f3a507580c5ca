"""The current state of a review."""

from collections.abc import Callable, Iterable
from typing import Any, NotRequired, TypedDict

from django.db.models import Exists, OuterRef

from annotations import models
from annotations.core.access import Access
from annotations.core.suggestions import HIDDEN
from annotations.projects.selectors.projects import ACTIVE
from annotations.review.selectors.planted import aliases, planted_in
from annotations.review.selectors.refined import RefinedView, RemovalView, refined_in, removal_shown, removals_in
from annotations.review.selectors.reviewing import Between, between
from annotations.review.selectors.suggestions import (
    Bounds,
    CurrentDecision,
    backing_of,
    conflicting_among,
    is_doubtful,
    is_finished,
)
from annotations.text.attributes import Doubt, Provenance, RunSays, Value
from annotations.text.spans import LabeledBounds

Seen = tuple[str, LabeledBounds | None]
"""What a page shows of a suggestion: open, accepted or rejected; if accepted, also its bounds and label in gold."""


class SuggestionView(TypedDict):
    """A suggestion as a page shows it: its bounds as suggested, its state, and who decided on it and when."""

    id: int
    start: int
    end: int
    label: int
    confidence: float | None
    source: str
    state: str
    bounds: LabeledBounds | None
    by: str | None
    at: str | None
    # In a merged list: the runs that suggest it, the number of runs merged, and the ids of conflicting suggestions.
    # `differing`: names of attributes to which two of these runs gave different values.
    runs: NotRequired[list[RunSays]]
    differing: NotRequired[list[str]]
    of: NotRequired[int]
    conflicting: NotRequired[list[int]]
    # From a language model: words beside the span that it removed too, words of the span without support, or the number
    # of places that it may have meant.
    doubt: NotRequired[Doubt]
    # From a refiner: what it did with the annotation, the bounds and the label before, and why.
    refined: NotRequired[RefinedView]
    # The outcome of a planted leak.
    planted: NotRequired[str]
    attributes: NotRequired[dict[str, Value]]


GoldShown = dict[str, Any]
"""A gold span: `start`, `end`, `label`, the annotation set that it is `from`, who decided (`by`) and when (`at`)."""

BetweenShown = dict[str, Any]
"""The `first` reviewer, whether the second review is `blind`, and the first decisions (`outcome`) if they may be seen.

`suggestions` of the outcome: [start, end, label id] by suggestion id, or null if rejected. `removals`: the same by
number, null if accepted. `others`: added spans.
"""


class ReviewState(TypedDict):
    version: int
    finished: bool
    stage: str
    between: BetweenShown | None
    # The project's percentage of notes with planted leaks when this note's draw was made, 0 if none was made. It does
    # not reveal the result of the draw. The view removes it from what scripts get.
    planting: NotRequired[int]
    # Whether the note has finished gold (selectors.finished_gold), which decisions of this review change.
    has_finished_gold: bool
    # Whether the spans in `gold` are only in the draft of an open review, which is not gold yet.
    gold_is_draft: bool
    open: int
    suggestions: list[SuggestionView]
    # What a refiner proposes to remove. Open ones count in `open`.
    removals: list[RemovalView]
    gold: list[GoldShown]
    # The state has only the suggestions and gold spans that overlap this stretch of the text, and `open` counts these.
    part: NotRequired[Bounds]


def review_state(
    *, document: models.Document, author: models.Author, user: models.User | None = None, within: Bounds | None = None
) -> ReviewState:
    """The suggestions with the decisions on them, the gold spans, and the number of open suggestions.

    `stage` is finished or first. While two reviewers share the note, `stage` depends on `user`: waiting (for another
    person, so this person can't decide), second, or resolving (differences). `between` then describes the first review.

    A planted leak is left out until the first reviewer finishes the note. After that, `planted` gives its outcome,
    except in the stage second, where it would tell what the first reviewer did.

    A suggestion whose exact span is in gold counts as accepted, because nothing is left to decide. An accepted
    suggestion whose span was removed from gold by other means is open again.

    `within`: only this stretch of the text is wanted. The whole text is read nevertheless where what is elsewhere
    matters: in merged lists and refined runs, and while two reviewers share the note.
    """
    gold = (
        models.AnnotationSet.objects.filter(document=document, author__kind=models.AuthorKind.GOLD)
        .order_by("id")
        .first()
    )
    handovers = models.Handover.objects.filter(review=OuterRef("pk"), state__in=ACTIVE)
    reviews = models.Review.objects.filter(document=document, author=author)
    review = reviews.annotate(handed_over=Exists(handovers)).first()
    if author.kind != models.AuthorKind.RUN or author.merged_from is not None or (review and review.handed_over):
        within = None
    near = {"start__lt": within[1], "end__gt": within[0]} if within else {}
    gold_spans = models.Span.objects.filter(annotation_set=gold, **near) if gold else models.Span.objects.none()
    columns = ("start", "end", "label_id", "provenance", "attributes")
    spans = list(gold_spans.order_by("start", "end", "id").values_list(*columns))
    present = {(start, end, label) for start, end, label, *_ in spans}
    planted = planted_in(review.pk) if review and review.planted_share else {}
    suggested = models.Span.objects.filter(annotation_set__document=document, annotation_set__author=author, **near)
    found = suggested.order_by("start", "end", "id").values_list("id", *columns, "confidence", "source")
    rows = [row for row in found if planted.get(row[0]) != HIDDEN]
    decisions = _decisions(review.pk, near) if review else {}
    suggestions = [
        _suggestion(pk, (start, end, label), confidence, source, present, decisions.get(pk))
        for pk, start, end, label, _, _, confidence, source in rows
    ]
    for suggestion, row in zip(suggestions, rows, strict=True):
        if is_doubtful(row[4]):
            suggestion["doubt"] = row[4]
        if row[5]:
            suggestion["attributes"] = row[5]
    if author.kind == models.AuthorKind.REFINED:
        refined = refined_in(author.project, {row[0]: row[4] for row in rows})
        for suggestion in suggestions:
            if suggestion["id"] in refined:
                suggestion["refined"] = refined[suggestion["id"]]
    gold_of = [((start, end, label), made) for start, end, label, made, _ in spans]
    removals = [removal_shown(one, gold_of) for one in removals_in(document, author, review)]
    merged = [(row[0], row[1], row[2], backing) for row in rows if (backing := backing_of(row[4]))]
    if merged:
        conflicting, by_id = conflicting_among(merged), {suggestion["id"]: suggestion for suggestion in suggestions}
        for pk, _, _, backing in merged:
            by_id[pk] |= {"runs": backing["runs"], "of": backing["of"], "conflicting": conflicting[pk]}
            if differing := backing.get("attributes"):
                by_id[pk]["differing"] = differing
    finished = review is not None and review.finished_by_id is not None
    meets = between(review.pk, user) if review and review.handed_over and not finished else None
    stage = meets.stage if meets else "finished" if finished else "first"
    if stage != "second":
        for suggestion in suggestions:
            if suggestion["id"] in planted:
                suggestion["planted"] = planted[suggestion["id"]]
    state: ReviewState = {
        "version": gold.version if gold else 0,
        "finished": stage in ("finished", "waiting"),
        "stage": stage,
        "between": _between(meets) if meets else None,
        "planting": (review and review.planted_share) or 0,
        "has_finished_gold": gold is not None and is_finished(gold.state, gold.submitted_at),
        "gold_is_draft": gold is None or gold.state == models.AnnotationSetState.DRAFT,
        "open": sum(one["state"] == "open" for one in (*suggestions, *removals)),
        "suggestions": suggestions,
        "removals": removals,
        "gold": [_gold(*row) for row in spans],
    }
    return state | {"part": within} if within else state


def _between(meets: Between) -> BetweenShown:
    outcome = None
    if meets.shows_first:
        stored = models.Handover.objects.values_list("outcome", flat=True).get(pk=meets.pk)
        # An outcome that was stored before refiners proposed removals has none.
        outcome = {"removals": {}} | {name: row for name, row in stored.items() if name != "before"}
    return {"first": meets.first, "blind": meets.blind, "outcome": outcome}


def _decisions(review: int, near: dict[str, int]) -> dict[int, CurrentDecision]:
    lookups = {f"suggestion__{name}": value for name, value in near.items()}
    made = models.Decision.objects.filter(review_id=review, **lookups).order_by()
    columns = ("verdict", "start", "end", "label_id", "cause_id", "reviewer_id", "reviewer__username", "at")
    return {pk: CurrentDecision(*row) for pk, *row in made.values_list("suggestion_id", *columns)}


def shown_state(present: Iterable[LabeledBounds], suggested: Iterable[int], decision: CurrentDecision | None) -> Seen:
    """The state of a suggestion. `present` are the spans in gold; all bounds are start, end and label id."""
    if decision is not None and decision.verdict == models.Decision.Verdict.REJECTED:
        return "rejected", None
    start, end, label = suggested
    if decision is not None and decision.start is not None and decision.end is not None and decision.label_id:
        start, end, label = decision.start, decision.end, decision.label_id
    bounds = start, end, label
    return ("accepted", bounds) if bounds in present else ("open", None)


def _suggestion(
    pk: int, suggested: LabeledBounds, confidence: float | None, source: str, present: Iterable[LabeledBounds],
    decision: CurrentDecision | None,
) -> SuggestionView:  # fmt: skip
    state, bounds = shown_state(present, suggested, decision)
    start, end, label = suggested
    by, at = (decision.by, decision.at.isoformat()) if decision else (None, None)
    return SuggestionView(
        id=pk, start=start, end=end, label=label, confidence=confidence, source=source, state=state, bounds=bounds,
        by=by, at=at,
    )  # fmt: skip


def _gold(
    start: int, end: int, label: int, provenance: Provenance | None, attributes: dict[str, Value] | None
) -> GoldShown:
    how: Provenance = provenance or {}
    shown = {"start": start, "end": end, "label": label, "from": how.get("from", "")}
    shown |= {"by": how.get("by"), "at": how.get("at")}
    return shown | ({"attributes": attributes} if attributes else {})


# The state of a review as a person may see it: names of annotators, and aliases instead of ids.


def _without_name(source: str) -> str:
    """The origin of a gold span (“kind:name”), without the name if it is an annotator's."""
    kind = source.partition(":")[0]
    return kind if kind == models.AuthorKind.ANNOTATOR else source


def shown_to(access: Access, state: ReviewState) -> ReviewState:
    """The state as this person may see it: without annotators' names if adjudication is anonymous.

    If leaks are planted, aliases replace the suggestion ids, because a gap between ids would reveal a hidden one.
    """
    planting = state.pop("planting", 0)
    if access.unnamed:
        state["gold"] = [span | {"from": _without_name(span["from"])} for span in state["gold"]]
    if not (access.project.planted_share or planting):
        return state
    of = aliases(access.project).of
    suggestions = [_aliased(suggestion, of) for suggestion in state["suggestions"]]
    between = state["between"]
    if between and between["outcome"]:
        decided = {str(of(int(pk))): bounds for pk, bounds in between["outcome"]["suggestions"].items()}
        between = between | {"outcome": between["outcome"] | {"suggestions": decided}}
    return state | {"suggestions": suggestions, "between": between}


def _aliased(suggestion: SuggestionView, of: Callable[[int], int]) -> SuggestionView:
    aliased = suggestion | {"id": of(suggestion["id"])}
    if "conflicting" in suggestion:
        aliased["conflicting"] = [of(pk) for pk in suggestion["conflicting"]]
    return aliased


def goes_on(state: ReviewState) -> bool:
    """Whether the reviewer must decide on revealed leaks or differences before the review can be finished."""
    return state["stage"] == "resolving" or (state["stage"] == "first" and bool(state["open"]))
