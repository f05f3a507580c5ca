"""Routes of review note by note: runs, the next note, suggestions, decisions, finishing and reopening."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Final, Literal, Self, TypeVar
from uuid import uuid4

from ninja import Field, Query, Schema

from annotations.core.access import Access, Can
from annotations.core.api.paging import Page, PageAnswer, Paging, paged_rows
from annotations.core.api.routes import Answer, ApiRequest, Body, Code, FieldReader, ProjectRouter, invalid, named
from annotations.core.services import NOTE_READ
from annotations.models import Author, Document
from annotations.notes.api import codes_of, label_coded
from annotations.review.selectors import state as state_selectors
from annotations.review.selectors.planted import found_of, hidden_at, suggestion_named
from annotations.review.selectors.reviewing import NoteOrder, Order, review_for, review_progress
from annotations.review.selectors.reviewing import run_author as find_run
from annotations.review.services.deciding import ON_A_SUGGESTION, SETS_BOUNDS, WITH_BOUNDS, Request, decide
from annotations.review.services.finishing import MOST_REST, finish_review, reopen_review
from annotations.review.services.log import Act
from annotations.review.services.queue import next_in_queue
from annotations.text.names import MAX_ID, MAX_OFFSET

# What routes of review answer: the state of a review, with codes instead of ids of labels.


Codes = Mapping[int, str]
Shown = TypeVar("Shown", bound=Schema)


def _as_object(row: Any) -> Any:
    """Start, end and label as an object with these names."""
    return dict(zip(BOUNDS, row, strict=True)) if isinstance(row, list | tuple) else row


def coded(item: type[Shown], access: Access) -> Callable[[Any], Shown]:
    """A function that makes such an answer, with the codes of the project's labels."""
    return partial(item.model_validate, context={"codes": codes_of(access.project.pk)})


BOUNDS: Final = ["start", "end", "label"]


class Bounds(Answer):
    """Offsets in code points, end-exclusive, and the code of a label."""

    start: int = Field(ge=0, le=MAX_OFFSET)
    end: int = Field(ge=0, le=MAX_OFFSET)
    label: Code = Field(max_length=60)


InGold = Annotated[Bounds, FieldReader(_as_object)]


class RefinedOut(Bounds):
    """What a refiner did (`action`: keep or update) with an annotation that had these bounds and this label."""

    action: str
    reason: str


class RemovalOut(Bounds):
    """An annotation that a refiner proposes to remove. `state` is open, accepted or rejected.

    If it was rejected, the annotation stays, and `kept` are its bounds and label in gold.
    """

    number: int
    reason: str
    state: str
    kept: InGold | None = Field(validation_alias="bounds")
    by: str | None
    at: str | None


def _before_refining(one: Any) -> Any:
    """The label that the annotation had, as its code where the label was deleted since."""
    return one | {"label": one["label"] or one["code"]} if isinstance(one, dict) and "code" in one else one


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
    accepted: InGold | None = Field(validation_alias="bounds")
    by: str | None
    at: str | None
    runs: list[dict[str, Any]] | None = None
    of: int | None = None
    conflicting: list[int] | None = None
    differing: list[str] | None = None
    doubt: dict[str, Any] | None = None
    refined: Annotated[RefinedOut | None, FieldReader(_before_refining)] = None
    planted: str | None = None
    attributes: dict[str, Any] = {}


class GoldSpanOut(Bounds):
    """A gold span. `origin` names the annotation set from which it is, `by` and `at` the decision."""

    origin: str = Field(validation_alias="from")
    by: str | None
    at: str | None
    attributes: dict[str, Any] = {}


class FirstReview(Answer):
    """The first review of two. Its decisions are hidden in a blind review.

    `suggestions` (null: rejected) and `removals` (null: accepted) have the bounds in gold; `others` are added spans.
    """

    reviewer: str = Field(validation_alias="first")
    blind: bool
    suggestions: dict[str, InGold | None] | None = None
    removals: dict[str, InGold | None] | None = None
    others: list[InGold] | None = None


def _with_outcome(between: Any) -> Any:
    """The first review together with its outcome, if the person may see it."""
    return between | (between["outcome"] or {}) if isinstance(between, dict) else between


class ReviewOut(Answer):
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
    first_review: Annotated[FirstReview | None, FieldReader(_with_outcome)] = Field(validation_alias="between")
    suggestions: list[SuggestionOut]
    removals: list[RemovalOut]
    gold: list[GoldSpanOut]


router = ProjectRouter(tags=["Review"])
PATH = "/projects/{slug:slug}/reviews/{int:run_author}"
NOTE = f"{PATH}/notes/{{int:note}}"
# The field that an error of the service is about, by its code.
FIELDS: Final = {
    "suggestion": "suggestion", "label": "label", "quote": "quote", "outside": "end", "empty": "end",
    "attribute": "name",
}  # fmt: skip


