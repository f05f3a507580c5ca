"""Routes of review note by note: runs, the next note, suggestions, decisions, finishing and reopening."""

from typing import Any, Final, Literal, Self
from uuid import uuid4

from django.http import Http404, HttpResponseBase
from ninja import Field, Query, Router, Schema

from annotations.core.access import Access, Can
from annotations.core.api.paging import Page, Paging, paged_rows
from annotations.core.api.problems import invalid, named
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.api.schemas import Body
from annotations.core.events import NOTE_READ
from annotations.models import Author, Document
from annotations.notes.api import codes_of, label_coded
from annotations.review.api.schemas import Bounds, RemovalOut, ReviewOut, SuggestionOut
from annotations.review.selectors.ordering import NoteOrder, Order
from annotations.review.selectors.planted import found_of, hidden_at, suggestion_named
from annotations.review.selectors.reviewing import review_for, review_progress, run_author
from annotations.review.selectors.shown import goes_on, shown_to
from annotations.review.selectors.state import ReviewState, Seen, review_state
from annotations.review.services.deciding import ON_A_SUGGESTION, Request, decide
from annotations.review.services.finishing import finish_review, reopen_review
from annotations.review.services.log import Act
from annotations.review.services.offering import next_offered
from annotations.review.services.queue import next_in_queue
from annotations.text.names import MAX_ID, MAX_OFFSET

router = Router(tags=["Review"])
PATH = "/projects/{slug:slug}/reviews/{int:run_author}"
NOTE = f"{PATH}/notes/{{int:note}}"
MOST_REST: Final = 10_000
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
        return cls(
            run_author=run.pk, name=run.name, merged=run.merged_from is not None, done=at.done, total=at.total,
            left=at.left, yours=at.yours, others=at.others,
        )  # fmt: skip


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


@router.get("/projects/{slug:slug}/reviews", response=Page[ReviewItem])
def list_reviews(request: ApiRequest, slug: str, paging: Query[Paging]) -> dict[str, Any] | HttpResponseBase:
    """List the runs whose suggestions can be reviewed, the newest first."""
    access = enter(request, slug, Can.MAKE_GOLD)
    rows = Author.objects.filter(project=access.project, kind__in=Author.MODELS)
    return paged_rows(request, paging, rows, lambda run: ReviewItem.of(run, access), newest_first=True)


@router.get(f"{PATH}/next", response=NextReview)
def next_review(request: ApiRequest, slug: str, run_author: int, wanted: Query[InOrder]) -> NextReview:
    """Name the next note to review."""
    access = enter(request, slug, Can.MAKE_GOLD)
    run = _run(access, run_author)
    if wanted.order == "informative":
        found = next_offered(author=run, project=access.project, after=wanted.after, user=access.user)
    else:
        found = next_in_queue(run, access.project, _queue(access, wanted), access.user, wanted.after)
    return NextReview(note=found)


@router.get(NOTE, response=ReviewOut)
def read_review(
    request: ApiRequest, slug: str, run_author: int, note: int, filters: Query[SuggestionFilters]
) -> ReviewOut:
    """Read a run's suggestions in a note, the decisions on them, and the gold spans. The audit log records it."""
    access, run, document = _open(request, slug, run_author, note)
    NOTE_READ.record(actor=access.user, project_id=access.project.pk, document_id=document.pk, data={"run": run.pk})
    found = _shown(access, review_state(document=document, author=run, user=access.user))
    listed: dict[str, Any] = {
        "suggestions": [one for one in found.suggestions if filters.takes(one)],
        "removals": [one for one in found.removals if filters.takes_removal(one)],
    }
    return found.model_copy(update=listed)


@router.post(f"{NOTE}/decisions", response=ReviewOut)
def decide_suggestion(request: ApiRequest, slug: str, run_author: int, note: int, body: NewReviewDecision) -> ReviewOut:
    """Accept, reject or correct a suggestion, add or remove a span, undo or redo."""
    access, run, document = _open(request, slug, run_author, note)
    wanted = _wanted(access, run, document, body)
    with named(FIELDS):
        state = decide(document=document, author=run, user=access.user, request=wanted)
    return _shown(access, state)