class ReviewItem(Schema):
    """A run whose suggestions can be reviewed, with numbers of notes. `run_author` is its id in these addresses.

    `yours` notes wait for this person as second reviewer, and `others` for another person.
    """

    run_author: int
    name: str
    merged: bool
    done: int
    total: int
    left: int
    yours: int
    others: int

    @classmethod
    def of(cls, run: Author, access: Access) -> Self:
        at = review_progress(run, access.user)
        return cls(run_author=run.pk, name=run.name, merged=run.merged_from is not None, left=at.left, **asdict(at))


class NextReview(Schema):
    """The id of the next note to review; null if none is left."""

    note: int | None


class InOrder(Schema):
    """In which order notes are reviewed. With a label, only notes with an open suggestion of this label come first."""

    order: Order = "note"
    label: str = Field("", max_length=60, description="Code of a label of the project.")
    after: int = Field(0, ge=0, le=MAX_ID, description="Id of the note that was open last.")


class SuggestionFilters(Schema):
    """Which suggestions to list. Confidences are from 0 to 1; `agree` is a number of runs of a merged list."""

    state: Literal["", "open", "accepted", "rejected"] = ""
    label: str = Field("", max_length=60)
    source: str | None = Field(None, max_length=80)
    least: float | None = Field(None, ge=0, le=1)
    most: float | None = Field(None, ge=0, le=1)
    agree: int = Field(0, ge=0, le=1000)
    action: Literal["", "keep", "update", "remove"] = Field("", description="What a refiner did.")

    def takes(self, one: SuggestionOut) -> bool:
        sure = one.confidence
        return (
            self.state in ("", one.state)
            and self.label in ("", one.label)
            and self.source in (None, one.source)
            and (self.least is None or (sure is not None and sure >= self.least))
            and (self.most is None or (sure is not None and sure <= self.most))
            and (not self.agree or len(one.runs or ()) >= self.agree)
            and self.action in ("", one.refined.action if one.refined else None)
        )

    def takes_removal(self, one: RemovalOut) -> bool:
        """Proposed removals have no source, confidence or runs."""
        of_suggestions = (self.source, self.least, self.most) != (None, None, None) or self.agree
        here = self.state in ("", one.state) and self.label in ("", one.label)
        return here and self.action in ("", "remove") and not of_suggestions


class SeenState(Body):
    """The suggestion as it was read: its state, and if accepted, its bounds and label in gold (`accepted`).

    Of a proposed removal: its state, and if rejected, the bounds and label in gold (`kept`).
    """

    state: Literal["open", "accepted", "rejected"]
    accepted: Bounds | None = None
    kept: Bounds | None = None


class NewReviewDecision(Body):
    """One decision. Offsets are in code points, end-exclusive; labels are codes.

    `accept`, `reject` and `correct` need `seen`, and `suggestion` or `removal`, the number of a proposed removal, which
    `reject` and `correct` keep. `correct`, `add` (a missed span), `remove` (a gold
    span) and `attribute` need `start`, `end` and `label`; `attribute` also `name`, and `value` (null removes it).
    `undo` takes back the person's last decision in this note, and `redo` repeats it.
    """

    act: Act
    suggestion: int | None = Field(None, ge=0, le=MAX_ID)
    removal: int | None = Field(None, ge=0, le=MAX_ID)
    seen: SeenState | None = None
    start: int | None = Field(None, ge=0, le=MAX_OFFSET)
    end: int | None = Field(None, ge=0, le=MAX_OFFSET)
    label: str | None = Field(None, max_length=60)
    quote: str | None = None
    name: str | None = Field(None, max_length=60)
    value: Literal[True] | str | None = None


class Finishing(Body):
    """`rest`: open suggestions to accept. `removals`: numbers of open proposed removals to accept, which needs
    `with_removals`. `with_gold`: they may be added to gold that the note already has.

    `with_doubtful`: doubtful ones may be accepted. `stage` is the stage that was read. `order` and `label`: those of
    the request that named the note as the next one. Whether they chose it for its suggestions is stored when its review
    is first finished, so that estimates of precision don't count such notes.
    """

    rest: list[int] = Field([], max_length=MOST_REST)
    stage: str = Field("first", max_length=20)
    with_gold: bool = False
    with_doubtful: bool = False
    removals: list[int] = Field([], max_length=MOST_REST)
    with_removals: bool = False
    order: Order = "note"
    label: str = Field("", max_length=60, description="Code of a label of the project.")


class Finished(ReviewOut):
    """The review afterwards. It is not `finished` if planted leaks or differences must be decided first.

    `leaks_found`: how many planted leaks the person had found, if the note had some.
    """

    leaks_found: int | None = None


@router.get("/projects/{slug:slug}/reviews", Can.MAKE_GOLD, response=Page[ReviewItem])
def list_reviews(request: ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the runs whose suggestions can be reviewed, the newest first."""
    rows = Author.objects.filter(project=access.project, kind__in=Author.MODELS)
    return paged_rows(request, paging, rows, lambda run: ReviewItem.of(run, access), newest_first=True)


@router.get(f"{PATH}/next", Can.MAKE_GOLD, response=NextReview)
def next_review(access: Access, run_author: int, wanted: Query[InOrder]) -> NextReview:
    """Name the next note to review."""
    run = find_run(access.project, run_author)
    found = next_in_queue(run, access.project, _queue(access, wanted), access.user, wanted.after)
    return NextReview(note=found)


@router.get(NOTE, Can.MAKE_GOLD, response=ReviewOut)
def read_review(access: Access, run_author: int, note: int, filters: Query[SuggestionFilters]) -> ReviewOut:
    """Read a run's suggestions in a note, the decisions on them, and the gold spans. The audit log records it."""
    run, document = review_for(access, run_author, note)
    NOTE_READ.record(actor=access.user, note=document, data={"run": run.pk})
    found = shown(access, state_selectors.review_state(document=document, author=run, user=access.user))
    listed: dict[str, Any] = {
        "suggestions": [one for one in found.suggestions if filters.takes(one)],
        "removals": [one for one in found.removals if filters.takes_removal(one)],
    }
    return found.model_copy(update=listed)


@router.post(f"{NOTE}/decisions", Can.MAKE_GOLD, response=ReviewOut)
def decide_suggestion(access: Access, run_author: int, note: int, body: NewReviewDecision) -> ReviewOut:
    """Accept, reject or correct a suggestion, add or remove a span, undo or redo."""
    run, document = review_for(access, run_author, note)
    asked = wanted(access, run, document, body)
    with named(FIELDS):
        state = decide(document=document, author=run, user=access.user, request=asked)
    return shown(access, state)


@router.post(f"{NOTE}/finish", Can.MAKE_GOLD, response=Finished)
def finish_note_review(access: Access, run_author: int, note: int, body: Finishing) -> Finished:
    """Finish the review of a note, so that its gold counts, or hand it over to a second reviewer."""
    run, document = review_for(access, run_author, note)
    hidden, known = hidden_at(run, document), suggestion_named(access.project, run, document)
    finish_review(
        document=document, author=run, user=access.user, rest={known(one) for one in body.rest}, stage=body.stage,
        with_gold=body.with_gold, with_doubtful=body.with_doubtful, queue=_queue(access, body),
        removals=set(body.removals), with_removals=body.with_removals,
    )  # fmt: skip
    state = state_selectors.review_state(document=document, author=run, user=access.user)
    leaks = None if state_selectors.goes_on(state) else found_of(hidden) or None
    return Finished(**shown(access, state).dict(), leaks_found=leaks)


@router.post(f"{NOTE}/reopen", Can.MAKE_GOLD, response=ReviewOut)
def reopen_note_review(access: Access, run_author: int, note: int) -> ReviewOut:
    """Reopen the review of a note."""
    run, document = review_for(access, run_author, note)
    reopen_review(document=document, author=run, user=access.user)
    return shown(access, state_selectors.review_state(document=document, author=run, user=access.user))


# ── Shared ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _queue(access: Access, wanted: InOrder | Finishing) -> NoteOrder:
    return NoteOrder(wanted.order, label_coded(access.project, wanted.label) if wanted.label else None)


def shown(access: Access, state: state_selectors.ReviewState) -> ReviewOut:
    return coded(ReviewOut, access)(state_selectors.shown_to(access, state))


def wanted(access: Access, run: Author, document: Document, body: NewReviewDecision) -> Request:
    """Return the act that the body asks for. Raises Problem (422) for missing fields."""
    act, removal = body.act, body.removal
    on_a_suggestion = act in ON_A_SUGGESTION
    needed = ["seen"] if on_a_suggestion else []
    if on_a_suggestion and removal is None:
        needed = ["suggestion", "seen"]
    needed += {Act.ATTRIBUTE: [*BOUNDS, "name"]}.get(act, BOUNDS if act in WITH_BOUNDS else [])
    if missing := [field for field in needed if getattr(body, field) is None]:
        raise invalid(*((field, f"The act “{act}” needs this field.") for field in missing))
    named_here = suggestion_named(access.project, run, document)
    return Request(
        change_id=uuid4(),
        act=act,
        suggestion=named_here(body.suggestion or 0) if "suggestion" in needed else None,
        bounds=_bounds(access, body) if act in WITH_BOUNDS else None,
        quote=body.quote if act in SETS_BOUNDS else None,
        seen=_seen(access, body.seen, removal) if on_a_suggestion and body.seen else None,
        removal=removal if on_a_suggestion else None,
        attribute=(body.name or "", body.value) if act is Act.ATTRIBUTE else None,
    )


def _bounds(access: Access, given: Bounds | NewReviewDecision) -> tuple[int, int, int]:
    return given.start or 0, given.end or 0, label_coded(access.project, given.label or "")


def _seen(access: Access, seen: SeenState, removal: int | None) -> state_selectors.Seen:
    """The state that was read. Of a proposed removal, a rejected one has bounds, because its annotation stays."""
    field, bounded, at = "seen.accepted", "accepted", seen.accepted
    if removal is not None:
        field, bounded, at = "seen.kept", "rejected", seen.kept
    if (seen.state == bounded) != (at is not None):
        raise invalid((field, f"Give the bounds and the label in gold if the state is “{bounded}”, else null."))
    return seen.state, _bounds(access, at) if at else None