@router.post(f"{NOTE}/finish", response=Finished)
def finish_note_review(request: ApiRequest, slug: str, run_author: int, note: int, body: Finishing) -> Finished:
    """Finish the review of a note, so that its gold counts, or hand it over to a second reviewer."""
    access, run, document = _open(request, slug, run_author, note)
    hidden, known = hidden_at(run, document), suggestion_named(access.project, run, document)
    finish_review(
        document=document, author=run, user=access.user, rest={known(one) for one in body.rest}, stage=body.stage,
        with_gold=body.with_gold, with_doubtful=body.with_doubtful, queue=_queue(access, body),
        removals=set(body.removals), with_removals=body.with_removals,
    )  # fmt: skip
    state = review_state(document=document, author=run, user=access.user)
    leaks = None if goes_on(state) else found_of(hidden) or None
    return Finished(**_shown(access, state).dict(), leaks_found=leaks)


@router.post(f"{NOTE}/reopen", response=ReviewOut)
def reopen_note_review(request: ApiRequest, slug: str, run_author: int, note: int) -> ReviewOut:
    """Reopen the review of a note."""
    access, run, document = _open(request, slug, run_author, note)
    reopen_review(document=document, author=run, user=access.user)
    return _shown(access, review_state(document=document, author=run, user=access.user))


# ── Shared ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _queue(access: Access, wanted: InOrder | Finishing) -> NoteOrder:
    return NoteOrder(wanted.order, label_coded(access.project, wanted.label) if wanted.label else None)


def _run(access: Access, pk: int) -> Author:
    run = run_author(access.project, pk)
    if run is None:
        raise Http404("No such run.")
    return run


def _open(request: ApiRequest, slug: str, author: int, note: int) -> tuple[Access, Author, Document]:
    access = enter(request, slug, Can.MAKE_GOLD)
    return access, *review_for(access, author, note)


def _shown(access: Access, state: ReviewState) -> ReviewOut:
    return ReviewOut.of(shown_to(access, state), codes_of(access.project.pk))


def _wanted(access: Access, run: Author, document: Document, body: NewReviewDecision) -> Request:
    """Return the act that the body asks for. Raises Problem (422) for missing fields."""
    on_a_suggestion = body.act in ON_A_SUGGESTION
    with_bounds = body.act in (Act.CORRECT, Act.ADD, Act.REMOVE, Act.ATTRIBUTE)
    needed = [
        *(["suggestion"] if on_a_suggestion and body.removal is None else []),
        *(["seen"] if on_a_suggestion else []),
        *(["start", "end", "label"] if with_bounds else []),
        *(["name"] if body.act is Act.ATTRIBUTE else []),
    ]
    if missing := [field for field in needed if getattr(body, field) is None]:
        raise invalid(*((field, f"The act “{body.act}” needs this field.") for field in missing))
    named_here = suggestion_named(access.project, run, document)
    return Request(
        change_id=uuid4(),
        act=body.act,
        suggestion=named_here(body.suggestion or 0) if on_a_suggestion and body.removal is None else None,
        bounds=_bounds(access, body.start, body.end, body.label) if with_bounds else None,
        quote=body.quote if body.act in (Act.CORRECT, Act.ADD) else None,
        seen=_seen(access, body.seen, body.removal) if on_a_suggestion and body.seen else None,
        removal=body.removal if on_a_suggestion else None,
        attribute=(body.name or "", body.value) if body.act is Act.ATTRIBUTE else None,
    )


def _bounds(access: Access, start: int | None, end: int | None, label: str | None) -> tuple[int, int, int]:
    return start or 0, end or 0, label_coded(access.project, label or "")


def _seen(access: Access, seen: SeenState, removal: int | None) -> Seen:
    if removal is not None:
        if (seen.state == "rejected") != (seen.kept is not None):
            raise invalid(("seen.kept", "Give the bounds and the label in gold if the state is “rejected”, else null."))
        kept = seen.kept
        return seen.state, _bounds(access, kept.start, kept.end, kept.label) if kept else None
    if (seen.state == "accepted") != (seen.accepted is not None):
        raise invalid(("seen.accepted", "Give the bounds and the label in gold if the state is “accepted”, else null."))
    at = seen.accepted
    return seen.state, _bounds(access, at.start, at.end, at.label) if at else None
